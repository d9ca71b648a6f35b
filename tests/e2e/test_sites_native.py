# SPDX-License-Identifier: Apache-2.0
"""Call sites of native code: frames by frame pointers, names by debug information and by maps of code that was made."""
import os
import time

import pytest

from call_sites import NATIVE, text_of
from conftest import BUILD, ROOT, report
from lookup_answers import built


def test_native_frames(compile_c, run):
    program = compile_c(NATIVE, '-g', '-O1', f'-I{ROOT}', '-lcuda', '-Wl,--build-id')
    r = run(program, CUDASPY_GPU='sample').report
    waits = [s for s in r['sites'] if s['kind'] == 'wait']
    assert len(waits) == 1 and waits[0]['api'] == 'cuStreamSynchronize'
    frame, = waits[0]['frames']
    assert frame['language'] == 'native' and frame['module'] == str(program)
    if frame['function'] is None:
        pytest.skip('elfutils (libdw) is not on this machine: native frames have no names')
    assert frame['function'] == 'wait_here'
    assert frame['line'] == NATIVE.splitlines().index('	CHECK(cuStreamSynchronize(stream)); /* the line */') + 1


CHAIN = r'''
#define _GNU_SOURCE
#include <pthread.h>
#include <ucontext.h>
#include "tests/e2e/programs/sites_ready.h"
#include "tests/e2e/programs/work.h"
#define STAYS __attribute__((noinline, noclone))
static CUstream stream;
STAYS void innermost(void)
{
	CHECK(cuStreamSynchronize(stream)); /* innermost */
	__asm__ volatile("");
}
static inline __attribute__((always_inline)) void inlined(void)
{
	innermost(); /* inlined */
	__asm__ volatile("");
}
STAYS void middle(void)
{
	inlined(); /* middle */
	__asm__ volatile("");
}
STAYS void outer(int n)
{
	if (n)
		outer(n - 1);
	else
		middle(); /* outer */
	__asm__ volatile("");
}
static void *thread(void *p)
{
	CHECK(cuCtxSetCurrent(work_context));
	for (int i = 0; i < 10; i++)
		outer(0);
	__asm__ volatile("");
	return p;
}
static ucontext_t here, there;
static void other(void)
{
	for (int i = 0; i < 10; i++)
		outer(1);
}
int main(void)
{
	pthread_t t;
	static char stack[1 << 18];
	work_start();
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	sites_ready();
	for (int i = 0; i < 10; i++)
		outer(2);
	outer(60);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	makecontext(&there, other, 0);
	swapcontext(&here, &there);
	return 0;
}
'''


@pytest.mark.parametrize('build', ['make', 'unoptimized', 'clang'])
def test_native_stacks_by_frame_pointers(compile_c, run, build):
    """Of the first thread, of others; not of a stack of the program's own; deep ones are cut."""
    program = compile_c(CHAIN, '-g', '-O1', '-fno-omit-frame-pointer', '-fno-optimize-sibling-calls', f'-I{ROOT}', '-lcuda', '-lpthread',
                        '-Wl,--build-id')
    sites = [s for s in run(program, preload=(built(build),), CUDASPY_SITES='all').report['sites'] if s['api'] == 'cuStreamSynchronize']
    if sites[0]['frames'][0]['function'] is None:
        pytest.skip('elfutils (libdw) is not on this machine: native frames have no names')
    own = lambda s: [f['function'] for f in s['frames'] if f['module'] == str(program)]
    by_stack = {tuple(own(s)): s for s in sites}
    begin = 'innermost', 'inlined', 'middle'
    wanted = {(*begin, *['outer'] * 3, 'main'): 10, (*begin, 'outer', 'thread'): 10, ('innermost',): 10,
              (*begin, *['outer'] * 30): 1}
    assert {stack: s['seen'] for stack, s in by_stack.items()} == wanted
    lines = {f['function']: f['line'] for f in by_stack[(*begin, *['outer'] * 3, 'main')]['frames'][:4]}
    assert lines == {name: next(n for n, line in enumerate(CHAIN.splitlines(), 1) if f'/* {name} */' in line)
                     for name in (*begin, 'outer')}
    assert [s['frames_cut'] for stack, s in by_stack.items() if len(stack) > 20] == [True]


