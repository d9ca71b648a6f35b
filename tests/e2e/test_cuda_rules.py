# SPDX-License-Identifier: Apache-2.0
"""What shim/core/cuda says of CUDA, on one recording: the simulated driver, the timeline and the replay agree.

The simulated driver was held against a GPU by tests/gpu/hold_facts.cu; its count of what happened is the truth. The timeline
must come to its waits and its busy time, and the replay, unchanged, to the time that the program took. In virtual time.
"""
import pytest

from conftest import ROOT, VIRTUAL_TIME, report

STEPS = 1000  # a kernel is first timed some milliseconds after it is first met, and only guessed until then
PROGRAM = '''
#include "tests/e2e/programs/work.h"

#define BYTES (size_t)(%(bytes)s)

static void nothing(void *data)
{
}

int main(void)
{
	CUmodule module;
	CUfunction kernel;
	CUstream a, b, blocking, other;
	CUevent mark;
	CUgraph definition;
	CUgraphExec graph;
	CUdeviceptr device, managed;
	void *pageable = calloc(1, BYTES), *pinned;

	work_start();
	CHECK(cuModuleLoadData(&module, "simcuda 1\\nkernel work fixed:100000\\n"));
	CHECK(cuModuleGetFunction(&kernel, module, "work"));
	CHECK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	CHECK(cuStreamCreate(&other, CU_STREAM_DEFAULT));
	CHECK(cuEventCreate(&mark, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&device, BYTES));
	CHECK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
	CHECK(cuMemAllocHost(&pinned, BYTES));
	CHECK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK(work_launch(kernel, a));
	CHECK(cuStreamEndCapture(a, &definition));
	CHECK(cuGraphInstantiate(&graph, definition, 0));
	for (int i = 0; i < %(steps)d; i++) {
		%(step)s
	}
	CHECK(cuCtxSynchronize());
	return 0;
}
'''
# The host does not wait, and does not run ahead either.
ASKED = '''
        while (cuStreamQuery(%s) == CUDA_ERROR_NOT_READY)
            ;'''
