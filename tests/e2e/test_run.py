# SPDX-License-Identifier: Apache-2.0
"""`cudaspy run`: what can be wrong is said before the command starts, and what it is told to record to is what it records to."""
import os
import re
import signal
import socket
import subprocess

import pytest

from conftest import BUILD, REPORTER, environment, need, report
from storage_runs import mounted, without_privilege

STEPS = BUILD / 'tests/e2e/steps'


@pytest.fixture
def cudaspy_run(tmp_path):
    """cudaspy_run('-o', 'x', '--', PROGRAM) in a folder of its own; no variable of ours is set but those given."""

    def go(*args, status=None, cwd=tmp_path, prepare=None, **variables):
        variables = {'CUDASPY_OUT': None, 'CUDASPY_GPU': None, 'SIM_COST': 0, **variables}
        p = subprocess.run([REPORTER, 'run', *map(str, args)], env=environment(tmp_path, preload=(), **variables), cwd=cwd,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                           timeout=120, preexec_fn=prepare)
        assert status is None or p.returncode == status, p.stdout + p.stderr
        return p

    return go


@pytest.fixture
def refused(cudaspy_run, tmp_path):
    """The same with a command that must not start: the one line that says why."""

    def go(*args, **kwargs):
        p = cudaspy_run(*args, '--', 'touch', tmp_path / 'started', status=2, **kwargs)
        assert not (tmp_path / 'started').exists()
        assert len(p.stderr.splitlines()) == 1 and not p.stdout, p.stderr
        return p.stderr

    return go


def names(folder):
    return sorted(f.name for f in folder.glob('*.cudaspy*'))


# ---- options and variables -------------------------------------------------------------------------------------------

@pytest.mark.parametrize('option, value, wanted', [
    ('budget', 'x', 'per cent'), ('budget', '0', 'per cent'), ('keep', '-1', 'MiB'), ('range', 'foo', 'DELAY:DURATION'),
    ('range', '1:0', 'DELAY:DURATION'), ('ring', '3', 'records'), ('trace-max', 'much', 'a size'), ('output', '', 'a file or a folder'),
    ('output', '%z', '%h %p %r %t %%'), ('output', 'x%', '%h %p %r %t %%'), ('gpu', 'on', 'sample, cupti, off'),
])
def test_wrong_options(refused, tmp_path, option, value, wanted):
    err = refused(f'--{option}={value}')
    assert f'run: --{option} {value}' in err and wanted in err
    assert names(tmp_path) == []


@pytest.mark.parametrize('name, value', [
    ('CUDASPY_OUT', '%z'), ('CUDASPY_GPU', 'on'), ('CUDASPY_RANGE', 'x'), ('CUDASPY_KEEP', '-1'), ('CUDASPY_TRACE', '2'),
    ('CUDASPY_TRACE_MAX', '0'), ('CUDASPY_RING', '3'), ('CUDASPY_BUDGET', 'x'), ('CUDASPY_CLOCK', 'sun'), ('CUDASPY_QUIET', 'yes'),
    ('CUDASPY_SITES', 'some'),
    ('CUDASPY_RUN_ID', 'x' * 40), ('CUDASPY_RUN', 'x' * 40),
])
def test_wrong_variables(refused, name, value):
    assert f'run: {name}={value}' in refused(**{name: value})


def test_an_option_wins(cudaspy_run, tmp_path):
    cudaspy_run('--ring', '128', '--gpu', 'off', '-o', 'x.cudaspy', '--', STEPS, 5, CUDASPY_RING='x', CUDASPY_GPU='what',
                CUDASPY_OUT='%z', status=0)
    assert report(tmp_path / 'x.cudaspy')['gpu']['mode'] == 'off'


def test_right_options(cudaspy_run, tmp_path):
    p = cudaspy_run('-q', '--gpu', 'sample', '--keep', '1', '--ring', '128', '--budget', '0.5', '--range', 'all', '--trace',
                    '--trace-max', '1M', '-o', 'x.cudaspy', '--', STEPS, 5, status=0)
    assert p.stderr == '' and names(tmp_path) == ['x.cudaspy']


# ---- the output ------------------------------------------------------------------------------------------------------

