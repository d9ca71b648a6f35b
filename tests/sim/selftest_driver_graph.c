/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated driver's captures and graphs. */
#include <pthread.h>
#include "tests/sim/selftest_driver.h"

#define GLOBAL  CU_STREAM_CAPTURE_MODE_GLOBAL
#define THREAD  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
#define RELAXED CU_STREAM_CAPTURE_MODE_RELAXED

/* Begins a capture of stream a and checks that `call` is refused with `code` and breaks it. */
#define BREAKS(mode, code, call)                                                                   \
	do {                                                                                       \
		CUgraph broken;                                                                    \
		ok(cuStreamBeginCapture_v2(fix.a, mode));                                          \
		fails(code, call);                                                                 \
		fails(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, launch(fix.none, fix.a));             \
		fails(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(fix.a, &broken));  \
		assert_null(broken);                                                               \
		ok(cuStreamQuery(fix.a));                                                          \
	} while (0)

/* The same with a call that is allowed. */
#define ALLOWS(mode, code, call)                                                                   \
	do {                                                                                       \
		CUgraph whole;                                                                     \
		ok(cuStreamBeginCapture_v2(fix.a, mode));                                          \
		fails(code, call);                                                                 \
		ok(cuStreamEndCapture(fix.a, &whole));                                             \
		ok(cuGraphDestroy(whole));                                                         \
	} while (0)

static void illegal_calls_break_a_capture(void **state)
{
	char byte[8];
	CUdeviceptr d, e;
	CUevent event;

	ok(cuCtxSynchronize());
	ok(cuMemAlloc_v2(&e, 64));
	ok(cuEventCreate(&event, 0));
	ok(cuEventRecord(event, fix.b));
	ok(cuEventSynchronize(event));
	BREAKS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(fix.a));
	BREAKS(RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(fix.a));
	BREAKS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
	BREAKS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&d, 64));
	BREAKS(THREAD, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&d, 64));
	BREAKS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemFree_v2(e));
	BREAKS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuEventQuery(event));
	BREAKS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, launch(fix.none, NULL));
	BREAKS(RELAXED, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamSynchronize(NULL));
	BREAKS(RELAXED, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemcpyHtoD_v2(e, byte, 8));
	BREAKS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(fix.a, event, 0));
	BREAKS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	       cuStreamAddCallback(fix.a, (CUstreamCallback)(void *)now_ns, NULL, 0));
	ALLOWS(RELAXED, CUDA_SUCCESS, cuEventQuery(event));
	ALLOWS(GLOBAL, CUDA_SUCCESS, launch(fix.none, fix.b));
	ALLOWS(GLOBAL, CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture_v2(fix.a, GLOBAL));
	fails(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(NULL, GLOBAL));
	ok(cuEventDestroy_v2(event));
	ok(cuMemFree_v2(e));
}

