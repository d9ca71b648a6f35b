# SPDX-License-Identifier: Apache-2.0
"""Children, however they are made: each process has its own file or none, and a parent's counts stay its own."""
import json
import subprocess

import pytest

import against_truth
from conftest import ROOT, SHIM, SIM, report
from test_lifecycle import CLOSING, e2e


def truth_of(path):
    return json.loads(subprocess.run([SIM / 'truth', path], stdout=subprocess.PIPE, check=True).stdout)


def pair(r, how):
    """Reports of parent and child, by pid, with the truth of each."""
    reports = {p['processes'][0]['pid']: p for p in map(report, r.recordings)}
    parent = r.truth['pid']
    child, = [pid for pid in reports if pid != parent] or [None]
    return reports[parent], reports.get(child)


def parent_is_exact(parent, r):
    against_truth.assert_same_calls(parent, r.truth)
    assert parent['totals']['launches'] == 20
    assert parent['processes'][0]['state'] == 'complete'
    assert parent['processes'][0]['forked_from'] is None


def test_a_forked_child_without_cuda_leaves_no_file(run):
    r = run(e2e('forks'), 'quiet')
    assert r.status == 0
    parent_is_exact(r.report, r)
    assert CLOSING.match(r.err), r.err


@pytest.mark.parametrize('how', ['fork', '_exit', 'grandchild', 'clone'])
def test_a_forked_child_has_its_own_file(run, how):
    r = run(e2e('forks'), how)
    assert r.status == 0
    parent, child = pair(r, how)
    parent_is_exact(parent, r)
    mine = child['processes'][0]
    assert mine['forked_from'] == parent['processes'][0]['pid']
    assert mine['run_id'] == parent['processes'][0]['run_id']
    assert mine['state'] == ('ended' if how in ('_exit', 'clone') else 'complete')
    assert against_truth.counted(child) == {'cuStreamSynchronize': (5, 5)}
    theirs = truth_of(f'{r.folder}/truth.{mine["pid"]}')
    assert theirs['apis']['cuStreamSynchronize'] == {'calls': 5, 'failed': 5}
    assert child['totals']['calls'] == 5
    if how != 'clone': # a raw clone tells nobody; elsewhere the window begins with the process
        assert child['window_ns'] >= 200e6
    assert child['window_ns'] <= child['wall_ns'] <= parent['wall_ns']
    assert child['kernels'] == [] or not sum(k['launches'] for k in child['kernels'])


@pytest.mark.parametrize('how', ['exec', 'vfork', 'spawn'])
def test_a_child_that_is_another_program(run, how):
    r = run(e2e('forks'), how)
    assert r.status == 0
    parent, child = pair(r, how)
    parent_is_exact(parent, r)
    assert child['processes'][0]['forked_from'] is None
    assert child['processes'][0]['state'] == 'complete'
    assert child['totals']['launches'] == 3
    assert child['totals']['calls'] == 9
    assert r.err.count('\n') == 2


def test_the_end_of_a_vfork_child_is_none_of_ours(run, compile_c):
    """Where what it should become cannot be run it calls exit(), though it has the memory of its parent, which goes on and has
    no exit handlers any more: glibc ran them in the child."""
    program = compile_c('''
        #include "tests/e2e/programs/harm.h"
        int main(void)
        {
            work_start();
            work_launches(100);
            pid_t child = vfork();
            if (!child) {
                execl("/nonexistent", "x", (char *)NULL);
                exit(127);
            }
            end_of(child);
            for (int i = 0; i < 10; i++) {
              work_launches(10000);
              usleep(50000); // the collector takes what the rings have
            }
            return 3;
        }''', f'-I{ROOT}', '-l:libcuda.so.1', '-lpthread')
    r = run(program)
    assert r.status == 3 and not r.err # nobody says that it is complete
    spied = report(r.recordings[0])
    assert spied['processes'][0]['state'] == 'killed'
    assert spied['totals']['launches'] == 100100 and spied['lost']['records'] == 0


