# SPDX-License-Identifier: Apache-2.0
"""Completions for bash, zsh and fish, and a manual page for each command: made from the program's own table of options."""
import os
import pty
import re
import select
import subprocess
import time

import pytest

from conftest import BUILD, REPORTER, ROOT, make, need
from test_man_page import of_help
from test_options_used import TABLE

WITH_OPTIONS = [c for c in TABLE if TABLE[c][0]]


@pytest.fixture(scope='module')
def manual():
    p = make('manual')
    assert p.returncode == 0, p.stdout
    return BUILD / 'manual'


def complete(manual, folder, *words):
    """What bash offers for the last word, which may be empty."""
    script = f'''
        source {manual}/cudaspy.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _cudaspy
        printf '%s\\n' "${{COMPREPLY[@]}}"'''
    p = subprocess.run(['bash', '--norc', '-c', script, 'bash', 'cudaspy', *words], cwd=folder, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 0 and not p.stderr, p.stderr
    return p.stdout.split()


def test_bash_knows_every_command_and_option(manual, tmp_path):
    assert set(complete(manual, tmp_path, '')) == set(TABLE) | {'--help', '--version'}
    assert complete(manual, tmp_path, 'rep') == ['report']
    for command in WITH_OPTIONS:
        assert set(complete(manual, tmp_path, command, '-')) == of_help(command), command


@pytest.mark.parametrize('command', WITH_OPTIONS)
def test_bash_knows_the_words_of_values(manual, tmp_path, command):
    """Those that the program itself names when it is given another one."""
    for option, words in TABLE[command][1].items():
        assert complete(manual, tmp_path, command, f'--{option}', '') == words
        assert complete(manual, tmp_path, command, f'--{option}', '=', '') == words
        assert complete(manual, tmp_path, command, f'--{option}', '=') == words
        assert complete(manual, tmp_path, command, f'--{option}', words[-1][:1]) == [w for w in words if w[0] == words[-1][0]]


def test_bash_files(manual, tmp_path):
    for name in 'a.cudaspy', 'b b.cudaspy', 'c.txt':
        (tmp_path / name).touch()
    (tmp_path / 'runs').mkdir()
    assert ' '.join(sorted(complete(manual, tmp_path, 'report', ''))) == 'a.cudaspy b b.cudaspy runs'
    assert complete(manual, tmp_path, 'report', '-o', 'c') == ['c.txt']
    assert complete(manual, tmp_path, 'report', '--skip-steps', '') == []
    assert complete(manual, tmp_path, 'bench', '--keep', '') == ['runs']
    assert 'c.txt' in complete(manual, tmp_path, 'diff', '')


def test_bash_leaves_commands_that_are_run_alone(manual, tmp_path):
    """Behind the options of run and bench stands a program; what follows it is the program's own."""
    (tmp_path / 'data').touch()
    for words in (['run'], ['run', '--'], ['run', '--gpu', 'off'], ['bench', '-n', '3', '--']):
        assert 'bash' in complete(manual, tmp_path, *words, 'bas'), words
    assert complete(manual, tmp_path, 'run', 'prog', '--for') == []
    assert complete(manual, tmp_path, 'run', '--', 'prog', '') == ['data']
    assert complete(manual, tmp_path, 'run', '--gpu', '') == ['sample', 'cupti', 'off']


def at_a_terminal(folder, *shell, setup, typed, shown):
    """What a shell shows when somebody types that, with tabs in it."""
    process, terminal = pty.fork()
    if not process:
        os.chdir(folder)
        os.execvpe(shell[0], shell, {'PATH': os.environ['PATH'], 'TERM': 'dumb', 'PS1': '$ ', 'INPUTRC': '/dev/null', 'HOME': str(folder),
                                     'HISTFILE': '/dev/null'})

    def read(until):
        text = ''
        end = time.monotonic() + 60
        while until not in text and time.monotonic() < end:
            if select.select([terminal], [], [], 1)[0]:
                text += os.read(terminal, 4096).decode(errors='replace')
        assert until in text, text

    try:
        os.write(terminal, f'{setup}; echo re""ady\n'.encode())
        read('ready\r\n')
        for part, then in zip(typed, shown):
            os.write(terminal, part.encode())
            read(then)
    finally:
        os.close(terminal) # the shell gets a hang-up
        os.waitpid(process, 0)


def test_bash_at_a_terminal(manual, tmp_path):
    """As somebody types it, in a shell without any other completions."""
    at_a_terminal(tmp_path, 'bash', '--norc', '--noprofile', '-i', setup=f'source {manual}/cudaspy.bash',
                  typed=['cudaspy rep\t', '--form\t', 'js\t'], shown=['report ', '--format ', 'json '])


def test_zsh_at_a_terminal(manual, tmp_path):
    need('zsh', 'reads the completions for it')
    at_a_terminal(tmp_path, 'zsh', '-f', '-i', setup=f'fpath=({manual} $fpath); autoload -Uz compinit && compinit -u -D',
                  typed=['cudaspy rep\t', '--form\t', 'js\t'], shown=['port ', 'at=', 'on '])


@pytest.mark.parametrize('shell, name', [('bash', 'cudaspy.bash'), ('zsh', '_cudaspy'), ('fish', 'cudaspy.fish')])
def test_scripts_are_right(manual, shell, name):
    need(shell, 'reads the completions for it')
    p = subprocess.run([shell, '-n', manual / name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    assert (p.returncode, p.stdout) == (0, '')
    text = (manual / name).read_text()
    assert 'gen_manual' in text
    for command in WITH_OPTIONS:
        for option in TABLE[command][0]:
            assert re.search(rf'(--|-l ){option}\b', text), option


def test_fish_completes(manual, tmp_path):
    need('fish', 'reads the completions for it')
    (tmp_path / 'cudaspy').symlink_to(REPORTER)
    env = {**os.environ, 'PATH': f'{tmp_path}:{os.environ["PATH"]}', 'HOME': str(tmp_path), 'XDG_CONFIG_HOME': str(tmp_path)}

    def offers(line):
        out = subprocess.run(['fish', '--no-config', '-c', f'source {manual}/cudaspy.fish; complete -C {line!r}'], env=env, cwd=tmp_path,
                             stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        return [row.split('\t')[0] for row in out.splitlines()]

    assert set(offers('cudaspy ')) >= set(TABLE)
    assert offers('cudaspy report --format j') == ['json']
    for command in WITH_OPTIONS:
        assert {o for o in offers(f'cudaspy {command} --') if o.startswith('--')} == {f'--{o}' for o in TABLE[command][0]}, command


def test_zsh_completes(manual, tmp_path):
    """Its own functions take every specification."""
    need('zsh', 'reads the completions for it')
    script = f'''
        fpath=({manual} $fpath); autoload -Uz compinit && compinit -u -D
        _arguments() {{ print -rl -- "$@" }}
        _describe() {{ :; }}
        autoload +X _cudaspy
        for command in {' '.join(WITH_OPTIONS)}; do
            words=(cudaspy $command '') CURRENT=3
            print -r -- "command $command"
            _cudaspy
        done'''
    p = subprocess.run(['zsh', '-f', '-c', script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 0 and not p.stderr, p.stderr
    for part in re.split('^command ', p.stdout, flags=re.M)[1:]:
        command, *specs = part.splitlines()
        if command in TABLE:
            told = {o for spec in specs for o in re.findall(r'^\*(--[\w-]+)', spec)}
            assert told == {f'--{o}' for o in TABLE[command][0]}


# ---- manual pages ----

def test_every_command_has_a_page(manual):
    assert {f.name for f in manual.glob('*.1')} == {'cudaspy.1'} | {f'cudaspy-{c}.1' for c in TABLE}
    for command in TABLE:
        text = (manual / f'cudaspy-{command}.1').read_text()
        assert text.startswith(f'.TH CUDASPY-{command.upper()} 1 ') and '.SH SEE ALSO' in text
        for option in TABLE[command][0]:
            assert f'\\-\\-{option}'.replace('-', '\\-').replace('\\\\-', '\\-') in text, option


def test_help_of_each_option_is_in_its_page(manual):
    """As it is, or said again in more words."""
    raw = subprocess.run([REPORTER, 'help', '--raw'], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    page = ''
    for line in raw.splitlines():
        kind, *fields = line.split('\t')
        if kind == 'command':
            page = plain_page(manual / f'cudaspy-{fields[0]}.1')
        elif kind == 'option':
            part = re.search(rf'\n\.tp\n[^\n]*--{fields[0]}(?![\w-])[^\n]*\n(.*?)(?=\n\.tp\n|\n\.sh )', page, re.DOTALL)[1]
            words = set(re.findall('[a-z0-9]{3,}', fields[3].lower()))
            assert '\n.rs' in part or len({w for w in words if w in part}) >= 0.6 * len(words), line


def plain_page(path):
    return re.sub(r'\\f.', '', path.read_text().replace('\\-', '-')).lower()


def test_lists_within_an_option_are_kept(manual):
    page = (manual / 'cudaspy-export.1').read_text()
    assert '.B openmetrics\nGauges for Prometheus' in page and page.count('.RS') == page.count('.RE') == 1


def test_no_section_is_lost(manual):
    """What report/cudaspy.1 says stands on one of the pages."""
    pages = ''.join(f.read_text() for f in manual.glob('*.1'))
    for title in re.findall(r'^\.SH (.*)$', (ROOT / 'report/cudaspy.1').read_text(), flags=re.M):
        assert f'.SH {title}\n' in pages, title
    assert '.SH RULES' in (manual / 'cudaspy-check.1').read_text() and '.SH JSON' in (manual / 'cudaspy-report.1').read_text()


def test_pages_are_well_formed(manual):
    need('groff', 'sets the manual pages')
    for page in [*manual.glob('*.1'), ROOT / 'report/cudaspy.1']:
        p = subprocess.run(['groff', '-man', '-ww', '-Tutf8', '-z', page], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        assert (p.returncode, p.stdout) == (0, ''), page


def test_pages_fit_a_terminal(manual):
    need('groff', 'sets the manual pages')
    for page in [*manual.glob('*.1'), ROOT / 'report/cudaspy.1']:
        text = subprocess.run(['groff', '-man', '-Tascii', '-P-cbou', '-rLL=80n', page], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
        assert [line for line in text.splitlines() if len(line) > 80] == [], page


def test_install(manual, tmp_path):
    p = make('install', f'DESTDIR={tmp_path}', 'PREFIX=/usr')
    assert p.returncode == 0, p.stdout
    share = tmp_path / 'usr/share'
    for name in ('man/man1/cudaspy.1', 'man/man1/cudaspy-bench.1', 'bash-completion/completions/cudaspy', 'zsh/site-functions/_cudaspy',
                 'fish/vendor_completions.d/cudaspy.fish'):
        assert (share / name).stat().st_size > 100
    assert make('uninstall', f'DESTDIR={tmp_path}', 'PREFIX=/usr').returncode == 0
    assert [f for f in tmp_path.rglob('*') if not f.is_dir()] == []