static void captured_events(void **state)
{
	CUstreamCaptureStatus status;
	CUevent fork, join;
	CUgraph graph;
	cuuint64_t id = 0, id2 = 0;

	ok(cuEventCreate(&fork, 0));
	ok(cuEventCreate(&join, 0));
	ok(cuStreamBeginCapture_v2(fix.a, GLOBAL));
	ok(launch(fix.none, fix.a));
	ok(cuEventRecord(fork, fix.a));
	ok(cuStreamWaitEvent(fix.b, fork, 0));
	ok(cuStreamGetCaptureInfo(fix.a, &status, &id));
	ok(cuStreamGetCaptureInfo(fix.b, &status, &id2));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	assert_true(id && id == id2);
	fails(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(NULL, &status));
	ok(launch(fix.none, fix.b));
	fails(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(fix.a, &graph));
	ok(cuStreamIsCapturing(fix.b, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);

	ok(cuStreamBeginCapture_v2(fix.a, GLOBAL));
	ok(cuEventRecord(fork, fix.a));
	fails(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(fork));
	fails(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(fix.a, &graph));

	ok(cuStreamBeginCapture_v2(fix.a, RELAXED));
	ok(cuStreamBeginCapture_v2(fix.b, RELAXED));
	ok(cuEventRecord(fork, fix.a));
	fails(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(fix.b, fork, 0));
	fails(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(fix.a, &graph));
	fails(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(fix.b, &graph));
	fails(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(fix.b, &graph));

	ok(cuStreamBeginCapture_v2(fix.a, GLOBAL));
	ok(cuEventRecord(fork, fix.a));
	ok(cuStreamWaitEvent(fix.b, fork, 0));
	fails(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(fix.b, &graph));
	fails(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(fix.a, &graph));
	ok(cuEventRecord(fork, fix.a));
	ok(cuEventSynchronize(fork));
	ok(cuEventDestroy_v2(fork));
	ok(cuEventDestroy_v2(join));
}

struct other {
	CUresult query, alloc, end;
	CUevent event;
};

static void *in_other_thread(void *arg)
{
	struct other *o = arg;
	CUdeviceptr d;
	CUgraph graph;

	cuCtxSetCurrent(fix.ctx);
	o->end = cuStreamEndCapture(fix.a, &graph);
	o->query = cuEventQuery(o->event);
	o->alloc = cuMemAllocHost_v2((void **)&d, 8);
	if (o->alloc == CUDA_SUCCESS)
		cuMemFreeHost((void *)d);
	return NULL;
}

static struct other beside_capture(CUstreamCaptureMode mode)
{
	struct other o = {0};
	pthread_t t;

	ok(cuEventCreate(&o.event, 0));
	ok(cuStreamBeginCapture_v2(fix.a, mode));
	assert_int_equal(pthread_create(&t, NULL, in_other_thread, &o), 0);
	pthread_join(t, NULL);
	return o;
}

static void modes_across_threads(void **state)
{
	struct other o = beside_capture(GLOBAL);
	CUgraph graph;

	fails(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, o.end);
	fails(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, o.query);
	fails(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(fix.a, &graph));
	ok(cuEventDestroy_v2(o.event));
	o = beside_capture(THREAD);
	fails(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, o.end);
	ok(o.query);
	ok(o.alloc);
	ok(cuStreamEndCapture(fix.a, &graph));
	ok(cuGraphDestroy(graph));
	ok(cuEventDestroy_v2(o.event));
	o = beside_capture(RELAXED);
	ok(o.end);
	fails(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(fix.a, &graph));
	ok(cuEventDestroy_v2(o.event));
}

/* A diamond of four kernels of 20 ms takes three of them: the truth knows it to the ns. */
static void diamond_from_capture(void **state)
{
	uint64_t busy, captured = TRUTH(captured), launches = TRUTH(launches), from;
	CUevent fork, join;
	CUgraphExec exec;
	CUgraph graph;
	size_t nodes, edges;

	ok(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	ok(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	ok(cuStreamBeginCapture_v2(fix.a, THREAD));
	ok(launch(fix.ms20, fix.a));
	ok(cuEventRecord(fork, fix.a));
	ok(cuStreamWaitEvent(fix.free, fork, 0));
	ok(launch(fix.ms20, fix.a));
	ok(launch(fix.ms20, fix.free));
	ok(cuEventRecord(join, fix.free));
	ok(cuStreamWaitEvent(fix.a, join, 0));
	ok(launch(fix.ms20, fix.a));
	ok(cuStreamEndCapture(fix.a, &graph));
	assert_true(TRUTH(captured) == captured + 4 && TRUTH(launches) == launches);
	ok(cuGraphGetNodes(graph, NULL, &nodes));
	ok(cuGraphGetEdges(graph, NULL, NULL, &edges));
	assert_int_equal(nodes, 4);
	assert_int_equal(edges, 4);
	ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
	ok(cuGraphDestroy(graph));
	ok(cuCtxSynchronize());
	busy = fix.truth->device[0].busy_ns;
	from = now_ns();
	ok(cuGraphLaunch(exec, fix.b));
	ok(cuGraphLaunch(exec, fix.free)); /* after the first: it is the same graph */
	ok(cuCtxSynchronize());
	assert_true(now_ns() - from >= 120 * MS);
	assert_true(fix.truth->device[0].busy_ns - busy == 120 * MS);
	assert_true(TRUTH(graph_launches) == 2);
	assert_true(TRUTH(graph_kernels) == 8);
	ok(cuGraphExecDestroy(exec));
	fails(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, fix.b));
	ok(cuEventDestroy_v2(fork));
	ok(cuEventDestroy_v2(join));
}

static CUDA_KERNEL_NODE_PARAMS scaled(unsigned *count, void **params)
{
	CUDA_KERNEL_NODE_PARAMS p = {
	        .func = fix.scaled,
	        .gridDimX = 1,
	        .gridDimY = 1,
	        .gridDimZ = 1,
	        .blockDimX = 1,
	        .blockDimY = 1,
	        .blockDimZ = 1,
	        .kernelParams = params,
	};

	params[0] = count;
	params[1] = count;
	return p;
}

static void explicit_graph(void **state)
{
	unsigned count = 10;
	void *params[2];
	CUDA_KERNEL_NODE_PARAMS k = scaled(&count, params);
	CUDA_MEMSET_NODE_PARAMS set = {.value = 0x55, .elementSize = 1, .width = 64, .height = 1};
	CUDA_MEMCPY3D copy = {
	        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
	        .dstMemoryType = CU_MEMORYTYPE_HOST,
	        .WidthInBytes = 64,
	        .Height = 1,
	        .Depth = 1,
	};
	CUgraphNode s, n, c, child, empty;
	CUgraph graph, outer;
	CUgraphExec exec, none;
	CUgraphExecUpdateResultInfo info;
	char *host;
	uint64_t busy;

	ok(cuMemAlloc_v2(&set.dst, 64));
	ok(cuMemHostAlloc((void **)&host, 64, 0));
	copy.srcDevice = set.dst;
	copy.dstHost = host;
	ok(cuGraphCreate(&graph, 0));
	ok(cuGraphAddMemsetNode(&s, graph, NULL, 0, &set, fix.ctx));
	ok(cuGraphAddKernelNode_v2(&n, graph, &s, 1, &k));
	ok(cuGraphAddMemcpyNode(&c, graph, &n, 1, &copy, fix.ctx));
	ok(cuGraphCreate(&outer, 0));
	ok(cuGraphAddChildGraphNode(&child, outer, NULL, 0, graph));
	ok(cuGraphAddEmptyNode(&empty, outer, &child, 1));
	ok(cuGraphInstantiateWithFlags(&exec, outer, 0));
	busy = fix.truth->device[0].kernel_ns;
	count = 99; /* the node has its own copy */
	ok(cuGraphLaunch(exec, fix.a));
	ok(cuStreamSynchronize(fix.a));
	assert_int_equal(host[0], 0x55);
	assert_int_equal(host[63], 0x55);
	assert_true(fix.truth->device[0].kernel_ns - busy == 10 * MS);
	ok(cuGraphExecDestroy(exec));

	ok(cuGraphInstantiateWithFlags(&exec, graph, 0));
	count = 3;
	ok(cuGraphExecKernelNodeSetParams_v2(exec, n, &k));
	ok(cuGraphLaunch(exec, fix.a));
	assert_true(fix.truth->device[0].kernel_ns - busy == 13 * MS);
	count = 5;
	ok(cuGraphKernelNodeSetParams_v2(n, &k));
	ok(cuGraphExecUpdate_v2(exec, graph, &info));
	ok(cuGraphLaunch(exec, fix.a));
	assert_true(fix.truth->device[0].kernel_ns - busy == 18 * MS);
	ok(cuGraphNodeSetEnabled(exec, n, 0));
	ok(cuGraphLaunch(exec, fix.a));
	assert_true(fix.truth->device[0].kernel_ns - busy == 18 * MS);
	fails(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, outer, &info));
	ok(cuGraphAddDependencies(graph, &c, &s, 1));
	fails(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&none, graph, 0));
	ok(cuStreamSynchronize(fix.a));
	ok(cuGraphExecDestroy(exec));
	ok(cuGraphDestroy(outer));
	ok(cuGraphDestroy(graph));
	ok(cuMemFree_v2(set.dst));
	ok(cuMemFreeHost(host));
}