HOSTILE = r'''
#include <stdlib.h>
#include <sys/mman.h>
#include "tests/e2e/programs/work.h"
static CUstream stream;
static CUgraphExec graph;
/* Calls with anything in the register that other programs keep their frame in. */
__attribute__((noinline)) static void call_with(uintptr_t frame, void *f, void *first, void *second)
{
	__asm__ volatile("mov %1, %%rdi\n\tmov %3, %%rsi\n\tmov %2, %%rax\n\tmov %%rsp, %%rbx\n\tand $-16, %%rsp\n\tpush %%rbp\n\tpush %%rbp\n\t"
	                 "mov %0, %%rbp\n\tcall *%%rax\n\tpop %%rbp\n\tpop %%rbp\n\tmov %%rbx, %%rsp"
	                 :: "r"(frame), "r"(first), "r"(f), "r"(second)
	                 : "rax", "rbx", "rdi", "rsi", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
}
static void *mischief(void *p)
{
	unsigned seed = (unsigned)(uintptr_t)p;
	uintptr_t words[64] __attribute__((aligned(16)));
	CHECK(cuCtxSetCurrent(work_context));
	for (int i = 0; i < 4000; i++) {
		uintptr_t here = (uintptr_t)words;
		for (int k = 0; k < 64; k++)
			words[k] = rand_r(&seed) % 3 ? here + rand_r(&seed) % 4096 / 8 * 8 : rand_r(&seed) % 2 ? (uintptr_t)malloc + rand_r(&seed) % 64
			                             : (uintptr_t)rand_r(&seed) * rand_r(&seed);
		uintptr_t frames[] = {0, 1, ~0ul, here, here + 8, here + 16 * (rand_r(&seed) % 32), here - 4096, here + (1 << 20),
		                      here + (rand_r(&seed) % (16 << 20)) / 16 * 16, (uintptr_t)rand_r(&seed) << rand_r(&seed) % 33,
		                      (uintptr_t)p, 1ul << 47, (uintptr_t)mmap};
		uintptr_t frame = frames[rand_r(&seed) % (sizeof(frames) / sizeof(frames[0]))];
		if (i % 2)
			call_with(frame, cuGraphLaunch, graph, stream);
		else
			call_with(frame, cuStreamSynchronize, stream, NULL);
	}
	return NULL;
}
int main(void)
{
	pthread_t t[3];
	work_start();
	CUgraph g;
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CHECK(work_launch(work_short, stream));
	CHECK(cuStreamEndCapture(stream, &g));
	CHECK(cuGraphInstantiate(&graph, g, 0));
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, mischief, (void *)(uintptr_t)(i + 1));
	mischief((void *)9ul);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
'''


def test_frame_pointers_that_are_none(compile_c, run):
    """Whatever the register holds, nothing is read that is not there."""
    if os.uname().machine != 'x86_64':
        pytest.skip('assembler of x86-64')
    program = compile_c('#include <pthread.h>\n' + HOSTILE, '-O1', '-fomit-frame-pointer', '-mno-red-zone', f'-I{ROOT}', '-lcuda', '-lpthread')
    r = run(program, CUDASPY_SITES='all', SIM_COST=0)
    assert r.status == 0, r.err
    for api in 'cuStreamSynchronize', 'cuGraphLaunch':
        assert sum(s['seen'] for s in r.report['sites'] if s['api'] == api) + r.report['sites_left_out'] > 5000


JIT = r'''
#include <string.h>
#include <sys/mman.h>
#include "tests/e2e/programs/work.h"
int main(int count, char **args)
{
	/* sub $8, %rsp; movabs $function, %rax; call *%rax; add $8, %rsp; ret */
	unsigned char code[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *function = cuCtxSynchronize;
	char path[64];
	memcpy(code + 6, &function, 8);
	memcpy(p, code, sizeof(code));
	work_start();
	for (int i = 0; i < 10; i++)
		CHECK(((CUresult(*)(void))p)());
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	FILE *map = fopen(path, "w");
	fprintf(map, "%lx 1000 replaced\\n%lx 15 julia_step!_12\\x1b[31m\\nno line\\n%lx\\n-1 ffffffffffffffff x\\n%lx %lx overflows\\n"
	        "ffffffffffffffffffffff 1 large\\n%lx 0 empty\\n", (long)p, (long)p, (long)p, (long)p, ~0l, (long)p);
	fclose(map);
	puts(path);
	return 0;
}
'''


