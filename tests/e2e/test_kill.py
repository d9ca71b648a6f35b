# SPDX-License-Identifier: Apache-2.0
"""A recording survives SIGKILL at any moment: readable, exact but for the call in flight, which is named.

KILLS=1000 pytest tests/e2e/test_kill.py is the acceptance run; `make test` does fewer.
"""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

import against_truth
from against_truth import peek
from conftest import BUILD, REPORTER, ROOT, SIM, environment, report

KILLS = int(os.environ.get('KILLS', '60'))
STEADY = BUILD / 'tests/e2e/steady'


@pytest.fixture
def start():
    """start(folder, '4') runs the program until it says that its work has begun; none outlives its test."""
    started = []

    def go(folder, *args, ready=True, **variables):
        process = subprocess.Popen([STEADY, *args], env=environment(folder, **variables), cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started.append(process)
        assert not ready or process.stdout.readline() == b'ready\n'
        return process

    yield go
    for process in started:
        process.kill()
        process.communicate()


def end(process):
    process.kill()
    _, err = process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert err == b'', err


def recording_in(folder):
    files = list(folder.glob('*.cudaspy'))
    assert len(files) == 1
    return files[0]


def truth_in(folder):
    text = subprocess.run([SIM / 'truth', folder / 'truth'], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(text)


@pytest.mark.parametrize('part', range(10))
def test_killed_amid_calls(start, tmp_path, part):
    """Four threads that only call, killed up to 50 ms after they began."""
    chance = random.Random(part)
    in_flight = launches = undrained = 0
    for number in range((KILLS + 9 - part) // 10):
        folder = tmp_path / str(number)
        folder.mkdir()
        process = start(folder, '4', SIM_COST=chance.choice((0, 1)))
        time.sleep(chance.uniform(0, 0.05))
        end(process)
        undrained += peek(recording_in(folder))['in_rings']
        spied, truth = report(recording_in(folder)), truth_in(folder)
        against_truth.assert_same_but_in_flight(spied, truth)
        assert spied['processes'][0]['state'] == 'killed'
        assert spied['lost']['damaged'] is None
        in_flight += len(spied['processes'][0]['in_flight'])
        launches += spied['totals']['launches']
        # The reporter drained what the process could not. A call is counted before its record is published, and is said to be
        # under way until then: those alone may have no time.
        under_way = [call['api'] for call in spied['processes'][0]['in_flight']]
        for api in spied['apis']:
            assert api['p50_ns'] is not None or api['calls'] <= under_way.count(api['name']), (api, under_way)
        shutil.rmtree(folder)
    assert launches > 0
    assert in_flight > 0
    assert undrained > 0, 'no kill caught a record that the collector had not taken'


@pytest.mark.parametrize('part', range(4))
def test_killed_while_it_starts(start, tmp_path, part):
    """From the program's first instruction on: no file yet, or one that the reporter reads or says is empty."""
    chance = random.Random(part)
    for number in range(max(KILLS // 12, 3)):
        folder = tmp_path / str(number)
        folder.mkdir()
        process = start(folder, '4', ready=False, SIM_COST=0)
        time.sleep(chance.uniform(0, 0.02))
        end(process)
        for file in folder.glob('*.cudaspy'):
            p = subprocess.run([REPORTER, 'report', '--format', 'json', file], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=60)
            if p.returncode == 0:
                assert json.loads(p.stdout)['processes'][0]['state'] == 'killed'
            else:
                assert p.returncode == 2
                assert p.stderr.count(b'\n') == 1, p.stderr
                with open(file, 'rb') as f:
                    assert f.read(8) in (b'', bytes(8)), 'a recording with its magic in place is readable'


def test_killed_inside_a_long_wait(start, tmp_path):
    begun = time.monotonic()
    process = start(tmp_path, 'wait')
    while not any(t['in_call'] == 'cuCtxSynchronize' for t in truth_in(tmp_path)['threads']):
        time.sleep(0.01)
    inside = time.monotonic()
    time.sleep(1)
    running = report(recording_in(tmp_path))
    waited = time.monotonic() - inside
    assert running['processes'][0]['state'] == 'running'
    call, = running['processes'][0]['in_flight']
    assert call['api'] == 'cuCtxSynchronize'
    assert call['age_ns'] >= 1e9
    assert call['thread'] == process.pid
    time.sleep(1)
    end(process)
    killed_after = time.monotonic() - begun
    killed = report(recording_in(tmp_path))
    assert killed['processes'][0]['state'] == 'killed'
    call, = killed['processes'][0]['in_flight']
    assert call['api'] == 'cuCtxSynchronize'
    # The last sign of life is a beat of the collector, which a busy machine may delay, but not by what is slept here.
    assert waited * 0.5e9 <= call['age_ns'] <= killed_after * 1e9
    assert killed['totals']['syncs'] == 0 # a call that did not return is no call yet
    text = subprocess.run([REPORTER, 'report', '--all', recording_in(tmp_path)], stdout=subprocess.PIPE, check=True).stdout
    assert b'in flight: cuCtxSynchronize' in text


def counts_of(report):
    """What a process can only do more of."""
    counts = collections.Counter({('totals', name): n for name, n in report['totals'].items() if n is not None})
    for table, key, names in (('apis', 'name', ('calls', 'failed')), ('kernels', 'name', ('launches', 'queue_count')),
                              ('works', 'kernel', ('count', 'samples'))):
        for row in report[table] or []: # several may be alike
            counts.update({(table, row[key], name): row[name] or 0 for name in names})
    return counts


@pytest.mark.parametrize('gpu', ['off', 'sample'])
def test_running_process_is_reported_and_not_disturbed(start, tmp_path, gpu):
    """No figure goes back: its collector changes what is read meanwhile, and takes from the same rings."""
    process = start(tmp_path, '4', CUDASPY_GPU=gpu)
    seen, begun = [], time.monotonic()
    while len(seen) < 8 or (seen[-1]['totals', 'launches'] == seen[0]['totals', 'launches'] and time.monotonic() - begun < 60):
        time.sleep(0.02) # the process may stand still as well
        now = report(recording_in(tmp_path))
        assert now['processes'][0]['state'] == 'running'
        assert now['lost']['damaged'] is None
        seen.append(counts_of(now))
    for before, after in zip(seen, seen[1:]):
        assert {key: (n, after.get(key)) for key, n in before.items() if after.get(key, -1) < n} == {}
    assert seen[-1]['totals', 'launches'] > seen[0]['totals', 'launches']
    end(process)
    if gpu == 'off': # else the simulator counts the sampler's calls as well
        against_truth.assert_same_but_in_flight(report(recording_in(tmp_path)), truth_in(tmp_path))


def test_running_process_of_another_pid_namespace(start, tmp_path):
    """As a container's seen from outside, or the other way round: its pid says nothing there."""
    process = start(tmp_path, '2')
    apart = ['unshare', '-pf', '--mount-proc', REPORTER, 'report', '--format', 'json', recording_in(tmp_path)]
    p = subprocess.run(apart, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if p.returncode and b'unshare' in p.stderr:
        pytest.skip(f'no pid namespaces here: {p.stderr.decode().strip()}')
    if subprocess.run(['stat', '-f', '-c', '%T', tmp_path], stdout=subprocess.PIPE).stdout.strip() not in (b'ext2/ext3', b'xfs', b'tmpfs'):
        pytest.skip('this file system does not tell who uses a file')
    for _ in range(5):
        now = json.loads(subprocess.run(apart, stdout=subprocess.PIPE, check=True).stdout)
        assert (now['processes'][0]['state'], now['lost']['damaged']) == ('running', None)
    end(process)
    gone = json.loads(subprocess.run(apart, stdout=subprocess.PIPE, check=True).stdout)
    assert gone['processes'][0]['state'] == 'killed'


LINGERS = r"""
#include <pthread.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"
static volatile int ending;
/* Registered ahead of the shim's handler, and so run after it. */
static void lingers(void)
{
	ending = 1;
	sleep(60);
}
static void *calls(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	while (!ending)
		usleep(100);
	puts("ending");
	fflush(stdout);
	for (;;)
		cuStreamQuery(NULL);
	return NULL;
}
int main(void)
{
	pthread_t t;
	atexit(lingers);
	work_start();
	pthread_create(&t, NULL, calls, NULL);
	work_launches(20000);
	return 0;
}
"""


def test_calls_of_a_process_that_has_closed_it(tmp_path, compile_c):
    """It ends for a while, and another thread calls on: what is read is of no one moment, and no damage."""
    program = compile_c(LINGERS, '-O1', f'-I{ROOT}', '-lcuda', '-lpthread', name='lingers')
    process = subprocess.Popen([program], env=environment(tmp_path), cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    try:
        assert process.stdout.readline() == b'ending\n'
        for _ in range(30):
            now = report(recording_in(tmp_path))
            assert (now['processes'][0]['state'], now['lost']['damaged']) == ('complete', None)
            assert now['totals']['launches'] == 20000
    finally:
        process.kill()
        process.communicate()
    assert report(recording_in(tmp_path))['lost']['damaged'] is None


OUTLIVED = r"""
#include <sys/prctl.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"
int main(void)
{
	work_start();
	work_launches(100);
	if (!fork()) {
		printf("%d\n", (int)getpid());
		fflush(stdout);
	}
	for (;;)
		pause();
}
"""


def test_killed_and_outlived_by_a_child(tmp_path, compile_c):
    """It holds what its parent had mapped, and does not make it run."""
    program = compile_c(OUTLIVED, '-O1', f'-I{ROOT}', '-lcuda', name='outlived')
    process = subprocess.Popen([program], env=environment(tmp_path), cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    child = int(process.stdout.readline())
    try:
        assert report(recording_in(tmp_path))['processes'][0]['state'] == 'running'
        process.kill()
        process.wait()
        killed = report(recording_in(tmp_path))
        assert (killed['processes'][0]['state'], killed['totals']['launches']) == ('killed', 100)
    finally:
        os.kill(child, signal.SIGKILL)
        process.communicate()
