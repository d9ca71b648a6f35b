# SPDX-License-Identifier: Apache-2.0
"""The recorded path of a call: no system call, nothing asked of the allocator, errno as it was."""
import re
import subprocess

import pytest

from conftest import BUILD, ROOT, SHIM, environment, need

HOT_LOOP = BUILD / 'tests/e2e/hot_loop'
LOOPS = 100000


def calls_of_the_loop(tmp_path):
    """(system calls of the launching thread before the loop's first mark, those between its two marks)"""
    strace = need('strace', 'it shows the system calls of the hot path')
    trace = tmp_path / 'trace'
    env = environment(tmp_path, CUDASPY_RING=1 << 20, SIM_COST=0, SIM_GAP_NS=0) # the simulator's own table stays small
    preload = env.pop('LD_PRELOAD')
    process = subprocess.run([strace, '-f', '-o', trace, '-E', f'LD_PRELOAD={preload}', HOT_LOOP, str(LOOPS)], env=env,
                             cwd=tmp_path, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             universal_newlines=True)
    if 'ptrace' in process.stderr and 'not permitted' in process.stderr:
        pytest.skip(f'tracing is not permitted here: {process.stderr.strip()}')
    assert process.returncode == 0, process.stderr
    lines = trace.read_text().splitlines()
    begin, = [i for i, line in enumerate(lines) if 'loop begins' in line]
    end, = [i for i, line in enumerate(lines) if 'loop ends' in line]
    thread = lines[begin].split()[0]
    # Ends may stand on lines of their own: the mark's, and those of calls that are counted where they begin.
    between = [line for line in lines[begin + 1:end] if not re.search(r'<\.\.\. (write|futex) resumed>', line)]
    return tuple([line for line in part if line.split()[0] == thread] for part in (lines[:begin], between))


def test_no_system_call(tmp_path):
    """Between the two marks the launching thread enters the kernel never, but to wake a collector that sleeps while a
    ring fills to its half (shim/base/collector_wait.h), which a slow machine may see; the collector does, beside it."""
    for _ in range(8):  # a ring that grows in the loop asks for room in the file or has its pages made: when is up to the machine
        before, between = calls_of_the_loop(tmp_path)
        if not any('openat(' in line or 'madvise(' in line for line in between):
            break
    wakes = [line for line in between if 'FUTEX_WAKE_PRIVATE, 2147483647' in line]
    assert len(wakes) <= LOOPS // 4096
    assert [line for line in between if line not in wakes] == []
    # The trace does show this thread's calls: it made many while it started.
    assert len(before) > 50


def test_nothing_asked_of_the_allocator(run):
    r = run('tests/e2e/hot_loop', LOOPS, SIM_COST=0, SIM_GAP_NS=0)
    assert r.status == 0
    assert r.out == 'asked=0\n'
    assert r.report['totals']['launches'] > LOOPS


def test_errno_is_kept(run):
    """Across the call that starts the recording, first calls of threads, growth of rings, full rings."""
    for variables in ({}, {'CUDASPY_RING': 64}, {'CUDASPY_OUT': '/proc/nowhere/x'}, {'CUDASPY_KEEP': 'wrong'}):
        # A truth file left by an earlier run makes the simulator itself look, and change errno.
        r = run('tests/e2e/hot_loop', LOOPS, 'errno', SIM_COST=0, SIM_TRUTH=None, **variables)
        assert r.status == 0
        assert r.out == 'wrong=0\n', variables


# More kernels than a thread's place is made with room for.
MANY_KERNELS = r'''
#include <errno.h>
#include "tests/e2e/programs/work.h"
int main(void)
{
	static char image[16384] = "simcuda 1\n", name[16];
	CUmodule module;
	CUfunction function;
	int wrong = 0;
	for (int i = 0, used = 10; i < 300; i++)
		used += sprintf(image + used, "kernel k%d fixed:1\n", i);
	work_start();
	CHECK(cuModuleLoadData(&module, image));
	for (int i = 0; i < 300; i++) {
		sprintf(name, "k%d", i);
		CHECK(cuModuleGetFunction(&function, module, name));
		errno = 12345;
		CHECK(work_launch(function, NULL));
		wrong += errno != 12345;
	}
	printf("wrong=%d\n", wrong);
	return 0;
}
'''


def test_errno_is_kept_where_the_kernel_refuses(run, compile_c):
    """An older kernel knows no MADV_POPULATE_WRITE, and nobody notices."""
    old = compile_c('''
        #include <errno.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        int madvise(void *p, long n, int what) {
        	if (what != 23)
        		return syscall(SYS_madvise, p, n, what);
        	errno = EINVAL;
        	return -1;
        }''', name='old_kernel', shared=True)
    program = compile_c(MANY_KERNELS, '-lcuda', '-I', str(ROOT))
    r = run(program, SIM_COST=0, SIM_TRUTH=None, preload=(old, SHIM))
    assert r.out == 'wrong=0\n'
    assert len([k for k in r.report['kernels'] if k['launches'] == 1]) == 300
    assert r.report['lost']['calls'] == 0


def test_errno_is_kept_without_cudaspy(run):
    """Else the test above would test the simulated driver."""
    assert run('tests/e2e/hot_loop', LOOPS, 'errno', SIM_COST=0, SIM_TRUTH=None, preload=()).out == 'wrong=0\n'