def test_a_name_that_is_taken(cudaspy_run, refused, tmp_path):
    """The next check would judge the old file."""
    cudaspy_run('-o', 'out.cudaspy', '--', STEPS, 5, status=0)
    before = (tmp_path / 'out.cudaspy').read_bytes()
    for variables in ({}, {'CUDASPY_OUT': 'out.cudaspy'}):
        args = [] if variables else ['-o', 'out.cudaspy']
        err = refused(*args, **variables)
        assert 'out.cudaspy: it is there already; --force replaces it' in err
    assert names(tmp_path) == ['out.cudaspy'] and (tmp_path / 'out.cudaspy').read_bytes() == before
    cudaspy_run('--force', '-o', 'out.cudaspy', '--', STEPS, 7, status=0)
    assert names(tmp_path) == ['out.cudaspy']
    assert report(tmp_path / 'out.cudaspy')['totals']['launches'] == 14


def test_a_pages_name_that_is_taken(cudaspy_run, refused, tmp_path):
    """The program ran, and its page took the place of a file, or could not be written."""
    (tmp_path / 'out.html').write_text('precious')
    assert 'out.html: it is there already; --force replaces it' in refused('--html', '-o', 'out.cudaspy')
    assert (tmp_path / 'out.html').read_text() == 'precious' and names(tmp_path) == []
    cudaspy_run('--html', '--force', '-o', 'out.cudaspy', '--', STEPS, 5, status=0)
    assert '<!doctype html>' in (tmp_path / 'out.html').read_text().lower()
    (tmp_path / 'dir.html').mkdir()
    for force in ([], ['--force']):
        assert 'dir.html: it is no file: no page can be written there' in refused('--html', *force, '-o', 'dir.cudaspy')
    cudaspy_run('-o', 'dir.cudaspy', '--', STEPS, 5, status=0)


def test_a_folder_that_takes_no_files(refused, tmp_path):
    """Not even from root, who may write everywhere."""
    assert 'recordings cannot be made in /proc: ' in refused('-o', '/proc/x.cudaspy')
    assert 'recordings cannot be made in /proc: ' in refused('-o', '/proc/%p.cudaspy')


def test_force_replaces_nothing_but_recordings(refused, tmp_path):
    (tmp_path / 'text').write_text('precious')
    assert 'no recording: not replaced' in refused('--force', '-o', 'text')
    (tmp_path / 'there').write_bytes(b'CUDASPY\n' + bytes(100))
    (tmp_path / 'link').symlink_to('there')
    assert 'no recording: not replaced' in refused('--force', '-o', 'link')
    os.mkfifo(tmp_path / 'pipe')
    assert 'no recording: not replaced' in refused('--force', '-o', 'pipe')
    assert (tmp_path / 'text').read_text() == 'precious' and (tmp_path / 'there').exists()


def test_force_replaces_a_stub_that_leads_nowhere(cudaspy_run, tmp_path):
    (tmp_path / 'out.cudaspy').write_bytes(b'CUDASPY>/nonexistent/x.live\n')
    cudaspy_run('--force', '-o', 'out.cudaspy', '--', STEPS, 5, status=0)
    assert report(tmp_path / 'out.cudaspy')['totals']['launches'] == 10