# By rule: the step, the bytes of its copies, and whether the host waits in it for the kernel of 100 us.
RULES = {
    'a stream that only waits for an event': ('''
        CHECK(work_launch(kernel, a));
        CHECK(cuEventRecord(mark, a));
        CHECK(cuStreamWaitEvent(b, mark, 0));
        CHECK(cuStreamSynchronize(b));''', '4096', True),
    'an event on the legacy stream behind a blocking one': ('''
        CHECK(work_launch(kernel, blocking));
        CHECK(cuEventRecord(mark, NULL));
        CHECK(cuEventSynchronize(mark));''', '4096', True),
    'an event on a blocking stream behind the legacy one': ('''
        CHECK(work_launch(kernel, blocking));
        CHECK(work_launch(kernel, NULL));
        CHECK(cuEventRecord(mark, blocking));
        CHECK(cuEventSynchronize(mark));''', '4096', True),
    'a blocking stream behind an event on the legacy one': ('''
        CHECK(work_launch(kernel, blocking));
        CHECK(cuEventRecord(mark, NULL));
        CHECK(work_launch(kernel, other));
        CHECK(cuStreamSynchronize(other));''', '4096', True),
    'a staged copy to the device behind a kernel': ('''
        CHECK(work_launch(kernel, a));
        CHECK(cuMemcpyHtoDAsync(device, pageable, BYTES, a));
        if (i % 2)
            CHECK(cuStreamSynchronize(a));''', '256 << 10', True),
    'a copy to the device that needs all buffers and more': ('''
        CHECK(work_launch(kernel, a));
        CHECK(cuMemcpyHtoDAsync(device, pageable, BYTES, a));''', '3 << 20', True),
    'a blocking copy of managed memory': ('''
        CHECK(work_launch(kernel, NULL));
        CHECK(cuMemcpy(managed, device, BYTES));''', '64 << 10', True),
    'a free': ('''
        CUdeviceptr more;
        CHECK(cuMemAlloc(&more, BYTES));
        CHECK(work_launch(kernel, a));
        CHECK(cuMemFree(more));''', '1 << 20', True),
    'a set of managed memory behind a blocking stream': ('''
        CHECK(work_launch(kernel, blocking));
        CHECK(cuMemsetD8(managed, 1, BYTES));''', '64 << 10', True),
    'a set of pinned memory behind the legacy stream': ('''
        CHECK(work_launch(kernel, NULL));
        CHECK(cuMemsetD8((CUdeviceptr)pinned, 1, BYTES));''', '64 << 10', True),
    'a set of the device behind the legacy stream': ('''
        CHECK(work_launch(kernel, NULL));
        if (i % 50 == 0)
            CHECK(cuMemsetD8(device, 1, BYTES));
        while (cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY)
            ;''', '64 << 10', False),
    'a copy of managed memory within the device': ('''
        CHECK(work_launch(kernel, NULL));
        CHECK(cuMemcpyDtoD(device, managed, BYTES));''', '64 << 10', True),
    'a host function between kernels': ('''
        CHECK(work_launch(kernel, a));
        CHECK(cuLaunchHostFunc(a, nothing, NULL));
        CHECK(work_launch(kernel, a));
        CHECK(cuStreamSynchronize(a));''', '4096', True),
    'two host functions between kernels': ('''
        CHECK(work_launch(kernel, a));
        CHECK(cuLaunchHostFunc(a, nothing, NULL));
        CHECK(cuLaunchHostFunc(a, nothing, NULL));
        CHECK(work_launch(kernel, a));
        CHECK(cuStreamSynchronize(a));''', '4096', True),
    'an event behind a host function on the legacy stream': ('''
        CHECK(work_launch(kernel, blocking));
        CHECK(cuLaunchHostFunc(NULL, nothing, NULL));
        CHECK(cuEventRecord(mark, NULL));
        CHECK(work_launch(kernel, other));
        CHECK(cuStreamSynchronize(other));''', '4096', True),
    'two copies of one direction': ('''
        CHECK(cuMemcpyHtoDAsync(device, pinned, BYTES, a));
        CHECK(cuMemcpyHtoDAsync(device, pinned, BYTES, b));
        CHECK(cuStreamSynchronize(b));
        CHECK(cuStreamSynchronize(a));''', '8 << 20', True),
    'a wait for all work of the context': ('''
        CHECK(work_launch(kernel, a));
        CHECK(cuCtxSynchronize());''', '4096', True),
    'code that is loaded behind a kernel': ('''
        CUmodule more;
        CHECK(work_launch(kernel, a));
        if (i % 2) {
            CHECK(cuModuleLoadData(&more, "simcuda 1\\nkernel more fixed:100000\\n"));
            CHECK(cuModuleUnload(more));
        }
        CHECK(cuStreamSynchronize(a));''', '4096', True),
    'memory in the order of a stream': ('''
        CUdeviceptr more;
        CHECK(cuMemAllocAsync(&more, BYTES, a));
        CHECK(work_launch(kernel, a));
        CHECK(cuMemFreeAsync(more, a));''' + ASKED % 'a', '4096', False),
    'graphs, streams and events that come and go behind a kernel': ('''
        CUgraphExec made;
        CUstream stream;
        CUevent event;
        CHECK(work_launch(kernel, a));
        CHECK(cuGraphInstantiate(&made, definition, 0));
        CHECK(cuGraphExecDestroy(made));
        CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
        CHECK(cuStreamDestroy(stream));
        CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
        CHECK(cuEventDestroy(event));''' + ASKED % 'a', '4096', False),
    'a copy that travels with its command': ('''
        CHECK(work_launch(kernel, a));
        CHECK(cuMemcpyHtoDAsync(device, pageable, BYTES, a));''' + ASKED % 'a', '64 << 10', False),
    'a copy to the host through buffers': ('''
        CHECK(work_launch(kernel, a));
        CHECK(cuMemcpyDtoHAsync(pageable, device, BYTES, a));''', '64 << 10', True),
    'copies of pinned memory': ('''
        CHECK(work_launch(kernel, a));
        CHECK(cuMemcpyHtoDAsync(device, pinned, BYTES, a));
        CHECK(cuMemcpyDtoHAsync(pinned, device, BYTES, a));''' + ASKED % 'a', '64 << 10', False),
    'a blocking copy of pageable memory': ('''
        CHECK(work_launch(kernel, NULL));
        CHECK(cuMemcpyHtoD(device, pageable, BYTES));''', '64 << 10', True),
    'a blocking copy of pinned memory': ('''
        CHECK(work_launch(kernel, blocking));
        CHECK(cuMemcpyDtoH(pinned, device, BYTES));''', '64 << 10', True),
    'a small set': ('''
        CHECK(work_launch(kernel, a));
        CHECK(cuMemsetD8Async(device, 1, BYTES, a));
        CHECK(cuStreamSynchronize(a));''', '4096', True),
    'two copies of both directions': ('''
        CHECK(cuMemcpyHtoDAsync(device, pinned, BYTES, a));
        CHECK(cuMemcpyDtoHAsync(pinned, device, BYTES, b));
        CHECK(cuStreamSynchronize(b));
        CHECK(cuStreamSynchronize(a));''', '8 << 20', True),
    'a small copy that overtakes a large one': ('''
        CHECK(cuMemcpyHtoDAsync(device, pinned, BYTES, a));
        CHECK(cuMemcpyHtoDAsync(managed, pinned, 4, b));
        CHECK(cuStreamSynchronize(b));
        CHECK(cuStreamSynchronize(a));''', '8 << 20', True),
    'a stream that does not wait for the legacy one': ('''
        CHECK(work_launch(kernel, NULL));
        CHECK(work_launch(kernel, a));
        CHECK(cuStreamSynchronize(a));''', '4096', True),
    'a wait for a blocking stream that has no work': ('''
        CHECK(work_launch(kernel, NULL));
        CHECK(cuStreamSynchronize(blocking));''' + ASKED % 'NULL', '4096', False),
    'the default stream of a thread behind the legacy one': ('''
        CHECK(work_launch(kernel, NULL));
        CHECK(work_launch(kernel, CU_STREAM_PER_THREAD));
        CHECK(cuStreamSynchronize(CU_STREAM_PER_THREAD));''', '4096', True),
}
# A kernel is met anew once code was unloaded, and what is first met is not timed: here in every step. The interval says so.
SELDOM_TIMED = 'code that is loaded behind a kernel'
# What a stream takes before a call waits for a place: so many calls in one step, of 100 us each.
QUEUED = 1022 + 300
QUEUES = {
    'kernels': 'CHECK(work_launch(kernel, a));',
    'graphs': 'CHECK(cuGraphLaunch(graph, a));',
    'kernels and graphs': 'CHECK(k % 2 ? work_launch(kernel, a) : cuGraphLaunch(graph, a));',
    'kernels with events between': '''
        CHECK(work_launch(kernel, a));
        CHECK(cuEventRecord(mark, a));
        CHECK(cuStreamWaitEvent(a, mark, 0));''',
    'kernels with host functions behind': '''
        CHECK(work_launch(kernel, a));
        if (k % 100 == 0)
            CHECK(cuLaunchHostFunc(b, nothing, NULL));''',
}


