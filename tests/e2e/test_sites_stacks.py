# SPDX-License-Identifier: Apache-2.0
"""Call sites of native launches: the frames above one, and which of their lines is named."""
import collections
import itertools
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT
from lookup_answers import built

LAUNCHES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tests/e2e/programs/sites_ready.h"
#include "tests/e2e/programs/work.h"
#define STAYS __attribute__((noinline, noclone))
static CUgraphExec graph;
static __thread CUstream stream;

/* What backtrace() says of the functions around launch(), as a line: kind, kernel's shape, return
 * addresses in this program and the C library. */
STAYS static void tell(const char *api)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	void *at[64];
	int count = backtrace(at, 64);
	pthread_mutex_lock(&lock);
	printf("%s", api);
	for (int i = 2; i < count; i++) { /* without launch(): tell() is called at another place there */
		Dl_info o;
		if (dladdr(at[i], &o))
			printf(" %lx", (long)((char *)at[i] - (char *)o.dli_fbase));
	}
	printf("\n");
	pthread_mutex_unlock(&lock);
}
STAYS static void launch(int what, int say)
{
	CUlaunchConfig config = {.gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 64, .blockDimY = 1, .blockDimZ = 1, .hStream = stream};
	if (say)
		tell(what == 0 ? "cuLaunchKernel" : what == 1 ? "cuLaunchKernelEx" : "cuGraphLaunch");
	if (what == 0)
		CHECK(cuLaunchKernel(work_short, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	else if (what == 1)
		CHECK(cuLaunchKernelEx(&config, work_short, NULL, NULL));
	else
		CHECK(cuGraphLaunch(graph, stream));
	__asm__ volatile("");
}
STAYS void inner(int what, int say)
{
	launch(what, say);
	__asm__ volatile("");
}
STAYS void nested(int n, int what, int say)
{
	volatile char room[64 + 48 * (n % 3)];
	room[n] = 1;
	if (n)
		nested(n - 1, what, say);
	else
		inner(what, say);
	__asm__ volatile("");
}
STAYS void work(int count)
{
	for (int i = 0; i < count; i++) {
		for (int what = 0; what < 3; what++)
			nested(i % 7, what, i < 7);
		if (i % 64 == 63)
			CHECK(cuStreamSynchronize(stream));
	}
	CHECK(cuStreamSynchronize(stream));
	__asm__ volatile("");
}
static void in_handler(int signal)
{
	volatile char room[4096]; /* below all that is being read */
	for (unsigned i = 0; i < sizeof(room); i++)
		room[i] = (char)signal;
}
static void *thread(void *count)
{
	CHECK(cuCtxSetCurrent(work_context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	work((int)(long)count);
	__asm__ volatile("");
	return NULL;
}
int main(int n, char **args)
{
	const int count = atoi(args[1]), threads = atoi(args[2]), signals = n > 3;
	pthread_t t[16];
	CUgraph g;
	work_start();
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CHECK(work_launch(work_short, stream));
	CHECK(cuStreamEndCapture(stream, &g));
	CHECK(cuGraphInstantiate(&graph, g, 0));
	sites_ready();
	if (signals) {
		struct sigaction a = {.sa_handler = in_handler, .sa_flags = SA_RESTART};
		struct itimerspec every = {{0, 300000}, {0, 300000}};
		timer_t timer;
		sigaction(SIGALRM, &a, NULL);
		timer_create(CLOCK_MONOTONIC, NULL, &timer);
		timer_settime(timer, 0, &every, NULL);
	}
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, thread, (void *)(long)count);
	work(count);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return 0;
}
"""
FRAMES = '-fno-omit-frame-pointer', '-fno-optimize-sibling-calls'


def launch_sites(r, program):
    """{(api, offsets of the program's frames beyond the first): times seen}"""
    found = collections.Counter()
    for s in r.report['sites']:
        if s['kind'] == 'launch':
            found[s['api'], tuple(f['offset'] for f in s['frames'][1:] if f['module'] == str(program))] += s['seen']
    return found


def told_by_backtrace(out, program, last):
    """The same of what the program printed, up to the function that began its thread: offsets beyond `last` are the C library's."""
    told = set()
    for line in out.splitlines():
        api, *at = line.split()
        told.add((api, tuple(itertools.takewhile(lambda a: a < last, (int(a, 16) for a in at)))))
    return told


def is_part(stack, whole):
    """In the same order, with some left out."""
    rest = iter(whole)
    return all(at in rest for at in stack)


def keeps_rbp():
    """gcc's wrappers leave the register alone."""
    if os.uname().machine != 'x86_64':
        return False
    return b'-DSPY_KEEPS_RBP' in subprocess.run(['make', '-n', 'V=1', '-W', 'shim/hook/wrappers_hand.c', f'O={BUILD}', 'shim'], cwd=ROOT,
                                                stdout=subprocess.PIPE).stdout


@pytest.mark.parametrize('sites, gpu, build', [('on', 'sample', 'make'), ('all', 'off', 'make'), ('all', 'off', 'unoptimized')])
def test_frames_above_a_launch(compile_c, run, sites, gpu, build):
    """Of each way to launch, nested 0 to 6 deep, in the first thread and another: what backtrace() says at the same place."""
    if not keeps_rbp():
        pytest.skip('no -ffixed-rbp: launches have their caller alone')
    program = compile_c(LAUNCHES, '-g', '-O1', *FRAMES, f'-I{ROOT}', '-lcuda', '-lpthread', '-Wl,--build-id', '-Wl,-z,noseparate-code')
    r = run(program, 3000, 1, preload=(built(build),), CUDASPY_SITES=sites, CUDASPY_GPU=gpu, CUDASPY_BUDGET=50)
    assert r.status == 0, r.err
    found = set(launch_sites(r, program))
    told = told_by_backtrace(r.out, program, program.stat().st_size)
    # The compiler may or may not give each way a place of its own.
    assert all(sum(a == api for a, _ in told) == 14 for api in ('cuLaunchKernel', 'cuLaunchKernelEx', 'cuGraphLaunch')), told
    in_work = {site for site in found if len(site[1]) > 1} # not what main() captures
    assert in_work and in_work <= told
    if sites == 'all':
        assert in_work == told


@pytest.mark.parametrize('flags', [FRAMES, ('-fomit-frame-pointer',)], ids=['frames', 'none'])
def test_launches_by_threads_and_signals(compile_c, run, flags):
    """100,000 stacks and more while signals come at any time; without frame pointers no frame that is none."""
    program = compile_c(LAUNCHES, '-g', '-O1', *flags, f'-I{ROOT}', '-lcuda', '-lpthread', '-Wl,--build-id', '-Wl,-z,noseparate-code')
    r = run(program, 10000, 3, 'signals', CUDASPY_SITES='all', SIM_COST=0)
    assert r.status == 0, r.err
    found = launch_sites(r, program)
    assert sum(found.values()) + r.report['sites_left_out'] > 100000
    told = told_by_backtrace(r.out, program, program.stat().st_size)
    if flags == FRAMES:
        assert {site for site in found if len(site[1]) > 1} == told
    for api, stack in found:
        assert any(api == a and is_part(stack, whole) for a, whole in told) or len(stack) < 2, stack


HEADS = """
#include "tests/e2e/programs/sites_ready.h"
#include "tests/e2e/programs/work.h"
#define STAYS __attribute__((noinline, noclone))
extern void framework(void (*f)(void));
STAYS void __device_stub__kernel(void) { CHECK(cuLaunchKernel(work_short, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)); __asm__ volatile(""); }
STAYS void kernel(void) { __device_stub__kernel(); __asm__ volatile(""); }
STAYS void stub_at(void) { kernel(); /* stub_at */ __asm__ volatile(""); }
STAYS void framework_at(void) { framework(NULL); /* framework_at */ __asm__ volatile(""); }
STAYS void callback_at(void) { CHECK(cuCtxSynchronize()); /* callback_at */ __asm__ volatile(""); }
int main(void)
{
	work_start();
	sites_ready();
	for (int i = 0; i < 20; i++) {
		stub_at();
		framework_at();
		framework(callback_at);
	}
	return 0;
}
"""


def test_headlines_of_native_stacks(compile_c, run, tmp_path):
    """The first function outside CUDA, frameworks, and what the compiler makes for a launch; a framework's callback is the program's."""
    compile_c('#include <cuda.h>\nvoid framework(void (*f)(void)) { if (f) f(); else '
              'cuCtxSynchronize(); __asm__ volatile(""); }', '-g', '-O1', *FRAMES, '-lcuda', '-Wl,--build-id', shared=True, name='torch_cuda')
    program = compile_c(HEADS, '-g', '-O1', *FRAMES, f'-I{ROOT}', f'-L{tmp_path}', '-ltorch_cuda', f'-Wl,-rpath,{tmp_path}', '-lcuda', '-Wl,--build-id')
    sites = [s for s in run(program, CUDASPY_SITES='all').report['sites'] if s['seen'] == 20]
    if sites[0]['frames'][0]['function'] is None:
        pytest.skip('elfutils (libdw) is not on this machine: native frames have no names')
    heads = sorted((s['api'], s['frames'][s['headline']]['function'], s['frames'][s['headline']]['line']) for s in sites)
    line = lambda mark: next(n for n, text in enumerate(HEADS.splitlines(), 1) if f'/* {mark} */' in text)
    waits = [('cuCtxSynchronize', at, line(at)) for at in ('callback_at', 'framework_at')]
    assert heads == [*waits, *([('cuLaunchKernel', 'stub_at', line('stub_at'))] if keeps_rbp() else [heads[-1]])]
    assert all(f['library'] for s in sites for f in s['frames'] if f['function'] in ('framework', '__device_stub__kernel'))


def test_wrappers_leave_the_frame_pointer_alone():
    if not keeps_rbp() or not shutil.which('objdump'):
        pytest.skip('no -ffixed-rbp, or no objdump')
    objects = [BUILD / 'gen/wrappers_driver.o', BUILD / 'gen/wrappers_runtime.o', BUILD / 'guest/shim/hook/wrappers_hand.o']
    out = subprocess.run(['objdump', '-d', '--no-show-raw-insn', *objects], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    assert out.count('<cuLaunchKernel>:') == 1 and re.search(r'mov +%rbp,%r', out)
    assert not re.findall(r'.*(?:,%[re]?bpl?|pop +%rbp|leave *)$', out, re.M)