/* A launch captured becomes a child; memory allocated while capturing, nodes. */
static void graph_in_graph(void **state)
{
	CUgraph inner, outer;
	CUgraphExec one, two;
	CUdeviceptr d;
	size_t nodes;
	uint64_t kernels;

	ok(cuStreamBeginCapture_v2(fix.a, GLOBAL));
	ok(launch(fix.none, fix.a));
	ok(launch(fix.none, fix.a));
	ok(cuStreamEndCapture(fix.a, &inner));
	ok(cuGraphInstantiateWithFlags(&one, inner, 0));
	ok(cuStreamBeginCapture_v2(fix.a, GLOBAL));
	ok(cuMemAllocAsync(&d, 100, fix.a));
	ok(cuGraphLaunch(one, fix.a));
	ok(cuMemFreeAsync(d, fix.a));
	ok(cuStreamEndCapture(fix.a, &outer));
	ok(cuGraphGetNodes(outer, NULL, &nodes));
	assert_int_equal(nodes, 3);
	ok(cuGraphInstantiateWithFlags(&two, outer, 0));
	kernels = TRUTH(graph_kernels);
	ok(cuGraphLaunch(two, fix.a));
	assert_true(TRUTH(graph_kernels) == kernels + 2);
	ok(cuGraphExecDestroy(two));
	ok(cuGraphExecDestroy(one));
	ok(cuGraphDestroy(inner));
	ok(cuGraphDestroy(outer));
}

const struct CMUnitTest graph_tests[] = {
        cmocka_unit_test(illegal_calls_break_a_capture),
        cmocka_unit_test(captured_events),
        cmocka_unit_test(modes_across_threads),
        cmocka_unit_test(diamond_from_capture),
        cmocka_unit_test(explicit_graph),
        cmocka_unit_test(graph_in_graph),
};
const size_t graph_count = sizeof(graph_tests) / sizeof(graph_tests[0]);
