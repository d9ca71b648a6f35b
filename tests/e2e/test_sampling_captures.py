# SPDX-License-Identifier: Apache-2.0
"""CUDASPY_GPU=sample on the simulated CUDA: nothing of the sampler's gets into a capture, whoever makes it and however it
ends (tests/e2e/sampled.py)."""
import pytest

from conftest import ROOT
from sampled import CAPTURES, own_calls, sample  # noqa: F401 (a fixture)


@pytest.mark.parametrize('mode', ['global', 'thread', 'relaxed'])
def test_captures_while_others_sample(sample, mode):
    """102 captures in three threads, two more threads launch all the time: no graph is spoilt or has a foreign node."""
    r, s = sample(mode, 34, 3, 2, 1, program=CAPTURES)
    assert r.out == 'valid=102 spoilt=0 failed=0\n'
    assert s.taken > 0
    assert s.trouble['SAMPLING_OFF'] == 0
    assert r.truth['totals']['captured'] == 102 * 7
    assert r.truth['totals']['graph_kernels'] == 102 * 7


@pytest.mark.parametrize('mode', ['global', 'thread', 'relaxed'])
def test_captures_of_one_thread_that_samples_itself(sample, mode):
    r, s = sample(mode, 100, 1, 0, 1, program=CAPTURES)
    assert r.out == 'valid=100 spoilt=0 failed=0\n'
    assert s.taken > 0
    assert s.trouble['SAMPLING_OFF'] == 0


def test_captures_with_the_time_of_calls(sample):
    """With calls that take as long as on a GPU there is more to get in between."""
    r, s = sample('global', 34, 3, 2, 1, program=CAPTURES, SIM_COST=1)
    assert r.out == 'valid=102 spoilt=0 failed=0\n'
    assert s.trouble['SAMPLING_OFF'] == 0


def test_no_context_whose_first_launch_came_beside_a_capture(sample):
    """Our code could not be loaded ahead of it: the context is never sampled, and the report says so."""
    r, s = sample('global', 50, 1, 0, 0, program=CAPTURES)
    assert r.out == 'valid=50 spoilt=0 failed=0\n'
    assert s.taken == 0 and s.trouble['SAMPLING_OFF'] == 1
    assert 'cuModuleLoadDataEx' not in own_calls(r)


@pytest.mark.parametrize('captures, ended', [(0, 0), (1, 0), (70, 10), (300, 0)])
def test_captures_that_end_with_their_stream(sample, compile_c, captures, ended):
    """Sampling goes on afterwards, however many were under way at a time."""
    program = compile_c('''
        #include "tests/e2e/programs/work.h"
        int main(int argc, char **argv)
        {
            CUstream stream[300];
            int captures = atoi(argv[1]), ended = atoi(argv[2]);
            CUgraph graph;
            work_start();
            work_launches(1);
            for (int i = 0; i < captures; i++) {
                CHECK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
                CHECK(cuStreamBeginCapture(stream[i], CU_STREAM_CAPTURE_MODE_RELAXED));
                CHECK(work_launch(work_short, stream[i]));
            }
            for (int i = 0; i < captures; i++) {
                if (i >= captures - ended)
                    CHECK(cuStreamEndCapture(stream[i], &graph));
                CHECK(cuStreamDestroy(stream[i]));
            }
            for (int i = 0; i < 3000; i++) {
                work_launches(1);
                CHECK(cuCtxSynchronize());
            }
            return 0;
        }''', f'-I{ROOT}', '-l:libcuda.so.1')
    r, s = sample(captures, ended, program=program)
    assert r.status == 0, r.out
    assert s.trouble['CAPTURES'] == captures - ended
    assert s.taken > 10
    assert r.report['totals']['captured'] == captures


@pytest.mark.parametrize('other', [0, 1])
@pytest.mark.parametrize('how', ['destroy', 'reset', 'release'])
def test_captures_that_end_with_their_context(sample, compile_c, how, other):
    """Sampling goes on in the next one. Another context's capture is under way all the same, on the same device too, and that
    another one was current when it began."""
    program = compile_c('''
        #include <string.h>
        #include "tests/e2e/programs/work.h"
        CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
        int main(int argc, char **argv)
        {
            int primary = strcmp(argv[1], "destroy");
            CUcontext context;
            CUstream stream[2];
            CUdevice device;
            CUgraph graph;
            CUcontext beside;
            work_start();
            CHECK(cuDeviceGet(&device, 1));
            if (atoi(argv[2]))
                CHECK(cuCtxCreate_v2(&beside, 0, device));
            CHECK(cuStreamCreate(&stream[0], CU_STREAM_NON_BLOCKING));
            if (primary) {
                CHECK(cuDevicePrimaryCtxRetain(&context, device));
                CHECK(cuCtxSetCurrent(context));
            } else {
                CHECK(cuCtxCreate_v2(&context, 0, device));
            }
            CHECK(cuStreamCreate(&stream[1], CU_STREAM_NON_BLOCKING));
            CHECK(cuStreamBeginCapture(stream[1], CU_STREAM_CAPTURE_MODE_RELAXED));
            CHECK(cuStreamBeginCapture(stream[0], CU_STREAM_CAPTURE_MODE_RELAXED));
            CHECK(cuCtxSetCurrent(work_context));
            if (!strcmp(argv[1], "reset"))
                CHECK(cuDevicePrimaryCtxReset(device));
            else if (primary)
                CHECK(cuDevicePrimaryCtxRelease(device));
            else
                CHECK(cuCtxDestroy(context));
            CHECK(cuStreamEndCapture(stream[0], &graph));
            for (int i = 0; i < 3000; i++) {
                work_launches(1);
                CHECK(cuCtxSynchronize());
            }
            return 0;
        }''', f'-I{ROOT}', '-l:libcuda.so.1')
    r, s = sample(how, other, program=program, SIM_DEVICES=2)
    assert r.status == 0, r.out
    assert s.trouble['CAPTURES'] == 1
    assert s.taken > 10
