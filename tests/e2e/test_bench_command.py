# SPDX-License-Identifier: Apache-2.0
"""`cudaspy bench`: one command or two, run again and again in turns."""
import contextlib
import csv
import io
import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest

from conftest import BUILD, REPORTER, SAMPLES, SIM
from storage_runs import mounted

STEPS = BUILD / 'tests/e2e/steps'
WAITS = SAMPLES / 'sim/sync_every_step'
FIXED = SAMPLES / 'sim/sync_every_step_fixed'


def environment(folder, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('CUDASPY', 'SIM_')) and k not in ('LD_PRELOAD', 'COLUMNS')}
    return {**env, 'LD_LIBRARY_PATH': str(SIM), 'TMPDIR': str(folder), 'CUDASPY_GPU': 'off', **variables}


@pytest.fixture
def bench(tmp_path):
    """bench('-n', 3, '--', ...): the finished process; nothing is left in the folder for temporary files."""
    temporary = tmp_path / 'tmp'
    temporary.mkdir()

    def go(*args, status=0, left=(), **variables):
        p = subprocess.run([REPORTER, 'bench', *map(str, args)], env=environment(temporary, **variables), cwd=tmp_path, timeout=300,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        assert p.returncode == status, p.stdout + p.stderr
        assert [p.name for p in temporary.iterdir()] == list(left)
        return p

    go.folder = tmp_path
    go.temporary = temporary
    return go


def found(bench, *args, **variables):
    out = json.loads(bench('-f', 'json', *args, **variables).stdout)
    assert out['schema'] == 'cudaspy.bench/1'
    return out


def test_one_command(bench):
    out = found(bench, '-n', 6, '-w', 0, '--', STEPS, 20, 'sync')
    command, = out['commands']
    assert (out['runs'], out['warmup'], out['comparison']) == (6, 0, None)
    assert command['counts']['launches'] == {'runs': 6, 'median': 40, 'low': 40, 'high': 40, 'least': 40, 'most': 40}
    assert command['counts']['syncs']['median'] == 40 and command['command'].endswith('steps 20 sync')
    assert len(command['wall_ns']['values']) == 6 and command['recordings'] == []
    assert command['wall_ns']['least'] <= command['wall_ns']['low'] <= command['wall_ns']['median']
    assert sum(v['runs'] for v in command['verdicts']) == 6
    assert command['bare_wall_ns'] is None and command['cpu_ns']['median'] > 0


def test_two_commands_that_do_the_same_and_not(bench):
    """What costs more on the simulated GPU by orders of magnitude is told; the same program is not."""
    slow = ['env', 'SIM_LAUNCH_NS=400000', STEPS, 60]
    out = found(bench, '-n', 5, '-w', 0, '--', *slow, '--', STEPS, 60, 'sync')
    says = out['comparison']['headline']
    assert says['judged'] and says['moved'] == 'faster' and says['time']['upper'] < 1
    assert re.match(r'B is [0-9.]+x faster: .* per step \(.*x to .*x, each bound with 99 %\); waits 60 -> 120$', says['text'])
    assert says['of'] == 'step' and out['comparison']['counts']['syncs']['difference'] == 60
    same = found(bench, '-n', 3, '-w', 0, '--', 'env', 'SIM_LAUNCH_NS=400000', STEPS, 60, '--', *slow)['comparison']
    assert same['headline']['text'].endswith('; the counts are the same')
    assert same['counts']['launches']['changed'] is False


def test_few_runs_are_not_judged(bench):
    out = found(bench, '-n', 2, '-w', 0, '--', STEPS, 60, '--', STEPS, 60)
    assert out['comparison']['headline']['judged'] is False and out['comparison']['wall_ns']['beyond_noise'] is None
    assert out['commands'][0]['wall_ns']['low'] is None
    text = bench('-n', 2, '-w', 0, '--', STEPS, 60, '--', STEPS, 60).stdout
    assert 'Not judged: 3 runs or more' in text and '6 runs or more tell' in text


def test_turns(bench):
    """A B, then B A: and without the shim in the same turns; warm-up before, in no figure."""
    log = bench.folder / 'log'
    say = 'echo $1${LD_PRELOAD:+r} >>%s; exec %s 3' % (log, STEPS)
    out = found(bench, '-n', 2, '-w', 1, '--bare', '--', 'sh', '-c', say, 'sh', 'a', '--', 'sh', '-c', say, 'sh', 'b')
    assert log.read_text().split() == ['ar', 'a', 'br', 'b'] * 2 + ['b', 'br', 'a', 'ar']
    for command in out['commands']:
        assert len(command['bare_wall_ns']['values']) == len(command['wall_ns']['values']) == 2
        assert command['recording_cost']['before'] and command['recording_cost']['ratio'] is None


def test_a_command_that_fails_ends_it(bench):
    p = bench('-n', 3, '-w', 0, '--', STEPS, 3, '--', 'sh', '-c', 'echo oh; echo dear >&2; exit 7', status=7)
    assert p.stderr == "oh\ndear\ncudaspy: bench: command B failed in run 1, status 7: sh -c 'echo oh; echo dear >&2; exit 7'\n"
    assert not p.stdout
    p = bench('-n', 3, '--', 'sh', '-c', 'kill -9 $$', status=137)
    assert 'the command was killed by signal 9 in warmup 1, status 137' in p.stderr
    out = found(bench, '-n', 3, '-w', 0, '-i', '--', 'sh', '-c', f'{STEPS} 3; exit 7')
    assert out['commands'][0]['counts']['launches']['median'] == 6


def test_later_failures_are_told_by_their_run(bench):
    """The third run, not the first two."""
    count = bench.folder / 'count'
    say = f'echo >>{count}; [ $(wc -l <{count}) -lt 3 ] || exit 5; exec {STEPS} 3'
    assert 'the command failed in run 3, status 5' in bench('-n', 4, '-w', 0, '--', 'sh', '-c', say, status=5).stderr


def test_a_full_disk_is_told_once(bench):
    """The shim's own words of it, which nobody sees else; of one that is full before, bench's."""
    with mounted(bench.temporary / 'small', '-t', 'tmpfs', '-o', 'size=2048k', 'none') as small:
        p = bench('-n', 3, '-w', 1, '--', WAITS, 2000, TMPDIR=str(small), CUDASPY_GPU='sample', left=['small'])
        line, = p.stderr.splitlines()
        assert re.match(r'cudaspy: bench: (warmup|run) \d: /.*: No space left on device; ', line), line
        (small / 'taken').write_bytes(bytes(int(os.statvfs(small).f_bavail) * os.statvfs(small).f_frsize))
        p = bench('-n', 3, '--', WAITS, 2000, TMPDIR=str(small), status=2, left=['small'])
        line, = p.stderr.splitlines()
        assert line.startswith('cudaspy: bench: /') and line.endswith(': No space left on device'), line
        assert [p.name for p in small.iterdir()] == ['taken']
    (bench.temporary / 'small').rmdir()


def test_keep(bench):
    out = found(bench, '-n', 2, '--keep', 'kept', '--', 'sh', '-c', f'echo hello; exec {STEPS} 3', '--', STEPS, 3)
    kept = bench.folder / 'kept'
    assert sorted(str(p.relative_to(kept)) for p in kept.glob('*/*')) == ['A/run-1', 'A/run-2', 'B/run-1', 'B/run-2']
    assert [c['recordings'] for c in out['commands']] == [[str(kept / s / f'run-{n}') for n in (1, 2)] for s in 'AB']
    assert (kept / 'A/run-2/output').read_text().splitlines()[0] == 'hello'
    assert all(len(list(p.glob('*.cudaspy'))) == 1 for p in kept.glob('*/*'))
    assert 'kept/A is there already' in bench('--keep', 'kept', '--', STEPS, 3, status=2).stderr
    subprocess.run([REPORTER, 'diff', '--base', *kept.glob('A/*'), '--new', *kept.glob('B/*')], check=True, stdout=subprocess.DEVNULL)


def test_forms(bench):
    args = '-n', 3, '-w', 0, '--', WAITS, 300, '--', FIXED, 300
    text = bench(*args).stdout
    assert re.match(r'  B is [0-9.]+x faster|  no difference that can be told', text)
    assert all(len(line) <= 80 for line in text.splitlines() if not re.match('[AB] ', line)), text
    assert re.search(r'^  syncs +300 +1 +-299, -99\.7 %$', text, re.M) and 'loop_steps_per_step' not in text
    assert bench('-f', 'md', *args).stdout.startswith('# cudaspy bench\n\n')
    rows = list(csv.DictReader(io.StringIO(bench('-f', 'csv', *args).stdout)))
    (syncs,) = [r for r in rows if (r['of'], r['figure']) == ('B', 'syncs')]
    assert (syncs['median'], syncs['least'], syncs['most'], syncs['runs']) == ('1', '1', '1', '3')
    (ratio,) = [r for r in rows if (r['of'], r['figure']) == ('B / A', 'wall_ns')]
    assert float(ratio['low']) <= float(ratio['median']) <= float(ratio['high']) and ratio['confidence'] == '0.99'
    bench('-o', 'out.txt', '-n', 1, '-w', 0, STEPS, 3)
    assert (bench.folder / 'out.txt').read_text().startswith('A  ')


def test_separator(bench):
    """What a command has after a -- of its own stays with it."""
    one = found(bench, '-n', 1, '-w', 0, '--separator', '', '--', 'sh', '-c', f'[ "$1" = -- ] && exec {STEPS} 3', 'sh', '--')
    assert len(one['commands']) == 1 and one['commands'][0]['command'].endswith(' sh --')
    assert len(found(bench, '-n', 1, '-w', 0, '--separator', 'vs', STEPS, 3, 'vs', 'env', '--', STEPS, 3)['commands']) == 2


@pytest.mark.parametrize('args, part', [
    ([], 'no command given'),
    (['--'], 'no command given'),
    (['-n', '0', 'true'], '--runs 0: no whole number from 1 on'),
    (['-n', 'x', 'true'], '--runs x: no whole number from 1 on'),
    (['-w', '-1', 'true'], '--warmup -1: no whole number from 0 on'),
    (['-f', 'xml', 'true'], '--format xml'),
    (['--', 'true', '--'], 'command B is empty'),
    (['--', '--', 'true'], 'command A is empty'),
    (['--', 'true', '--', 'true', '--', 'true'], 'more than two commands'),
    (['--gpu', 'on', 'true'], '--gpu on'),
    (['--steps', '3', '--skip-steps', '1', 'true'], '--steps divides whole runs'),
    (['-n', '1', '-w', '0', 'true'], 'no recording of the command in run 1'),
    (['--keep', '/proc/none', 'true'], '--keep /proc/none'),
])
def test_wrong_usage(bench, args, part):
    p = bench(*args, status=2)
    assert part in p.stderr and len(p.stderr.splitlines()) == 1 and not p.stdout


def test_what_cannot_be_started(bench):
    assert 'command not found' in bench('-n', 1, 'no-such-command', status=127).stderr
    assert "CUDASPY_BUDGET=x is not" in bench('-n', 1, STEPS, 3, status=2, CUDASPY_BUDGET='x').stderr


def test_stopped(bench):
    """A signal reaches the command; then nothing more is run, and nothing is left."""
    log = bench.folder / 'log'
    p = subprocess.Popen([REPORTER, 'bench', '-n', '50', '--', 'sh', '-c', f'echo >>{log}; exec sleep 60'], cwd=bench.folder,
                         env=environment(bench.temporary), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (log.exists() and log.read_text()):
        time.sleep(0.01)
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 128 + signal.SIGTERM and b'stopped by signal 15 in warmup 1' in err and not out
    assert log.read_text() == '\n' and not list(bench.temporary.iterdir())


def test_stopped_between_runs(bench, tmp_path):
    """While a recording is read: what was made is removed as well."""
    command = tmp_path / 'command'
    # Once the run is gone, and waited for, the one that ran it is stopped.
    command.write_text(f"""#!/bin/sh
bench=$PPID run=$$
mkdir once 2>&- && (while kill -0 $run 2>&-; do :; done; kill -TERM $bench) &
exec {STEPS} 2000
""")
    command.chmod(0o755)
    p = bench('-n', 50, '-w', 0, '--', command, status=128 + signal.SIGTERM)
    assert not p.stdout and p.stderr.startswith('cudaspy: bench: stopped by signal 15 ')


def test_what_is_ignored_stops_nothing(bench):
    """As under nohup, when the terminal goes."""
    p = subprocess.Popen(['nohup', REPORTER, 'bench', '-n', '2', '-w', '0', '--', 'sh', '-c', f'echo >began; sleep 1; exec {STEPS} 20'],
                         env=environment(bench.temporary), cwd=bench.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, universal_newlines=True)
    while not (bench.folder / 'began').exists():
        time.sleep(0.01)
    p.send_signal(signal.SIGHUP)
    out, err = p.communicate(timeout=120)
    assert p.returncode == 0 and 'Times (medians of 2 runs)' in out, out + err


def test_progress_is_for_terminals(bench):
    """On a terminal a line says which run it is, and is gone in the end."""
    assert bench('-n', 2, '-w', 0, STEPS, 3).stderr == ''
    master, slave = pty.openpty()
    p = subprocess.Popen([REPORTER, 'bench', '-n', '2', '-w', '1', '--', STEPS, '3', '--', STEPS, '3'], cwd=bench.folder,
                         env=environment(bench.temporary, TERM='xterm'), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    assert b'against A' in p.communicate(timeout=120)[0]
    text = b''
    with contextlib.suppress(OSError): # EIO, once all of it was read
        while True:
            text += os.read(master, 65536)
    os.close(master)
    text = text.decode()
    assert 'bench: warmup 1 of 1, command A' in text and 'bench: run 2 of 2, command A, about ' in text
    assert text.endswith('\r\x1b[K') and '\n' not in text