@pytest.mark.parametrize('rule', RULES)
def test_driver_timeline_and_replay_agree(run, compile_c, rule):
    step, size, waits = RULES[rule]
    program = compile_c(PROGRAM % {'step': step, 'bytes': size, 'steps': STEPS}, '-lcuda', f'-I{ROOT}')
    r = run(program, CUDASPY_GPU='sample', SIM_DATA_MIB=0, CUDASPY_KEEP=8, **VIRTUAL_TIME)
    seen, truth = r.report, r.truth
    waited = truth['totals']['sync_wait_ns'] + truth['totals']['implicit_wait_ns']
    useful = seen['host']['sync_useful_ns'] + seen['host']['sync_wasted_ns']
    assert (waited > STEPS * 20000) == waits
    assert useful == pytest.approx(waited, rel=0.1, abs=STEPS * 6000)
    busy, gpu = sum(d['busy_ns'] for d in truth['devices']), seen['gpu']
    if rule == SELDOM_TIMED:
        assert gpu['busy_low_ns'] <= 1.02 * busy and 0.98 * busy <= gpu['busy_high_ns']
    else:
        assert gpu['busy_ns'] == pytest.approx(busy, rel=0.1)
    row, = [row for row in report('--what-if=host=0', r.recording)['what_if'] if row['change'].startswith('host')]
    assert row['unknown_because'] is None, row
    assert row['model_error'] < 0.05


def test_a_blocking_copy_within_the_device_does_not_wait(run, compile_c):
    """It returns at once, so that its call does not tell how long it takes; the replay says that it does not know."""
    step = '''
        CHECK(work_launch(kernel, NULL));
        CHECK(cuMemcpyDtoD(device, device + BYTES / 2, BYTES / 2));''' + ASKED % 'NULL'
    program = compile_c(PROGRAM % {'step': step, 'bytes': '64 << 10', 'steps': STEPS}, '-lcuda', f'-I{ROOT}')
    r = run(program, CUDASPY_GPU='sample', SIM_DATA_MIB=0, CUDASPY_KEEP=8, **VIRTUAL_TIME)
    waited = r.truth['totals']['sync_wait_ns'] + r.truth['totals']['implicit_wait_ns']
    assert waited < STEPS * 1000
    assert r.report['host']['sync_useful_ns'] + r.report['host']['sync_wasted_ns'] < STEPS * 6000
    row, = [row for row in report('--what-if=host=0', r.recording)['what_if'] if row['change'].startswith('host')]
    assert 'work on the GPU is not known' in row['unknown_because']


@pytest.mark.parametrize('queue', QUEUES)
def test_a_full_queue_is_the_same_to_all(run, compile_c, queue):
    step = f'for (int k = 0; k < {QUEUED}; k++) {{ {QUEUES[queue]} }} CHECK(cuStreamSynchronize(a));'
    program = compile_c(PROGRAM % {'step': step, 'bytes': '4096', 'steps': 5}, '-lcuda', f'-I{ROOT}')
    r = run(program, CUDASPY_GPU='sample', SIM_DATA_MIB=0, CUDASPY_KEEP=8, **VIRTUAL_TIME)
    seen, truth = r.report, r.truth
    waited = truth['totals']['queue_full_ns']
    assert waited > 5 * 200 * 90000
    assert seen['host']['back_pressure_ns'] == pytest.approx(waited, rel=0.1)
    assert seen['host']['sync_useful_ns'] == pytest.approx(truth['totals']['sync_wait_ns'], rel=0.1)
    assert seen['gpu']['busy_ns'] == pytest.approx(sum(d['busy_ns'] for d in truth['devices']), rel=0.1)
    row, = [row for row in report('--what-if=host=0', r.recording)['what_if'] if row['change'].startswith('host')]
    assert row['unknown_because'] is None, row
    assert row['model_error'] < 0.05
