# SPDX-License-Identifier: Apache-2.0
"""From the first instruction to the last: every way to end, fork and be born, and what the recording then holds."""
import contextlib
import os
import re
import signal
import subprocess

import pytest

import against_truth
from conftest import BUILD, SHIM, environment, report

CLOSING = re.compile(r'^cudaspy: (?P<file>/\S+\.cudaspy): (?P<calls>\d+) calls, (?P<lost>\d+) records lost; '
                     r'cudaspy report (?P=file)\n\Z')
MIB = 1 << 20

ENDINGS = {'return': 7, 'exit': 7, '_exit': 7, 'quick_exit': 7, 'pthread_exit': 0, 'abort': -signal.SIGABRT,
           'kill': -signal.SIGKILL, 'segv': -signal.SIGSEGV, 'term': -signal.SIGTERM}
HANDLERS_RUN = ('return', 'exit', 'pthread_exit')
STATES = {**dict.fromkeys(HANDLERS_RUN, 'complete'), '_exit': 'ended', 'quick_exit': 'ended'}

LAUNCHES = '''
#include "tests/e2e/programs/work.h"
'''


def linked(library):
    """What links a program with a library that compile_c made."""
    return [f'-L{library.parent}', f'-Wl,-rpath,{library.parent}', f'-l{library.stem[3:]}']


def e2e(name):
    return f'tests/e2e/{name}'


# ---- endings ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize('how', ENDINGS)
def test_ending(run, how):
    r = run(e2e('endings'), how)
    assert r.status == ENDINGS[how]
    against_truth.assert_same_calls(r.report, r.truth)
    assert r.report['totals']['launches'] == 100
    assert r.report['processes'][0]['state'] == STATES.get(how, 'killed')
    if how in HANDLERS_RUN:
        closing = CLOSING.match(r.err)
        assert closing, r.err
        assert int(closing['calls']) == r.report['totals']['calls']
        assert closing['lost'] == '0'
        assert closing['file'] == str(r.recording)
    else:
        assert r.err == ''


@pytest.mark.parametrize('how', [how for how in ENDINGS if how != 'pthread_exit'])
def test_ending_with_threads_inside_cuda(run, how):
    r = run(e2e('endings'), how, 4)
    assert r.status == ENDINGS[how]
    against_truth.assert_same_but_in_flight(r.report, r.truth)
    assert r.report['totals']['launches'] >= 100


@pytest.mark.parametrize('how', [how for how in ENDINGS if how not in HANDLERS_RUN])
def test_ending_looks_the_same_without_cudaspy(run, how):
    bare = run(e2e('endings'), how, preload=())
    assert bare.status == ENDINGS[how]
    assert bare.recordings == []


def test_quiet(run):
    r = run(e2e('endings'), 'exit', CUDASPY_QUIET=1)
    assert r.status == 7
    assert r.err == ''
    assert r.report['totals']['launches'] == 100


# ---- calls after ours ------------------------------------------------------------------------------------------------

LATE = LAUNCHES + r'''
#include <pthread.h>
static void late(void) { cuStreamSynchronize(NULL); cuCtxSynchronize(); }
static void before_init(void) { late(); }
static void after_init(void) { late(); }
static void __attribute__((destructor)) destroyed(void) { late(); }
int main(void)
{
	atexit(before_init);
	work_start();
	atexit(after_init);
	work_launches(10);
	return 0;
}
'''


def test_calls_from_exit_handlers_and_destructors(run, compile_c):
    """Two calls each: from a handler registered before cuInit and one after, a destructor of the program, one of a
    library, which run when the recording is long closed."""
    library = compile_c(r'''
        #include <cuda.h>
        #include <dlfcn.h>
        void touch(void) {}
        static void __attribute__((destructor)) destroyed(void) { cuStreamSynchronize(0); cuCtxSynchronize(); }
        ''', '-lcuda', name='late', shared=True)
    program = compile_c('void touch(void); void *keep = touch;\n' + LATE, *linked(library), '-I',
                        str(against_truth.ROOT), '-lcuda')
    r = run(program)
    assert r.status == 0
    apis = against_truth.counted(r.report)
    assert {name: calls for name, (calls, _) in apis.items()} == \
           {name: calls for name, (calls, _) in against_truth.happened(r.truth).items()}
    assert apis['cuStreamSynchronize'][0] == 4
    assert r.truth['totals']['failed'] > 0, 'the driver is gone by the time of some of them'
    assert r.report['totals']['failed'] == 0, 'which is no failure of the program'
    assert r.report['processes'][0]['state'] == 'complete'
    assert CLOSING.match(r.err), r.err


