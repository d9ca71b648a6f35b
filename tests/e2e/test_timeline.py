# SPDX-License-Identifier: Apache-2.0
"""The timeline of live programs beside what the simulated GPU really did.

In virtual time, so that what differs is the estimate's; short runs have few samples. Exact outcomes are the unit tests'
business (test_timeline*.c).
"""
import signal
import subprocess

import pytest

from conftest import BUILD, ROOT, VIRTUAL_TIME, environment, report

HOST = ('launch', 'back_pressure', 'contention', 'sync_useful', 'sync_wasted', 'copy', 'alloc', 'module', 'other_cuda',
        'outside', 'sampling')


def host(r, *parts):
    return sum(r['host'][f'{part}_ns'] for part in parts)


def assert_divides(r):
    """Times divide without rest; figures are in ns, rounded."""
    assert host(r, *HOST) == pytest.approx(r['window_ns'], abs=100)
    gpu = r['gpu']
    assert sum(gpu['idle_by'].values()) == pytest.approx(gpu['idle_ns'], abs=100)
    assert gpu['busy_ns'] + gpu['idle_ns'] == pytest.approx(r['window_ns'], rel=0.001)


def truth_busy(r):
    return sum(d['busy_ns'] for d in r.truth['devices'])


def test_a_full_queue_is_back_pressure(run):
    r = run('one_big_kernel', CUDASPY_GPU='sample', **VIRTUAL_TIME)
    assert_divides(r.report)
    full = r.truth['totals']['queue_full_ns']
    assert r.report['gpu']['busy_ns'] == pytest.approx(truth_busy(r), rel=0.02)
    assert host(r.report, 'back_pressure') == pytest.approx(full, rel=0.05)
    assert host(r.report, 'launch') < full / 20
    assert host(r.report, 'sync_useful') == pytest.approx(r.truth['totals']['sync_wait_ns'], rel=0.05)


def test_short_launches_leave_the_gpu_idle(run):
    """So many launches that the first ones, of whose time nothing is known until the collector had its turn, are few: of a
    program that runs faster than it says, on a busy machine, one in thirty was seen."""
    r = run('many_tiny_launches', 60000, CUDASPY_GPU='sample', **VIRTUAL_TIME)
    assert_divides(r.report)
    gpu = r.report['gpu']
    assert host(r.report, 'back_pressure') < r.report['window_ns'] / 100
    assert gpu['busy_low_ns'] <= truth_busy(r) <= gpu['busy_high_ns']
    assert gpu['busy_ns'] == pytest.approx(truth_busy(r), rel=0.1)
    assert gpu['idle_by']['launch'] > gpu['idle_ns'] * 0.95
    assert gpu['idle_by']['sync'] < gpu['idle_ns'] / 100


def test_a_wait_in_each_step(run):
    r = run('sync_every_step', CUDASPY_GPU='sample', **VIRTUAL_TIME)
    assert_divides(r.report)
    assert r.report['gpu']['busy_ns'] == pytest.approx(truth_busy(r), rel=0.02)
    assert host(r.report, 'sync_useful', 'sync_wasted') == pytest.approx(r.truth['totals']['sync_wait_ns'], rel=0.05)
    assert host(r.report, 'back_pressure') < r.report['window_ns'] / 100


def test_work_of_one_stream_does_not_overlap(run):
    """Though each copy takes a little longer than the estimate, and the host waits for one with others queued behind it."""
    r = run('copy_not_overlapped', CUDASPY_GPU='sample', SIM_DATA_MIB=0, **VIRTUAL_TIME)
    assert_divides(r.report)
    gpu = r.report['gpu']
    assert gpu['busy_ns'] == pytest.approx(truth_busy(r), rel=0.02)
    assert gpu['overlap_possible_ns'] > gpu['busy_ns'] / 4
    assert gpu['overlap_ns'] < gpu['overlap_possible_ns'] / 20


def test_work_of_one_class_may_differ(run, compile_c):
    """Of five launches of one kernel in a step, one takes four times as long as the others, beside them: the waits tell."""
    program = compile_c('''
        #include "tests/e2e/programs/work.h"
        static void turn(CUfunction f, CUstream s, unsigned rounds)
        {
            CUdeviceptr value = 0;
            void *arguments[] = {&value, &rounds};
            CHECK(cuLaunchKernel(f, 1, 1, 1, 256, 1, 1, 0, s, arguments, NULL));
        }
        int main(void)
        {
            static const char image[] = "simcuda 1\\nkernel chain arg:1:2\\n";
            CUmodule module;
            CUfunction chain;
            CUstream turns, beside;

            work_start();
            CHECK(cuModuleLoadData(&module, image));
            CHECK(cuModuleGetFunction(&chain, module, "chain"));
            CHECK(cuStreamCreate(&turns, CU_STREAM_NON_BLOCKING));
            CHECK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
            for (int i = 0; i < 1000; i++) {
                turn(chain, beside, 100000);
                for (int t = 0; t < 4; t++) {
                    turn(chain, turns, 25000);
                    CHECK(cuCtxSynchronize());
                }
            }
        }''', f'-I{ROOT}', '-lcuda')
    r = run(program, CUDASPY_GPU='sample', **VIRTUAL_TIME)
    assert_divides(r.report)
    gpu = r.report['gpu']
    assert gpu['busy_low_ns'] < truth_busy(r) < gpu['busy_high_ns']
    assert gpu['busy_ns'] == pytest.approx(truth_busy(r), rel=0.15)


