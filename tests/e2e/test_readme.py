# SPDX-License-Identifier: Apache-2.0
"""What README.md and two of docs/ say to type, typed in their order in one folder: every command but `make test`.

The folder is the checkout by links, with the build of these tests, no GPU and a scripts/setup that installs nothing.
"""
import os
import re
import subprocess

import pytest

from conftest import BUILD, ROOT

README = ROOT / 'README.md'
DOCUMENTS = [ROOT / 'docs/REPORT.md', ROOT / 'docs/CI_GATE.md']


def blocks(page):
    return re.findall(r'(?:^    .*\n(?:^\n(?=    ))?)+', page.read_text(), flags=re.M)


def shown(page):
    """(command, what is shown below it) of each line that begins with a prompt."""
    for block in blocks(page):
        lines = re.sub('^    ', '', block, flags=re.M)
        for m in re.finditer(r'^\$ (.*)\n((?:(?!\$ ).*\n)*)', lines, flags=re.M):
            yield m[1], m[2]


def labels(output):
    """What stands at the beginning of a line of its own: `verdict`, `FAIL`, `What if`. Warnings come as they may; whether steps
    are found (`loop`, else `time`) may depend on how the machine holds up the program."""
    found = set(re.findall(r'^([A-Za-z]+(?: if)?)(?= {2,}| \()', output, flags=re.M)) - {'warning'}
    return {'time' if label == 'loop' else label for label in found}


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / 'cudaspy'
    (folder / 'scripts').mkdir(parents=True)
    for entry in ROOT.iterdir():
        if entry.name not in ('scripts', 'build', '.git') and not entry.name.endswith('.cudaspy'):
            (folder / entry.name).symlink_to(entry)
    for entry in (ROOT / 'scripts').iterdir():
        (folder / 'scripts' / entry.name).symlink_to(entry)
    (folder / 'build').symlink_to(BUILD)
    tools = tmp_path / 'tools'
    tools.mkdir()
    for path in (folder / 'scripts/setup', tools / 'nvidia-smi'):
        if path.is_symlink():
            path.unlink()
        path.write_text('#!/bin/sh\nexit 0\n')
        path.chmod(0o755)
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(('CUDASPY_', 'SIM_', 'MAKE')) and k not in ('LD_PRELOAD', 'O', 'MFLAGS', 'COLUMNS')}
    env['PATH'] = f'{tools}:{env["PATH"]}'

    def type_in(command):
        p = subprocess.run(['bash', '-c', command], cwd=folder, env=env, stdin=subprocess.DEVNULL, timeout=600,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        return p.returncode, p.stdout, p.stderr

    type_in.folder = folder
    return type_in


def type_all(checkout, page, least):
    commands = [(c, output) for c, output in shown(page) if not c.startswith('make test')]
    assert len(commands) >= least and commands[0][0].startswith('make demo')
    for command, output in commands:
        status, out, err = checkout(command)
        assert status == ('FAIL' in labels(output)), f'{command}\n{out}{err}'
        assert labels(output) <= labels(out), command
        assert 'error' not in err, command
    assert (checkout.folder / 'demo.cudaspy').exists()


def test_commands(checkout):
    type_all(checkout, README, 4)


@pytest.mark.parametrize('page', DOCUMENTS, ids=[p.name for p in DOCUMENTS])
def test_commands_of_a_document(checkout, page):
    type_all(checkout, page, 4)


def test_a_second_demo_replaces_the_first(checkout):
    (checkout.folder / 'demo.cudaspy').write_text('of an earlier run')
    status, out, _ = checkout('make demo')
    assert status == 0 and 'replacing demo.cudaspy' in out
    assert [p.name for p in checkout.folder.glob('*.cudaspy')] == ['demo.cudaspy']
    assert checkout('build/cudaspy report demo.cudaspy')[0] == 0


def test_what_the_demo_says_it_runs_can_be_typed(checkout):
    _, out, _ = checkout('make demo')
    line = re.search(r'^Running .*:\n  (.*)$', out, flags=re.M)[1]
    status, out, err = checkout(line)
    assert status == 0 and 'result: ok' in out, err


def test_no_command_goes_without_a_prompt():
    """Else it would not be typed here."""
    every = [block for page in (README, *DOCUMENTS) for block in blocks(page)]
    stray = [line for block in every for line in block.splitlines()
             if re.match(r'    (?:make|scripts/|build/|cudaspy|python3|sudo|[A-Z_]+=\S+) ?', line)]
    assert len(every) >= 20 and stray == []