def test_force_does_not_touch_what_is_written_just_now(refused, tmp_path):
    env = environment(tmp_path, CUDASPY_OUT='out.cudaspy')
    process = subprocess.Popen([BUILD / 'tests/e2e/steady', '1'], env=env, cwd=tmp_path, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b'ready\n'
        assert 'runs still: not replaced' in refused('--force', '-o', 'out.cudaspy')
        assert report(tmp_path / 'out.cudaspy')['processes'][0]['state'] == 'running'
    finally:
        process.kill()
        process.communicate()


def test_force_waits_for_a_command(cudaspy_run, tmp_path):
    """Nothing is removed for a command that cannot start."""
    cudaspy_run('-o', 'out.cudaspy', '--', STEPS, 5, status=0)
    cudaspy_run('--force', '-o', 'out.cudaspy', '--', 'no-such-command', status=127)
    assert names(tmp_path) == ['out.cudaspy']


def test_further_processes_are_numbered(cudaspy_run, tmp_path):
    cudaspy_run('-o', 'out.cudaspy', '--', 'sh', '-c', f'{STEPS} 5; {STEPS} 5; {REPORTER} run -o out.cudaspy -- {STEPS} 5', status=0)
    assert names(tmp_path) == ['out-2.cudaspy', 'out-3.cudaspy', 'out.cudaspy']


def test_patterns_go_on_as_ever(cudaspy_run, tmp_path):
    for _ in range(2):
        cudaspy_run('-o', 'x-%h.cudaspy', '--', STEPS, 5, status=0)
    host = socket.gethostname()
    assert names(tmp_path) == [f'x-{host}-2.cudaspy', f'x-{host}.cudaspy']
    (tmp_path / '100%.cudaspy').write_text('x')
    p = cudaspy_run('-o', '100%%.cudaspy', '--', STEPS, 5, status=2)
    assert '100%.cudaspy: it is there already' in p.stderr


@pytest.mark.parametrize('folder', ['new/', 'new/deeper/', './new/'])
def test_a_new_folder_is_made(cudaspy_run, tmp_path, folder):
    for count in (1, 2):
        cudaspy_run('-o', folder, '--', STEPS, 5, status=0)
        assert len(names(tmp_path / folder)) == count


def test_a_folder_that_cannot_be_made(refused, tmp_path):
    (tmp_path / 'file').write_text('x')
    assert 'file/new' in refused('-o', 'file/new/')
    assert 'Not a directory' in refused('-o', 'file/x.cudaspy')
    assert 'No such file' in refused('-o', 'nowhere/x.cudaspy')
    assert 'No such file' in refused('-o', 'nowhere/%p.cudaspy')
    assert 'No such file' in refused(CUDASPY_OUT='nowhere/x.cudaspy')


def test_a_folder_that_cannot_be_written(refused, tmp_path):
    closed = tmp_path / 'closed'
    closed.mkdir(mode=0o555)
    for out in ('closed/', 'closed', 'closed/x.cudaspy', 'closed/new/'):
        assert 'closed' in refused('-o', out, prepare=without_privilege)
    assert 'Permission denied' in refused(cwd=closed, prepare=without_privilege) # where the default goes
    with mounted(tmp_path / 'ro', '-t', 'tmpfs', '-o', 'ro', 'none') as folder:
        assert 'Read-only file system' in refused('-o', f'{folder}/x.cudaspy')


def test_the_command_may_change_its_folder(cudaspy_run, tmp_path):
    (tmp_path / 'a %p b').mkdir()
    cudaspy_run('-o', 'out.cudaspy', '--', 'sh', '-c', f'cd / && {STEPS} 5', cwd=tmp_path / 'a %p b', status=0)
    assert names(tmp_path / 'a %p b') == ['out.cudaspy']


def test_a_report_of_what_was_recorded(cudaspy_run):
    assert 'verdict' in cudaspy_run('-r', '-o', 'new/', '--', STEPS, 5, status=0).stdout


# ---- programs that are not for us ------------------------------------------------------------------------------------

def test_a_program_for_musl(compile_c, cudaspy_run, tmp_path):
    """Its loader would end it with 127 for a library it cannot load."""
    program = compile_c('int main(void) { return 0; }', '-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1')
    p = cudaspy_run('--', program, status=2)
    line, = p.stderr.splitlines()
    assert str(program) in line and 'musl' in line
    script = tmp_path / 'script'
    script.write_text(f'#!{program}\n')
    script.chmod(0o755)
    assert 'musl' in cudaspy_run('--', script, status=2).stderr


@pytest.mark.parametrize('flags, why', [('-static', 'linked statically'), ('-m32', '32-bit')])
def test_a_program_that_loads_nothing(compile_c, cudaspy_run, flags, why):
    try:
        program = compile_c('int main(void) { return 7; }', flags)
    except subprocess.CalledProcessError:
        pytest.skip(f'the compiler makes no programs with {flags} here')
    p = cudaspy_run('--', program, status=7)
    assert f'cannot be observed: it is {"a " if flags == "-m32" else ""}{why}' in p.stderr


# ---- the end ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize('part', range(5))
def test_a_command_that_is_killed_runs_no_more(cudaspy_run, part):
    """It may still be dying when the shell, which killed it once it worked, has ended."""
    need('bash', 'it kills the command')
    kills = 'exec 3< <(exec "$0" 8); read x <&3; kill -KILL $!; kill -KILL $$'
    p = cudaspy_run('-r', '--gpu', 'off', '--', 'bash', '-c', kills, BUILD / 'tests/e2e/steady')
    assert p.returncode == 128 + signal.SIGKILL
    assert re.search(r'^state +killed', p.stdout, re.MULTILINE), p.stdout

