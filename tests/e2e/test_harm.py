# SPDX-License-Identifier: Apache-2.0
"""No program is harmed, no call is lost in silence: a row for each way in which that was not so, or might not be.

Each row's program is run bare and watched, twenty times here and two hundred times by `make campaign`: the same status, the
same output, no hang; its calls, as the simulated driver counted them, are in the report or in `lost.calls`. What a row is
about stands at the head of its program (tests/e2e/programs/harm_*.c).
"""
import contextlib
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytest.register_assert_rewrite('harm', 'harm_places')

from conftest import need, report # noqa: E402
from harm import (CLOSING, HANG_S, PROGRAMS, TRIES, Row, against, all_in, attempt, campaign, compare_counts, # noqa: E402
                  where_they_are)
from harm_places import CGROUP_MIB, in_a_small_cgroup, live_leftovers, overlay_and_small_memory, small_output # noqa: E402

# ---- what goes on meanwhile ----------------------------------------------------------------------------------------------


def send_term(process, folder, number):
    time.sleep(random.Random(number).uniform(0, 0.02))
    process.send_signal(signal.SIGTERM)


def stop_and_continue(process, folder, number):
    for _ in range(5):
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.01)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.002)


def cut_to(size):
    """The recording gets this size; `size` is a function of its size."""
    def cut(process, folder, number):
        time.sleep(random.Random(number).uniform(0, 0.01))
        for file in folder.glob('*.cudaspy'):
            os.truncate(file, size(file.stat().st_size))
        time.sleep(0.01)
    return cut


# ---- what is said --------------------------------------------------------------------------------------------------------

def troubles(t):
    return [line for line in t.ours if not CLOSING.fullmatch(line)]


def says_that_it_ended(t):
    assert t.ours, 'does not say that the recording ended'
    line, *more = troubles(t) or [None]
    assert line and not more and re.search(r'\b(ends?|ended|stops?|stopped)\b', line), f'says {t.ours}'


def says_a_quarter(t):
    """The recording is smaller than asked for: said once, when it begins."""
    line, *more = troubles(t) or [None]
    assert line and not more and re.search(r'a quarter of what is free .* are kept, not \d+', line), f'says {t.ours}'


def says_that_little_is_left(t):
    line, *more = troubles(t) or [None]
    assert line and not more and re.search(r'its memory cgroup has little left: .* are kept, not \d+', line), f'says {t.ours}'


def at_most_one_trouble(t):
    assert len(troubles(t)) <= 1, f'says {t.ours}'


def one_true_line(t):
    """A recording that could not be made, or stopped growing later: never is counting said to go on without one."""
    assert len(troubles(t)) <= 1, f'says {t.ours}'
    if not t.recordings:
        assert len(t.ours) == 1, f'says {t.ours}'
        assert 'goes on' not in t.ours[0] and 'thinned' not in t.ours[0], f'says {t.ours}'


# ---- what else is looked at ----------------------------------------------------------------------------------------------

def counts_where_recorded(t, bare):
    truths = t.truths()
    for pid, r in t.reports().items():
        against(Row(''), r, truths[pid])


def whole_if_begun(t, bare):
    """Whether the process ended before CUDA was up is chance."""
    if t.recordings:
        compare_counts(Row('', counts='cut'), t)
    else:
        calls = [api['calls'] for truth in t.truths().values() for api in truth['apis'].values()]
        assert sum(calls) <= 1, f'{sum(calls)} calls and no recording'


def reports_a_quarter(t):
    """And so does the report, whatever became of the process."""
    recording, = t.recordings
    warnings = report(recording)['warnings']
    assert [w for w in warnings if 'MiB of the memory that was free' in w], f'the report warns of {warnings}'


def a_quarter_at_most(t, bare):
    taken, free = t.measured['taken_kib'], t.measured['free_kib']
    assert taken - bare.measured['taken_kib'] <= free / 4, f'{taken} KiB of {free} taken'
    assert not live_leftovers(t), 'something is left in memory'
    reports_a_quarter(t)


def a_quarter_of_the_cgroup(t, bare):
    taken = t.measured['taken_kib'] - bare.measured['taken_kib']
    assert taken <= CGROUP_MIB * 1024 / 4, f'{taken} KiB of {CGROUP_MIB} MiB taken'
    reports_a_quarter(t)


