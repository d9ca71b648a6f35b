# SPDX-License-Identifier: Apache-2.0
"""The examples of scripts/ci do what they say: their shell parts are executed, on the simulated CUDA."""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import BUILD, ROOT, SIM
from test_check import GATED

STEPS = BUILD / 'tests/e2e/steps'
CI = ROOT / 'scripts/ci'


@pytest.fixture
def project(tmp_path):
    """A user's project with the gate in ci/; sh('...', PROGRAM=...) runs a line in it as a CI job would."""
    (tmp_path / 'ci').mkdir()
    (tmp_path / 'ci/cudaspy_gate').write_bytes((CI / 'cudaspy_gate').read_bytes())
    (tmp_path / 'ci/cudaspy_gate').chmod(0o755)

    def sh(script, *args, status=0, **variables):
        env = {k: v for k, v in os.environ.items() if not k.startswith(('CUDASPY', 'GITHUB', 'SIM_')) and k != 'LD_PRELOAD'}
        env.update(PATH=f'{tmp_path}/bin:{BUILD}:{os.environ["PATH"]}', LD_LIBRARY_PATH=str(SIM), **variables)
        p = subprocess.run(['bash', '-eo', 'pipefail', '-c', script, 'job', *map(str, args)], cwd=tmp_path, env=env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           universal_newlines=True, timeout=120)
        assert p.returncode == status, p.stdout
        return p.stdout

    sh('ci/cudaspy_gate -u -n 3 "$@"', STEPS, 20)
    return tmp_path, sh


def test_gate(project):
    folder, sh = project
    out = sh('ci/cudaspy_gate -n 3 "$@"', STEPS, 20)
    assert f'{GATED} rules passed' in out
    out = sh('ci/cudaspy_gate -n 2 "$@"', STEPS, 20, 'sync', status=1)
    assert 'syncs <= +0: before 20, after 40' in out
    for name in ('check.md', 'diff.md', 'check.xml', 'check.json'):
        assert (folder / 'cudaspy-runs' / name).stat().st_size, name
    assert len(list((folder / 'cudaspy-runs').glob('run-*'))) == 2 # none of the earlier three
    (folder / 'cudaspy.toml').write_text('limits = ["syncs <= 40"]\n')
    assert '1 rule passed' in sh('ci/cudaspy_gate -n 1 "$@"', STEPS, 20, 'sync')


def test_gate_says_what_is_wrong(project):
    folder, sh = project
    assert 'the command failed in run 1, status 7' in sh('ci/cudaspy_gate sh -c "exit 7"', status=7)
    assert 'usage:' in sh('ci/cudaspy_gate', status=2)
    assert 'none.json' in sh('ci/cudaspy_gate -n 1 -b none.json "$@"', STEPS, 20, status=2)
    sh('ci/cudaspy_gate -n 1 true', status=2) # leaves no recording


def job(name):
    yaml = pytest.importorskip('yaml', reason='python3-yaml is not installed: reads the examples')
    return yaml.safe_load((CI / name).read_text())


def test_github_job(project):
    """Its two run: steps, with a gh that takes the comment."""
    folder, sh = project
    steps = {s['name']: s for s in job('github.yml')['jobs']['host-overhead']['steps'] if 'run' in s}
    assert len(steps) == 2
    (folder / 'bin').mkdir()
    (folder / 'bin/gh').write_text('#!/bin/sh\nfor last; do :; done\ncp "$last" comment\n')
    (folder / 'bin/gh').chmod(0o755)
    out = sh(steps['Judge the CUDA calls']['run'], PROGRAM=f'{STEPS} 20 launch', GITHUB_ACTIONS='true',
             GITHUB_STEP_SUMMARY=str(folder / 'summary'), status=1)
    # at the line that calls more often, where that is known
    where = '(file=[^ ,]*work[.]h,line=[0-9]+,)?'
    assert re.search(f'\n::error {where}title=cudaspy check::launches <= [+]0: before 40, after 60', out), out
    assert (folder / 'summary').read_text().startswith(f'### cudaspy check: 1 of {GATED} rules failed')
    sh(steps['Comment on the pull request']['run'], PR='1')
    comment = (folder / 'comment').read_text()
    assert comment.startswith(f'### cudaspy check: 1 of {GATED}') and '# cudaspy diff' in comment


def test_gitlab_job(project):
    folder, sh = project
    example = job('gitlab.yml')['host-overhead']
    sh('\n'.join(example['script']), PROGRAM=f'{STEPS} 20')
    sh('\n'.join(example['script']), PROGRAM=f'{STEPS} 20 alloc', status=1)
    suite = ElementTree.parse(folder / example['artifacts']['reports']['junit']).getroot()[0]
    assert (suite.get('tests'), suite.get('failures')) == (str(GATED), '1')


def test_plain_shell(project):
    folder, sh = project
    sh(f'{CI}/plain.sh "$@"', STEPS, 20)
    assert 'pageable_copies = 0' in sh(f'{CI}/plain.sh "$@"', STEPS, 20, 'copy', status=1)


def test_pytest_recipe(project):
    """The recipe of docs/CI_GATE.md, as it stands there."""
    folder, sh = project
    text = (ROOT / 'docs/CI_GATE.md').read_text()
    begin = text.index('    import subprocess\n')
    recipe = text[begin:text.index('\n\n', text.index('    def test_', begin))]
    recipe = '\n'.join(line[4:] for line in recipe.split('\n'))
    assert 'cudaspy' in recipe
    for more, status in (('', 0), ("'sync'", 1)):
        source = recipe.replace("'python3', 'infer.py'", f"'{STEPS}', '20', {more}")
        assert source != recipe
        (folder / 'test_recipe.py').write_text(source + '\n')
        out = sh(f'{sys.executable} -m pytest -q -p no:cacheprovider test_recipe.py', status=status)
        assert ('FAIL        syncs' in out) == bool(status)
