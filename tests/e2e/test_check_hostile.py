# SPDX-License-Identifier: Apache-2.0
"""What people and other programs hand to the reporter and must not crash, hang or fool it: settings, patterns, pipes."""
import os
import re
import subprocess

import pytest

from conftest import BUILD, REPORTER
from test_check import check, cudaspy, record

LARGEST = (1 << 20) - 64


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    folder = record(tmp_path_factory.mktemp('hostile') / 'run', BUILD / 'tests/e2e/steps', '20')
    return next(folder.glob('*.cudaspy'))


# ---- settings --------------------------------------------------------------------------------------------------------

DEEP = {
    'dotted keys': '.'.join(['a'] * 500000) + ' = 1\n',
    'dotted keys with blanks': ' . '.join(['a'] * 250000) + ' = 1\n',
    'dotted quoted keys': '.'.join(['"a"'] * 250000) + ' = 1\n',
    'dotted keys behind a string': 'b = "x.y # [[" # "\n' + '.'.join(['a'] * 500000) + ' = 1\n',
    'a header': '[' + '.'.join(['a'] * 500000) + ']\n',
    'a header of a list': '[[' + '.'.join(['a'] * 500000) + ']]\n',
    'lists': 'a = ' + '[' * 500000 + ']' * 500000 + '\n',
    'lists that are not closed': 'a = ' + '[' * 1000000,
    'lists on lines of their own': 'a = ' + '[\n' * 500000,
    'tables': 'a = ' + '{a = ' * 150000 + '1' + '}' * 150000 + '\n',
    'tables that are not closed': 'a = ' + '{a = ' * 200000,
    'tables of lists': 'a = ' + '[{a = ' * 100000,
    'tables of dotted keys': 'a = ' + ('{' + '.'.join(['a'] * 30) + ' = ') * 10000,
    'behind three quotes': "a = '''\n''' \n" + '.'.join(['a'] * 500000) + ' = 1\n',
}


@pytest.mark.parametrize('shape', DEEP)
def test_deep_settings(recording, tmp_path, shape):
    (tmp_path / 'deep.toml').write_text(DEEP[shape][:LARGEST])
    p = check('--config', tmp_path / 'deep.toml', recording, status=2)
    first, *rest = p.stderr.splitlines()
    assert re.search(r'deep\.toml:\d+:\d+: nested more than 32 deep', first), first
    assert len(rest) == 2 and all(len(line) < 1000 for line in rest)


@pytest.mark.parametrize('text', ['a = "' + '.' * 1000000 + '"\n', "a = '" + '[' * 1000000 + "'\n", '#' + '[' * 1000000 + '\n',
                                  'a = """' + '[.\n' * 300000 + '"""\n', ''.join(f'k{i} = 1\n' for i in range(90000)),
                                  'a' * 1000000 + ' = 1\n', '\n' * 1000000], ids=range(7))
def test_large_settings_that_are_not_deep(recording, tmp_path, text):
    (tmp_path / 'large.toml').write_text(text[:LARGEST])
    assert 'nested' not in check('--config', tmp_path / 'large.toml', recording, status=2).stderr


def test_many_rules(recording, tmp_path):
    (tmp_path / 'many.toml').write_text('limits = [' + '"kernel \'a+b\' launches <= 0",'.replace("'", '\\"') * 20000 + ']\n')
    check('--config', tmp_path / 'many.toml', recording, status=0)


# ---- patterns --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize('pattern', [r'(a*)*\1', r'(.*)(.*)(.*)\3\2\1x', r'\9'])
def test_no_back_references(recording, pattern):
    """They took 10 s; no way is known to find them fast."""
    rule = pattern.replace('\\', '\\')
    assert 'no back references' in check('--limit', f'kernel "{rule}" launches = 0', recording, status=2).stderr
    assert 'no back references' in check('--expect-kernel', pattern, recording, status=2).stderr
    assert 'no back references' in cudaspy('report', '--expect-kernel', pattern, recording, status=2).stderr


@pytest.mark.parametrize('pattern', ['(a|b)*a(a|b){255}c', '((a*)*)*c', '(.*a){200}c', '(x|.*)*y'])
def test_patterns_that_others_take_hours_for(recording, pattern):
    check('--limit', f'kernel "{pattern}" launches = 0', recording, status=0)


# ---- pipes and devices -----------------------------------------------------------------------------------------------

@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / 'pipe.cudaspy')
    return tmp_path / 'pipe.cudaspy'


def test_a_pipe_that_nobody_feeds(recording, pipe, tmp_path):
    for args in (['--baseline', pipe, recording], ['--config', pipe, recording], ['-l', 'launches = 1', pipe],
                 ['--save-baseline', tmp_path / 'x.json', pipe], ['--baseline', recording, '-l', 'launches <= +0', pipe]):
        p = check(*args, status=2)
        assert 'pipe.cudaspy: not a regular file' in p.stderr and len(p.stderr.splitlines()) == 1
    for args in (['report', pipe], ['diff', pipe, recording], ['diff', recording, pipe]):
        assert 'not a regular file' in cudaspy(*args, status=2).stderr
    assert 'pipe.cudaspy: not a regular file' in check('-l', 'launches = 1', tmp_path, status=2).stderr


@pytest.mark.parametrize('device', ['/dev/zero', '/dev/null', '/dev/tty', '/'])
def test_devices(recording, device):
    check('--baseline', device, recording, status=2)
    assert device in check('--config', device, recording, status=2).stderr
    check('-l', 'launches = 1', device, status=2)


def test_settings_from_standard_input(recording):
    for path in ('/dev/stdin', '/dev/fd/0', '/proc/self/fd/0'):
        p = subprocess.run([REPORTER, 'check', '--config', path, recording], input='limits = ["launches = 40"]\n', timeout=60,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        assert p.returncode == 0 and '1 rule passed' in p.stdout, p.stderr


def test_a_baseline_as_standard_input(recording, tmp_path):
    check('--save-baseline', tmp_path / 'base.json', recording, status=0)
    with open(tmp_path / 'base.json') as f:
        p = subprocess.run([REPORTER, 'check', '--baseline', '/dev/stdin', recording], stdin=f, timeout=60, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 0, p.stderr