def whole(t):
    recording, = t.recordings
    assert not live_leftovers(t), 'the live file is still in memory'
    assert recording.read_bytes()[:8] != b'CUDASPY>', 'the recording is still a stub'
    counts_where_recorded(t, None)
    reports_a_quarter(t)


def the_next_run_tidies_up(t, bare):
    variables = {**t.variables, 'SIM_TRUTH': str(t.folder / 'of-the-next'), 'CUDASPY_OUT': f'{t.folder}/next.cudaspy'}
    subprocess.run([PROGRAMS / 'harm_file', 'plain', '100'], env=variables, cwd=t.folder, timeout=HANG_S, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    whole(t)


def the_reporter_tidies_up(t, bare):
    report(*t.recordings)
    whole(t)


def a_few_tens_of_mib(t, bare):
    recording, = t.recordings
    mib = recording.stat().st_blocks / 2048
    assert mib <= 40, f'the recording takes {mib:.0f} MiB'


def little_stack(t, bare):
    assert t.measured.keys() == bare.measured.keys() and t.measured
    for name, used in t.measured.items():
        more = used - bare.measured[name]
        assert more <= 4096, f'{name}: {more} bytes of stack'


@contextlib.contextmanager
def valgrind(folder, number):
    need('valgrind', 'the leak check of a watched program is tried with it')
    yield {}


@contextlib.contextmanager
def as_root(folder, number):
    if os.geteuid():
        pytest.skip('only root may')
    yield {}


def launches_are(t, launches):
    recording, = t.recordings
    assert report(recording)['totals']['launches'] == launches


def the_first_copy_alone(t, bare):
    launches_are(t, 40000)


GONE = r'cudaspy: \S+\.cudaspy was removed, moved or replaced by another program'


def says_that_it_is_gone(more):
    def said(t):
        assert re.fullmatch(f'{GONE}{more}; it has \\d+ calls', t.ours[-1]), t.ours
        assert not [line for line in t.ours if CLOSING.fullmatch(line)] and len(t.ours) <= 3, t.ours
        assert not t.recordings
    return said


def what_stays_is_whole(t, bare):
    live, = live_leftovers(t)
    assert str(live) in t.ours[-1]
    r, truth = report(live), next(iter(t.truths().values()))
    against(Row(''), r, truth)


def stepped(t, bare):
    """There were instructions to step through; and each launch stands with the kernel that it was of."""
    assert t.measured['instructions'] >= 50 or platform.machine() != 'x86_64', 'nothing was stepped through'
    (truth,), (r,) = t.truths().values(), t.reports().values()
    launched = {k['name']: k['launches'] for k in r['kernels'] if k['launches']}
    assert launched == {k['name']: k['launches'] for k in truth['kernels'] if k['launches']}


OS_EXIT = '''
import ctypes, os
cuda = ctypes.CDLL('libcuda.so.1')
assert cuda.cuInit(0) == 0
count = ctypes.c_int()
for i in range(10):
    cuda.cuStreamSynchronize(None)
os._exit(7)
'''

LARGE_RING = {'CUDASPY_RING': 1 << 20}
# Signals that each of a storm's eight threads takes: 90,000 a row in `make test`, 10 million in the campaign.
A_STORM = 6250 if TRIES > 20 else 560


# What is under way, what a signal's handler does, and where its stack lies: see harm_step.c.
STEPPED = [
    *((call, 'call', 'same') for call in ('attach', 'first', 'again', 'growth', 'copy', 'wait')),
    ('first', 'other', 'same'), ('first', 'many', 'same'), ('first', 'call', 'above'), ('first', 'call', 'below'),
]


def rows():
    yield 'B1-cancel-3', Row('harm_cancel', ('pending', 3, 100))
    yield 'B1-cancel-300', Row('harm_cancel', ('pending', 300, 100))
    yield 'B1-cancel-init', Row('harm_cancel', ('init',))
    yield 'B1-cancel-growth', Row('harm_cancel', ('pending', 3, 40000), LARGE_RING)
    yield 'B1-cancel-asynchronous', Row('harm_cancel', ('asynchronous', 8))
    yield 'B1-cancel-fork', Row('harm_cancel', ('fork',))
    yield 'B1-cancel-exit', Row('harm_cancel', ('exit',))

    for who in 'main', 'newborn', 'loader':
        yield f'B2-{who}', Row('harm_exit', ('term', who), LARGE_RING, counts='cut', state='complete', meanwhile=send_term)
    yield 'B2-early', Row('harm_exit', ('early',), LARGE_RING, counts='', state='complete', check=whole_if_begun)
    yield 'B2-alloc', Row('harm_exit', ('alloc',), counts='cut', state='complete')
    yield 'B2-first', Row('harm_exit', ('first',), counts='cut', state='complete')
    yield 'B2-again', Row('harm_exit', ('again',), state='complete')
    yield 'B2-last', Row('harm_exit', ('last',), state='complete')

    yield 'B3-start', Row('harm_signal', ('start',), LARGE_RING, counts='')
    for place in 'same', 'above', 'below':
        yield f'B3-storm-{place}', Row('harm_signal', ('storm', place, A_STORM), LARGE_RING)
    yield 'B3-storm-sites', Row('harm_signal', ('storm', 'same', A_STORM), {**LARGE_RING, 'CUDASPY_SITES': 'all'}, share=4)
    yield 'B3-kill', Row('harm_signal', ('kill',), LARGE_RING)
    for call, action, place in STEPPED:
        yield f'B3-step-{call}-{action}-{place}', Row('harm_step', (call, action, place, lambda n: n % 16, 16), LARGE_RING,
                                                      check=stepped, share=10)
    for call in 'attach', 'first', 'growth': # calls left by a jump are in no figure
        yield f'B3-step-{call}-jump-same', Row('harm_step', (call, 'jump', 'same', lambda n: n % 16, 16), LARGE_RING,
                                               counts='', share=10)

    for where in 'wait', 'function', 'launch':
        for then in '_exit', 'exit', 'exec', 'back', 'on':
            if where != 'function' or then not in ('back', 'on'): # the driver's own thread is not there to go back to
                yield f'B4-{where}-{then}', Row('harm_fork', ('inside', where, then), inherited=1)

    small = {'around': overlay_and_small_memory, 'said': says_a_quarter}
    yield 'B5-segment', Row('harm_file', ('segment', '{folder}/live'), {'CUDASPY_TRACE': 1},
                            check=a_quarter_at_most, share=4, **small)
    yield 'B5-next-run', Row('harm_file', ('killed',), counts='', check=the_next_run_tidies_up, share=2, **small)
    yield 'B5-reporter', Row('harm_file', ('killed',), counts='', check=the_reporter_tidies_up, share=2, **small)

    enter = 'echo $$ > {folder}/cgroup/cgroup.procs; exec "$0" "$@"'
    yield 'B5-cgroup', Row('/bin/sh', ('-c', enter, PROGRAMS / 'harm_file', 'segment', '{folder}/live'), {'CUDASPY_TRACE': 1},
                           around=in_a_small_cgroup, said=says_that_little_is_left, check=a_quarter_of_the_cgroup, share=10)

    for name, size in ('nothing', lambda n: 0), ('4096', lambda n: 4096), ('half', lambda n: n // 2):
        for own in (), ('own',):
            yield '-'.join(('B6', name, *own)), Row('harm_file', ('cut', *own), counts='', meanwhile=cut_to(size),
                                                    said=says_that_it_ended)

    leak_check = '--leak-check=full', '--log-file=/dev/null', PROGRAMS / 'harm_guest', 'small'
    yield 'B7-valgrind', Row(shutil.which('valgrind') or '/no/valgrind', leak_check, {'SIM_TRUTH': None}, counts='made',
                             around=valgrind, share=10)
    yield 'B7-maps', Row('harm_guest', ('maps',), share=4)
    yield 'B9-files', Row('harm_guest', ('files',), said=at_most_one_trouble)
    yield 'B9-files-early', Row('harm_guest', ('files', 'early'), counts='', said=one_true_line)
    yield 'B9-threads', Row('harm_guest', ('threads',), said=at_most_one_trouble)

    for how in 'destructors', 'keys':
        yield f'B10-{how}', Row('harm_threads', (how, 5000), check=a_few_tens_of_mib, share=10)

    for what in 'first', 'thread', 'child', 'growth', 'exit':
        yield f'B11-{what}', Row('harm_stack', (what,), LARGE_RING, check=little_stack, counts='', share=4)
    yield 'B11-handler', Row('harm_stack', ('handler',), share=4)

    yield 'C1-inits', Row('harm_threads', ('inits', 8, 8000), spare={'cuInit': 7})
    yield 'C1-runtime', Row('harm_runtime', ('first', 16, 1000), counts='made')
    yield 'C1-crowd', Row('harm_fork', ('crowd',))
    yield 'C1-daemon', Row('harm_fork', ('daemon',))

    yield 'C2-init', Row('harm_fork', ('init',))
    yield 'C2-starting', Row('harm_fork', ('starting',), early=True)
    yield 'C2-_Fork', Row('harm_fork', ('second', '_Fork'))
    yield 'C2-clone', Row('harm_fork', ('second', 'raw'))

    for place in 'same', 'above', 'below':
        yield f'C3-jump-{place}', Row('harm_signal', ('jump', place))
        yield f'C3-inside-{place}', Row('harm_signal', ('inside', place))
    for by in 'runtime', 'driver':
        yield f'C3-inside-{by}', Row('harm_runtime', ('inside', by), counts='made')

    for when in 'before', 'after', 'both':
        yield f'C4-handler-{when}', Row('harm_fork', ('handler', when))

    yield 'C5-disk-full', Row('harm_file', ('plain',), counts='', said=one_true_line, around=small_output,
                              check=counts_where_recorded)
    yield 'C5-limit', Row('harm_file', ('limit', 'fsize', lambda n: 4096 + n % 20 * 131072, 'early'), counts='',
                          said=one_true_line, check=counts_where_recorded)

    for when in 'between', 'inside':
        yield f'C3-coroutines-{when}', Row('harm_coroutine', (when,), share=4)

    for how in '_exit', '_Exit', 'quick_exit', 'execv', 'execl':
        yield f'C6-{how}', Row('harm_end', (how,), state='ended')
        yield f'C6-{how}-amid', Row('harm_end', (how, 'amid'), counts='cut', state='ended')
    yield 'C6-python', Row(sys.executable, ('-c', OS_EXIT), state='ended', share=4)
    yield 'C6-failed', Row('harm_end', ('failed',), state='killed')

    yield 'D-constructor', Row('harm_threads', ('ctor', PROGRAMS / 'libharm_ctor.so'), spare={'cuInit': 1})
    yield 'D-vfork', Row('harm_fork', ('vfork',))
    yield 'D-stop', Row('harm_threads', ('stop',), meanwhile=stop_and_continue)
    yield 'D-fifo', Row('harm_threads', ('fifo',))
    yield 'D-chroot', Row('harm_guest', ('chroot', '{folder}'), said=at_most_one_trouble)
    yield 'D-close', Row('harm_guest', ('close', '{folder}/mine'), said=at_most_one_trouble, share=2)
    yield 'D-address-space', Row('harm_file', ('limit', 'as', 6 << 30, 'early'), share=2)
    yield 'D-address-space-late', Row('harm_file', ('limit', 'as', 200 << 20), said=at_most_one_trouble, share=2)
    yield 'D-descriptors', Row('harm_file', ('limit', 'nofile', 3, 'early'), counts='', said=one_true_line,
                               share=2)
    yield 'D-descriptors-late', Row('harm_file', ('limit', 'nofile', 3), said=at_most_one_trouble, share=2)
    yield 'D-limit-late', Row('harm_file', ('limit', 'fsize', 1 << 20), said=at_most_one_trouble, share=2)


    yield from world()
    yield from state()


def world():
    """The world around the recording is not what it was, or never was usual: harm_world.c."""
    for way in 'streams', 'locked', 'shared', 'jump', 'spawn':
        yield f'W-{way}', Row('harm_world', (way,), LARGE_RING, share=10)
    # Options are read when CUDA starts: the defaults, among them the sampler, whose calls the driver counts as well.
    yield 'W-environ', Row('harm_world', ('environ',), LARGE_RING, counts='', share=10)
    for way in ('mask',), ('proc', 'early'), ('proc', 'late'), ('pids',):
        yield '-'.join(('W', *way)), Row('harm_world', way, LARGE_RING, around=as_root, share=10)
    for way in 'user', 'hidden':
        yield f'W-{way}', Row('harm_world', (way,), around=as_root, said=at_most_one_trouble, share=10)
    for how in 'local', 'global':
        yield f'W-unload-{how}', Row('harm_world', ('unload', how, PROGRAMS / 'libplugin_bundled.so'), counts='', share=10,
                                     check=lambda t, bare: launches_are(t, 150))
    # The simulated driver's own truth is not there yet when it is called.
    yield 'W-resolver', Row('harm_resolver', counts='', check=lambda t, bare: launches_are(t, 400), share=10)
    yield 'W-namespace', Row('harm_world', ('namespace',), counts='', check=the_first_copy_alone, share=10)
    yield 'W-gone', Row('harm_world', ('gone', '{folder}'), counts='', said=says_that_it_is_gone(''), share=10)
    yield 'W-gone-from-memory', Row('harm_world', ('gone', '{folder}/over'), {'CUDASPY_KEEP': 1}, counts='', around=overlay_and_small_memory,
                                    said=says_that_it_is_gone(': the recording stays in (?P<live>\\S+)'),
                                    check=what_stays_is_whole, share=10)


def state():
    """What belongs to the process or to one of its threads: harm_state.c."""
    sampled = {'CUDASPY_GPU': 'sample'} # the sampler's calls are counted by the driver as well
    for ways in ('traps',), ('traps', 'early'), ('flags',):
        yield '-'.join(('S', *ways)), Row('harm_state', ways, sampled, counts='', share=4)
    for number in signal.SIGILL, signal.SIGTRAP, signal.SIGFPE, signal.SIGSEGV, signal.SIGUSR1:
        yield f'S-sent-{number.name}', Row('harm_state', ('sent', int(number)), share=10)
        yield f'S-handled-{number.name}', Row('harm_state', ('handled', int(number)), share=10)
    for number in signal.SIGPIPE, signal.SIGXFSZ:
        yield f'S-pending-{number.name}', Row('harm_state', ('pending', int(number)), share=20)
    yield 'S-forked', Row('harm_state', ('forked',), counts='', share=10)
    for how in 'full', 'closed', 'signals', 'control', 'much', 'call':
        yield f'S-last-{how}', Row('harm_state', ('last', how), counts='', said=at_most_one_trouble, share=10)
    for way in 'stack', 'bus':
        yield f'S-{way}', Row('harm_state', (way,), counts='' if way == 'bus' else 'exact', share=10)
    for call in 'statx', 'fcntl':
        yield f'S-refused-{call}', Row('harm_state', ('refused', call), counts='', said=at_most_one_trouble, share=10)


@pytest.mark.parametrize('row', [pytest.param(row, id=name) for name, row in rows()])
def test_harm(row, tmp_path):
    campaign(row, tmp_path)


# ---- what is kept of a failure -------------------------------------------------------------------------------------------

def test_a_fault_tells_where_it_was(tmp_path):
    t = attempt(Row('harm_end', ('fault',)), tmp_path / 'fault', 0, True)
    assert t.status == -signal.SIGSEGV
    assert re.search(r'^fault: signal 0xb, code 0x1, address 0x40, at 0x\w+ harm_end\+0x\w+, stack 0x\w+$', t.err, re.MULTILINE)
    assert re.search(r'^  address in not mapped\n  stack in .*\[stack\]', t.err, re.MULTILINE)
    assert re.search(r'^  perhaps from 0x\w+ libc', t.err, re.MULTILINE)


def test_a_hang_tells_where_it_was(tmp_path):
    def look(process, folder, number):
        hangs = re.compile(r'^  (\d+)/\1 harm_end: in system call \d+, libc\S*\+0x\w+$', re.MULTILINE)
        until = time.monotonic() + HANG_S
        # Our own thread has its name only once it runs.
        while not (hangs.search(where()) and ' cudaspy: ' in where()):
            assert time.monotonic() < until, where()
        process.kill()

    def where():
        return where_they_are(all_in(tmp_path / 'hang'))

    attempt(Row('harm_end', ('hang',), meanwhile=look), tmp_path / 'hang', 0, True)
