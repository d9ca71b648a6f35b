# SPDX-License-Identifier: Apache-2.0
"""Whether a process runs, was killed or has ended: the kernel's word, not a guess."""
import os
import signal
import subprocess
import time

import pytest

from conftest import BUILD, ROOT, environment, report


@pytest.fixture
def start(tmp_path):
    """start(program, ...) until it says that it is ready; its process and its recording."""
    started = []

    def go(*command):
        process = subprocess.Popen([str(c) for c in command], env=environment(tmp_path), cwd=tmp_path, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b'ready\n'
        path, = tmp_path.glob('*.cudaspy')
        return process, path

    yield go
    for process in started:
        process.kill()
        process.communicate()


def state(path):
    return report(path)['processes'][0]['state']


FIRST_THREAD_ENDS = r"""
#include <pthread.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"
static void *go_on(void *arg)
{
	CHECK(cuCtxSetCurrent(work_context));
	for (;;) {
		work_launches(1);
		usleep(1000);
	}
	return NULL;
}
int main(void)
{
	pthread_t t;
	work_start();
	pthread_create(&t, NULL, go_on, NULL);
	puts("ready");
	fflush(stdout);
	pthread_exit(NULL);
}
"""


def test_a_process_whose_first_thread_has_ended(start, compile_c):
    process, path = start(compile_c(FIRST_THREAD_ENDS, '-lcuda', '-lpthread', '-I', str(ROOT)))
    deadline = time.monotonic() + 10
    while open(f'/proc/{process.pid}/stat').read().rsplit(')', 1)[1].split()[0] != 'Z':
        assert time.monotonic() < deadline
    assert state(path) == 'running'


def test_killed_and_nobody_has_asked(start):
    """It waits for its parent as a zombie."""
    process, path = start(BUILD / 'tests/e2e/steady', '1')
    assert state(path) == 'running'
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert state(path) == 'killed'


def test_killed_a_moment_ago(start):
    """SIGKILL was sent: it is as good as dead, whether it has noticed or not."""
    process, path = start(BUILD / 'tests/e2e/steady', '16')
    process.send_signal(signal.SIGKILL)
    assert state(path) == 'killed'


def test_stopped(start):
    process, path = start(BUILD / 'tests/e2e/steady', '1')
    process.send_signal(signal.SIGSTOP)
    assert state(path) == 'running'