def test_what_comes_when_the_driver_is_gone_is_no_part_of_the_window(run, compile_c):
    """Runtimes tidy up at exit, and our own handler comes before that: neither is the program's time."""
    program = compile_c(LAUNCHES + r'''
        #include <unistd.h>
        static void late(void) { usleep(300000); cuCtxSynchronize(); }
        int main(void)
        {
        	atexit(late);
        	work_start();
        	work_launches(10);
        	return 0;
        }
        ''', '-I', str(against_truth.ROOT), '-lcuda')
    r = run(program)
    assert r.truth['totals']['failed'] == 1
    assert against_truth.counted(r.report)['cuCtxSynchronize'][0] == 1
    assert r.report['wall_ns'] >= 300e6
    assert r.report['window_ns'] <= r.report['wall_ns'] - 300e6


def test_calls_from_destructors_of_thread_data(run, compile_c):
    """The keys of a program made before and after CUDA started; destructors that ask for another round come after
    ours."""
    program = compile_c(LAUNCHES + r'''
        #include <pthread.h>
        static pthread_key_t before, after;
        static void again(void *left) {
        	cuStreamSynchronize(0);
        	if ((long)left > 1)
        		pthread_setspecific(before, (void *)((long)left - 1));
        }
        static void once(void *p) { cuStreamSynchronize(0); }
        static void *work(void *p) {
        	CHECK(cuCtxSetCurrent(work_context));
        	work_launches(5);
        	pthread_setspecific(before, (void *)3);
        	pthread_setspecific(after, (void *)1);
        	return 0;
        }
        int main(void) {
        	pthread_key_create(&before, again);
        	work_start();
        	work_launches(1);
        	pthread_key_create(&after, once);
        	for (int i = 0; i < 20; i++) {
        		pthread_t t;
        		pthread_create(&t, 0, work, 0);
        		pthread_join(t, 0);
        	}
        	return 0;
        }''', '-lcuda', '-pthread', '-I', str(against_truth.ROOT))
    r = run(program)
    assert r.status == 0
    against_truth.assert_same_calls(r.report, r.truth)
    assert against_truth.counted(r.report)['cuStreamSynchronize'][0] == 20 * 4


def test_cuda_called_before_our_constructor(run, compile_c):
    """A dependency's constructor runs before those of preloaded libraries."""
    library = compile_c(LAUNCHES + r'''
        static void __attribute__((constructor)) early(void) { work_start(); work_launches(7); }
        void touch(void) {}''', '-lcuda', '-I', str(against_truth.ROOT), name='early', shared=True)
    program = compile_c('void touch(void); int main(void) { touch(); return 0; }', *linked(library), '-lcuda')
    r = run(program)
    assert r.status == 0
    against_truth.assert_same_calls(r.report, r.truth)
    assert r.report['totals']['launches'] == 7
    assert r.report['wall_ns'] < 100e9
    assert CLOSING.match(r.err), r.err


# ---- no recording ----------------------------------------------------------------------------------------------------

def test_a_program_without_cuda_leaves_nothing(run):
    r = run('/bin/echo', 'hello')
    assert (r.status, r.out, r.err, r.recordings) == (0, 'hello\n', '', [])


@pytest.mark.parametrize('variables', [{}, {'CUDASPY_KEEP': 'wrong'}])
def test_a_program_that_never_initialises_cuda_leaves_nothing(run, compile_c, variables):
    program = compile_c('''
        #include <cuda.h>
        int main(void) {
        	int version;
        	CUdevice device;
        	return cuDriverGetVersion(&version) != 0 || cuDeviceGet(&device, 0) != CUDA_ERROR_NOT_INITIALIZED ||
        	       cuStreamSynchronize(0) != CUDA_ERROR_NOT_INITIALIZED;
        }''', '-lcuda')
    r = run(program, **variables)
    assert (r.status, r.out, r.err, r.recordings) == (0, '', '', [])


def test_a_failing_init_leaves_nothing(run):
    r = run('vector_add', SIM_FAIL='cuInit:100')
    assert r.status == 1
    assert r.recordings == []
    assert 'cudaspy: ' not in r.err, r.err


def test_the_second_init_counts(run, compile_c):
    program = compile_c('''
        #include <cuda.h>
        int main(void) { return cuInit(0) != 100 || cuInit(0) != 0 || cuInit(0) != 0; }''', '-lcuda')
    r = run(program, SIM_FAIL='cuInit:100:1')
    assert r.status == 0
    assert against_truth.counted(r.report) == {'cuInit': (2, 0)}
    assert r.truth['apis']['cuInit'] == {'calls': 3, 'failed': 1}