def test_a_host_that_waits_outside_of_cuda(run, compile_c):
    """Twenty kernels a step, and the host sleeps until they are done: no wait tells how long the first ones took, before one
    was timed. What comes behind the last step is none of the loop's, though a wait comes behind that."""
    program = compile_c('''
        #include <time.h>
        #include "tests/e2e/programs/work.h"
        int main(void)
        {
            static const char image[] = "simcuda 1\\nkernel chain arg:1:2\\nkernel other arg:1:2\\n";
            struct timespec step = {.tv_nsec = 184 * 1000000}, rest = {.tv_nsec = 90 * 1000000};
            CUmodule module;
            CUfunction chain, other;
            CUstream stream;
            CUdeviceptr value;
            unsigned host, rounds = 4500000, few = 5;
            void *arguments[] = {&value, &rounds}, *last[] = {&value, &few};

            work_start();
            CHECK(cuModuleLoadData(&module, image));
            CHECK(cuModuleGetFunction(&chain, module, "chain"));
            CHECK(cuModuleGetFunction(&other, module, "other"));
            CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
            CHECK(cuMemAlloc(&value, 4096));
            for (int i = 0; i < 12; i++) {
                for (int k = 0; k < 20; k++)
                    CHECK(cuLaunchKernel(chain, 1, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
                nanosleep(&step, NULL);
                CHECK(cuMemcpyDtoHAsync(&host, value, 4, stream));
            }
            nanosleep(&rest, NULL);
            CHECK(cuLaunchKernel(other, 1, 1, 1, 256, 1, 1, 0, stream, last, NULL));
            nanosleep(&rest, NULL);
            CHECK(cuLaunchKernel(other, 1, 1, 1, 256, 1, 1, 0, stream, last, NULL));
            CHECK(cuStreamSynchronize(stream));
        }''', f'-I{ROOT}', '-lcuda')
    r = run(program, CUDASPY_GPU='sample', **VIRTUAL_TIME)
    loop, = [phase for phase in r.report['phases'] if phase['kind'] == 'loop']
    gpu = loop['gpu']
    assert loop['time_ns'] == pytest.approx(loop['steps'] * 184e6, rel=0.01)
    assert gpu['busy_share_low'] < 20 * 9000750 / 184e6 < gpu['busy_share_high']
    assert gpu['busy_share_low'] > 0.95
    assert r.report['verdict']['class'] == 'gpu-bound'


def test_events_fill_no_queue(run):
    """Two streams wait for each other's events, four calls for each launch: launches alone fill their queues."""
    r = run('exposed_allreduce_fixed', 2000, CUDASPY_GPU='sample', **VIRTUAL_TIME)
    assert_divides(r.report)
    assert r.report['gpu']['busy_ns'] == pytest.approx(truth_busy(r), rel=0.06)  # kernels of one class differ, few are sampled
    totals = r.truth['totals']
    itself = totals['queue_full'] * 2500  # what a launch that waits takes besides
    assert host(r.report, 'back_pressure') == pytest.approx(totals['queue_full_ns'] - itself, rel=0.02)
    assert host(r.report, 'contention') == 0


@pytest.mark.parametrize('program, steps', [('sync_every_step_fixed', 20000), ('memory_growth_fixed', 2000),
                                            ('strided_copy_fixed', 600)])
def test_copies_and_sets_wait_for_the_queue_too(run, program, steps):
    """The host is ahead of the GPU by a queue that launches fill with other calls: that they wait is no cost of theirs.
    So many steps that the first ones, of whose time nothing is known yet (5 to 10 ms), are few."""
    r = run(program, steps, CUDASPY_GPU='sample', **VIRTUAL_TIME)
    assert_divides(r.report)
    assert r.report['gpu']['busy_ns'] == pytest.approx(truth_busy(r), rel=0.03)
    calls = sum(r.report['totals'][what] for what in ('launches', 'copies', 'sets'))
    assert host(r.report, 'launch', 'copy', 'contention') < calls * 2700  # each takes 2.5 us by itself


def check_divides(r):
    assert r.status == 0
    assert_divides(r.report)
    assert 0 < r.report['gpu']['busy_ns'] < r.report['window_ns']
    assert r.report['gpu']['idle_by']['unknown'] == 0


@pytest.mark.parametrize('program', ['alloc_every_step', 'graph_replay', 'pageable_copies', 'pinned_overlap', 'streams',
                                     'vector_add'])
def test_times_divide_whatever_the_program_does(run, program):
    check_divides(run(program, CUDASPY_GPU='sample', **VIRTUAL_TIME))


def test_times_divide_of_several_threads(run):
    """In real time, where a first sample that loses its CPU costs a thread all others of a run this short: not with this budget."""
    check_divides(run('threads', CUDASPY_GPU='sample', CUDASPY_BUDGET=50))


def test_off(run):
    r = run('one_big_kernel', CUDASPY_GPU='off')
    assert r.report['gpu']['busy_ns'] is None
    assert r.report['host']['back_pressure_ns'] is None
    assert r.report['host']['outside_ns'] > 0


def test_killed(tmp_path):
    """What the killed process booked and what the reporter adds divide as well; what was under way is lost, not made up."""
    process = subprocess.Popen([BUILD / 'tests/e2e/steady', '2'], cwd=tmp_path, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(tmp_path, CUDASPY_GPU='sample'))
    try:
        assert process.stdout.readline() == b'ready\n'
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    file, = tmp_path.glob('*.cudaspy')
    assert_divides(report(file))