def test_names_of_code_that_was_made(compile_c, run, tmp_path):
    """Of a map that the program wrote; lines that are none are skipped, an older file is not its own, others' links are not followed."""
    if os.uname().machine != 'x86_64':
        pytest.skip('code of x86-64')
    program = compile_c('#include <stdio.h>\n#include <unistd.h>\n' + JIT.replace('\\\\', '\\'), '-O1', f'-I{ROOT}', '-lcuda')
    r = run(program, CUDASPY_SITES='all')
    path = r.out.strip()

    def first():
        wait, = [s for s in report(r.recording)['sites'] if s['kind'] == 'wait']
        return wait['frames'][0]
    try:
        frame = first()
        assert frame['module'] == path and frame['function'].startswith('julia_step!_12') and '\x1b' not in text_of(r.recording)
        assert 'julia_step!_12' in text_of(r.recording, '--sites')
        os.utime(path, (1, 1))
        assert first()['function'] is None
        text = open(path, 'rb').read()
        with open(path, 'wb') as file:
            file.write(text + os.urandom(4096) + b'\n' + text[:20])
        assert first()['function']
        (tmp_path / 'target').write_bytes(text)
        os.unlink(path)
        os.symlink(tmp_path / 'target', path)
        assert first()['function'] is None
        os.unlink(path)
        os.mkfifo(path) # opening it would wait
        assert first()['function'] is None
        os.unlink(path)
        os.mkdir(path)
        assert first()['function'] is None
        os.rmdir(path)
        with open(path, 'wb') as file: # as many lines as there may be, in the worst order, and the one that counts
            file.write(b''.join(b'%x 1 a\n' % (i * 7919 % 0x7fffff) for i in range(5000000)) + text)
        start = time.monotonic()
        assert first()['function']
        assert time.monotonic() - start < 60
        os.truncate(path, 65 << 20)
        assert first()['function'] is None
        if os.geteuid() == 0:
            with open(path, 'wb') as file:
                file.write(text)
            assert first()['function']
            os.chown(path, 12345, 12345)
            assert first()['function'] is None
    finally:
        os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def test_a_foreign_file_gives_no_names(compile_c, run, tmp_path):
    """Another build at the same path."""
    program = compile_c(NATIVE, '-g', '-O1', f'-I{ROOT}', '-lcuda', '-Wl,--build-id')
    recording = run(program).recording
    compile_c(NATIVE.replace('400', '401'), '-g', '-O1', f'-I{ROOT}', '-lcuda', '-Wl,--build-id')
    assert all(f['function'] is None for s in report(recording)['sites'] for f in s['frames'])


FAKE = r'''
unsigned long Py_Version = VERSION;
struct { char cookie[8]; unsigned long version, free_threaded, rest[64]; } _PyRuntime = {"xdebugpy", VERSION, FREE};
long PyCode_Type, PyUnicode_Type, PyBytes_Type;
void *PyGILState_GetThisThreadState(void) { return &PyCode_Type; }
'''


@pytest.mark.parametrize('version, free, said', [
    ('0x031000f0', 0, 'never tried with Python 3.16'), ('0x030800f0', 0, 'never tried with Python 3.8'),
    ('0x030d00f0', 1, 'no GIL'), ('0x030d00f0', 0, 'not where this version has it'),
    ('0x030e00f0', 1, 'no GIL'), ('0x030e00f0', 0, 'not where this version has it')])
def test_python_that_is_not_read(compile_c, run, version, free, said):
    """A library that looks like one."""
    fake = compile_c(FAKE, f'-DVERSION={version}ul', f'-DFREE={free}', name='looks_like_python', shared=True)
    r = run(compile_c(NATIVE, f'-I{ROOT}', '-lcuda', f'-L{fake.parent}', '-Wl,--no-as-needed', '-llooks_like_python'), LD_LIBRARY_PATH=f'{BUILD / "sim"}:{fake.parent}')
    assert said in r.report['sites_python_trouble'], r.report['sites_python_trouble']
    assert r.report['sites']