# ---- messages --------------------------------------------------------------------------------------------------------

TAKES_STDERR = LAUNCHES + r"""
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	close(2);
	if (argv[2][0] == 'l')
		work_start();
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || dup2(fd, 2) != 2)
		return 1;
	if (argv[2][0] == 'e')
		work_start();
	return 0;
}
"""


@pytest.mark.parametrize('order', ['early', 'late'])
@pytest.mark.parametrize('at_start', ['open', 'closed'])
def test_nothing_is_written_into_a_file_that_took_the_place_of_stderr(compile_c, tmp_path, order, at_start):
    """Whether the program was started with a stderr or without, and opens its file before or after CUDA starts."""
    program = compile_c(TAKES_STDERR, '-lcuda', '-I', str(against_truth.ROOT))
    env = environment(tmp_path, CUDASPY_KEEP='wrong')
    shell = 'exec "$@" 2>&-' if at_start == 'closed' else 'exec "$@"'
    stranger = tmp_path / 'stranger'
    process = subprocess.run(['/bin/sh', '-c', shell, 'sh', program, stranger, order], env=env, cwd=tmp_path,
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
    assert process.returncode == 0
    assert process.stderr == b''
    assert stranger.read_bytes() == b''
    recording, = tmp_path.glob('*.cudaspy')
    assert report(recording)['totals']['calls'] == 6


def test_closed_stderr(run, compile_c):
    program = compile_c(LAUNCHES + '''
        #include <unistd.h>
        int main(void) { close(2); work_start(); work_launches(2); return 3; }''', '-lcuda', '-I',
                        str(against_truth.ROOT))
    r = run(program)
    assert (r.status, r.err) == (3, '')
    assert r.report['totals']['launches'] == 2


def test_nobody_reads_stderr(tmp_path):
    """The closing line into a broken pipe: no SIGPIPE for a program that wrote nothing itself."""
    process = subprocess.Popen([BUILD / e2e('endings'), 'exit'], env=environment(tmp_path), cwd=tmp_path,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, restore_signals=True)
    process.stderr.close()
    assert process.wait(timeout=60) == 7


def test_a_pipe_that_nobody_reads(tmp_path):
    """The closing line has no room in it: the program, which wrote nothing that would wait, does not wait for it."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    for piece in 4096, 1:
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(write_end, b'x' * piece)
    os.set_blocking(write_end, True)
    process = subprocess.Popen([BUILD / e2e('endings'), 'exit'], env=environment(tmp_path), cwd=tmp_path, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=write_end)
    try:
        assert process.wait(timeout=60) == 7
    finally:
        process.kill()
        os.close(read_end)
        os.close(write_end)


def test_all_descriptors_closed_by_the_program(run, tmp_path):
    stranger = tmp_path / 'stranger'
    r = run(e2e('close_all'), 20000, stranger, SIM_COST=0, CUDASPY_TRACE=1)
    assert r.status == 0
    assert stranger.read_bytes() == b''
    against_truth.assert_same_calls(r.report, r.truth)
    kept = against_truth.peek(r.recording)
    assert kept['reserved_bytes'] > 4 * MIB, 'the file did not grow after the descriptors were closed'


def test_chdir_with_a_relative_name(run, tmp_path):
    # Without call sites: what a new one takes stands in the trace too, as time of ours.
    r = run(e2e('close_all'), 20000, '/dev/null', SIM_COST=0, CUDASPY_TRACE=1, CUDASPY_SITES='off', CUDASPY_OUT='here-%p.cudaspy')
    assert r.status == 0
    against_truth.assert_same_calls(r.report, r.truth)
    assert against_truth.peek(r.recording)['trace']['written'] == r.report['totals']['calls']


# ---- many threads ----------------------------------------------------------------------------------------------------

def held_mib(r):
    return int(re.search(r'^held_kib=(\d+)$', r.out, re.MULTILINE)[1]) / 1024


def test_1024_threads_at_once(run):
    bare = run(e2e('crowd'), 1024, 1000, preload=(), SIM_COST=0, timeout=300)
    assert bare.status == 0
    r = run(e2e('crowd'), 1024, 1000, SIM_COST=0, timeout=300)
    assert r.status == 0
    spied, truth = r.report, r.truth
    against_truth.assert_same_calls(spied, truth)
    assert spied['totals']['launches'] == 1024 * 999
    workers = [t for t in spied['host']['threads'] if t['tid'] != truth['pid']]
    assert len(workers) == 1024
    assert {t['calls'] for t in workers} == {1000}
    assert held_mib(r) - held_mib(bare) <= 256
    assert r.recording.stat().st_blocks * 512 <= 256 * MIB


def test_5000_short_threads(run):
    r = run(e2e('crowd'), 5000, 10, 8, SIM_COST=0, timeout=300)
    assert r.status == 0
    against_truth.assert_same_calls(r.report, r.truth)
    assert r.report['totals']['calls'] == 5000 * 10 + 6 # and the start's own
    assert sum(t['calls'] for t in r.report['host']['threads']) == r.report['totals']['calls']
    assert r.recording.stat().st_blocks * 512 <= 256 * MIB


def test_a_thread_more_costs_little_once_threads_have_ended(run):
    """Threads that come and go take over the places of the dead: ten times the threads, not ten times the file."""
    few = run(e2e('crowd'), 1000, 10, 8, SIM_COST=0, CUDASPY_KEEP=1, CUDASPY_OUT='few.cudaspy')
    size = (few.folder / 'few.cudaspy').stat().st_size
    many = run(e2e('crowd'), 8000, 10, 8, SIM_COST=0, CUDASPY_KEEP=1, CUDASPY_OUT='many.cudaspy', timeout=300)
    assert (many.folder / 'many.cudaspy').stat().st_size < 2 * size
    assert report(many.folder / 'many.cudaspy')['totals']['calls'] == 80006


HELD_UP = r'''
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static sem_t held, let_go, stored;
static atomic_int ending, goes_on;
static void *scratch;

static void wait_for(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
}

static int is_collector(void)
{
	char name[16] = "";
	prctl(PR_GET_NAME, name);
	return !strcmp(name, "cudaspy");
}

static int a_moment(void)
{
	return !strcmp(getenv("HELD_UP"), "a moment");
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from)
{
	static int once;
	int first = is_collector() && !once++;
	if (first) {
		sem_post(&held);
		wait_for(&let_go);
	}
	void *p = (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, from);
	if (first)
		scratch = p;
	return p;
}

int munmap(void *at, size_t bytes)
{
	if (scratch && at == scratch) { /* what was measured is stored */
		goes_on = 1;
		sem_post(&stored);
	}
	return syscall(SYS_munmap, at, bytes);
}

/* The end's patience is no matter of this machine's speed: it has all the time that is needed. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	static struct timespec stands;
	if (clock != CLOCK_MONOTONIC || !ending || goes_on || syscall(SYS_gettid) != getpid() || !a_moment())
		return syscall(SYS_clock_gettime, clock, t);
	if (!stands.tv_sec)
		syscall(SYS_clock_gettime, clock, &stands);
	*t = stands;
	return 0;
}

static void *let_go_when_it_waits(void *unused)
{
	char path[64], call[64];
	int n = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", getpid());
	do {
		FILE *f = fopen(path, "r");
		if (!fgets(call, sizeof(call), f) || sscanf(call, "%d", &n) != 1)
			n = -1; /* it runs */
		fclose(f);
		usleep(1000);
	} while (n != SYS_futex);
	sem_post(&let_go);
	return NULL;
}

/* For the program: the collector is held up, and the end comes. */
void the_end_comes(void)
{
	pthread_t thread;
	wait_for(&held);
	ending = 1;
	if (a_moment())
		pthread_create(&thread, NULL, let_go_when_it_waits, NULL);
}

__attribute__((destructor)) static void late(void)
{
	if (a_moment())
		return;
	sem_post(&let_go); /* the recording is closed by now */
	wait_for(&stored);
}
'''

HELD_UP_PROGRAM = r'''
#include <cuda.h>
void the_end_comes(void);
int main(void) { cuInit(0); cuDriverGetVersion(&(int){0}); the_end_comes(); return 0; }
'''


@pytest.mark.parametrize('how, sealed', [('a moment', True), ('beyond the end', False)], ids=['a moment', 'beyond the end'])
def test_a_collector_held_up_at_the_end(run, compile_c, how, sealed):
    """It measures what a call costs when it starts: in a short program under load perhaps when all is over, and then the
    recording has no valid digest. The end waits for it, for a second."""
    library = compile_c(HELD_UP, name='held_up', shared=True)
    program = compile_c(HELD_UP_PROGRAM, '-lcuda', f'-Wl,{library}')
    result = run(program, preload=(SHIM, library), HELD_UP=how)
    assert result.report['lost']['damaged'] is None
    assert result.report['processes'][0]['state'] == 'complete'
    assert result.report['overhead']['per_call_ns'] is not None
    data = result.recording.read_bytes()
    assert data.count(b'/program') > 0
    result.recording.write_bytes(data.replace(b'/program', b'/prohram', 1))
    assert (report(result.recording)['lost']['damaged'] is not None) == sealed
