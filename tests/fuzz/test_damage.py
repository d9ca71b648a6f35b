# SPDX-License-Identifier: Apache-2.0
"""A damaged recording never makes `check` pass where the whole one fails: recordings of real runs, damaged by the thousand.

FUZZ_DAMAGES=10000 pytest tests/fuzz/test_damage.py, or `make fuzz-damage`, is the campaign; `make test` does fewer. FUZZ_SEED=N
draws others.
"""
import os
import re
import subprocess
import time

import pytest

from conftest import BUILD, REPORTER, ROOT, SANITIZED, SHIM, environment, make_sanitized, report

DAMAGES = int(os.environ.get('FUZZ_DAMAGES', '2000'))
SEED = int(os.environ.get('FUZZ_SEED', '1'))
E2E = BUILD / 'tests/e2e'

IN_A_CALL = r'''
#include <pthread.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"
static void *wait(void *unused)
{
	static char host[64];
	CUdeviceptr memory;
	CHECK(cuCtxSetCurrent(work_context));
	CHECK(cuMemAlloc(&memory, 4096));
	work_launches(300);
	for (int i = 0; i < 20; i++)
		CHECK(cuMemcpyHtoD(memory, host, sizeof(host)));
	CHECK(cuCtxSynchronize());
	CHECK(work_launch(work_long, NULL));
	puts("waits");
	fflush(stdout);
	cuCtxSynchronize();
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	char line[16];
	work_start();
	work_launches(100);
	pthread_create(&t, NULL, wait, NULL);
	fgets(line, sizeof(line), stdin);
	return 0;
}
'''


def make(folder, name, *command, status=0, **variables):
    """The recording of a run."""
    path = folder / f'{name}.cudaspy'
    env = environment(folder, CUDASPY_OUT=path, CUDASPY_QUIET=1, SIM_COST=0, **{'CUDASPY_KEEP': 1, **variables})
    p = subprocess.run([str(c) for c in command], env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120)
    assert p.returncode == status, p.stderr
    return path


def killed_amid_calls(folder):
    path = folder / 'killed-threads.cudaspy'
    process = subprocess.Popen([E2E / 'steady', '4'], env=environment(folder, CUDASPY_OUT=path, CUDASPY_KEEP=1), cwd=folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    while report(path)['totals']['launches'] < 2000:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    return path


def left_in_a_call(folder, program):
    """Closed while a thread waits for a kernel of a minute: the seal leaves that thread out."""
    path = folder / 'in-a-call.cudaspy'
    env = environment(folder, CUDASPY_OUT=path, CUDASPY_QUIET=1)
    process = subprocess.Popen([program], env=env, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b'waits\n'
    while not any(f['api'] == 'cuCtxSynchronize' for f in report(path)['processes'][0]['in_flight']):
        time.sleep(0.01)
    process.communicate(b'\n', timeout=60)
    assert process.returncode == 0
    return path


@pytest.fixture
def recordings(tmp_path, compile_c):
    nvtx = {'NVTX_INJECTION64_PATH': SHIM} if (E2E / 'nvtx_ranges').exists() else {}
    made = [
        make(tmp_path, 'closed', E2E / 'steps', '40', 'copy', 'sync'),
        make(tmp_path, 'threads', E2E / 'crowd', '4', '200'),
        make(tmp_path, 'kept', E2E / 'steps', '100', CUDASPY_TRACE=1),
        make(tmp_path, 'sampled', E2E / 'steps', '300', CUDASPY_GPU='sample'),
        make(tmp_path, 'killed', E2E / 'steps', '40', 'kill', status=-9),
        killed_amid_calls(tmp_path),
        left_in_a_call(tmp_path, compile_c(IN_A_CALL, '-lcuda', '-lpthread', '-I', str(ROOT))),
    ]
    if nvtx:
        made.append(make(tmp_path, 'ranges', E2E / 'nvtx_ranges', '20', **nvtx))
        made.append(make(tmp_path, 'killed-ranges', E2E / 'steps', '100', 'kill', status=-9, **nvtx))
    return made


def damage(program, seed, count, recordings, folder):
    p = subprocess.run([program, '-k', folder, str(seed), str(count), *recordings], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True, timeout=3600, env=dict(os.environ, ASAN_OPTIONS='detect_leaks=0'))
    print(p.stdout)
    assert p.returncode == 0, p.stdout + p.stderr
    total = re.search(r'^all +(\d+) +\d+ +(\d+) ', p.stdout, re.MULTILINE)
    assert int(total[1]) == count and int(total[2]) > count // 2, 'most damages are told'


def test_no_damage_makes_a_check_pass(recordings, tmp_path):
    damage(BUILD / 'tests/fuzz/damage', SEED, DAMAGES, recordings, tmp_path)


def test_no_damage_makes_the_reporter_go_wrong(recordings, tmp_path):
    """Some of them under AddressSanitizer and UBSan."""
    make_sanitized(SANITIZED / 'tests/fuzz/damage')
    damage(SANITIZED / 'tests/fuzz/damage', SEED + 1, max(DAMAGES // 8, 100), recordings, tmp_path)


def test_the_program_answers_as_check_does(recordings):
    """It is no judge of its own: the whole recordings fail on the command line too."""
    for path in recordings:
        p = subprocess.run([REPORTER, 'check', '--limit', 'launches <= 5', path], stdout=subprocess.PIPE, timeout=60)
        assert p.returncode == 1, path
        r = report(path)
        assert r['lost']['damaged'] is None, path