def test_exit_in_two_threads(run, compile_c, tmp_path):
    """The second one finds no handlers left, and ends the process amid the first one's: that is no kill."""
    program = compile_c('''
        #include "tests/e2e/programs/harm.h"
        static atomic_bool now;
        static void *ends(void *unused)
        {
            while (!now)
                ;
            usleep(300);
            exit(0);
        }
        int main(void)
        {
            pthread_t t;
            work_start();
            pthread_create(&t, NULL, ends, NULL);
            work_launches(1000);
            now = true;
            return 0;
        }''', f'-I{ROOT}', '-l:libcuda.so.1', '-lpthread')
    states = []
    for _ in range(10):
        known = set(tmp_path.glob('*.cudaspy'))
        assert run(program).status == 0
        new, = set(tmp_path.glob('*.cudaspy')) - known
        states.append(report(new)['processes'][0]['state'])
    # Where the first one loses its CPU between the C library's taking our handler and the handler's first line, nobody knows.
    assert set(states) <= {'complete', 'ended', 'killed'} and states.count('killed') < 4, states


def test_exec_in_place(run):
    """The same pid twice: the second program's file gets another name, the first one's is whole."""
    r = run(e2e('forks'), 'replace')
    assert r.status == 0
    first, second = sorted(r.recordings, key=lambda f: f.name.endswith('-2.cudaspy'))
    assert second.name == first.name.replace('.cudaspy', '-2.cudaspy')
    first, second = report(first), report(second)
    assert (first['totals']['launches'], first['totals']['calls']) == (10, 16)
    assert first['processes'][0]['state'] == 'ended'
    against_truth.assert_same_calls(second, r.truth)
    assert second['totals']['launches'] == 3
    assert first['processes'][0]['pid'] == second['processes'][0]['pid']


def test_a_fork_before_cuda(run):
    r = run(e2e('forks'), 'early')
    assert r.status == 0
    assert len(r.recordings) == 2
    for file in r.recordings:
        one = report(file)
        assert one['totals']['launches'] == 10
        assert one['processes'][0]['forked_from'] is None
        assert one['processes'][0]['state'] == 'complete'


def test_forks_amid_the_calls_of_other_threads(run):
    r = run(e2e('forks'), 'load', SIM_COST=0)
    assert r.status == 0
    reports = {p['processes'][0]['pid']: p for p in map(report, r.recordings)}
    parent = reports.pop(r.truth['pid'])
    against_truth.assert_same_calls(parent, r.truth)
    assert len(reports) == 40
    for child in reports.values():
        assert against_truth.counted(child) == {'cuStreamSynchronize': (5, 5)}
        assert child['processes'][0]['forked_from'] == r.truth['pid']


HELD_LOADER = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
int looking;
static int (*next)(struct dl_phdr_info *, size_t, void *);
static int slowly(struct dl_phdr_info *info, size_t bytes, void *data)
{
	if (!looking) {
		looking = 1;
		usleep(atoi(getenv("LOOK_MS")) * 1000); /* the loader's lock is held */
	}
	return next(info, bytes, data);
}
int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *) = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	char name[16] = "";
	prctl(PR_GET_NAME, name);
	if (strcmp(name, "cudaspy") || looking)
		return real(callback, data);
	next = callback;
	return real(slowly, data);
}
'''
FORKS = r'''
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int version, status, *looking = dlsym(RTLD_DEFAULT, "looking");
	cuInit(0);
	for (int i = 0; looking && !*looking && i < 5000; i++)
		usleep(1000);
	if (!fork()) {
		alarm(20);
		if (getenv("LOOK_SHORT"))
			dlopen("libm.so.6", RTLD_NOW); /* it is the program's own again */
		cuInit(0);
		cuDriverGetVersion(&version);
		exit(3);
	}
	wait(&status);
	return !looking ? 1 : WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
'''


@pytest.mark.parametrize('look_ms', [30, 1500], ids=['a moment', 'long'])
def test_forked_while_the_collector_holds_the_loaders_lock(run, compile_c, look_ms):
    """It walks the list of libraries now and then: a child made amid that would find the loader's lock taken for ever."""
    library = compile_c(HELD_LOADER, '-ldl', name='held_loader', shared=True)
    program = compile_c(FORKS, '-lcuda', '-ldl')
    short = {'LOOK_SHORT': 1} if look_ms < 100 else {}
    # Nobody waits longer than 100 ms for a look's end, and the machine may keep a short one from ending: not again and again.
    tries = 3 if look_ms < 100 else 1
    assert any(run(program, preload=(SHIM, library), LOOK_MS=look_ms, **short).status == 3 for _ in range(tries))
