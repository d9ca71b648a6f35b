/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what the simulated libcudart does with memory, graphs, capture and events. */
#include <string.h>
#include "tests/sim/selftest_runtime.h"

void memory_keeps_what_is_copied_to_it(void **state)
{
	char in[64], out[64];

	for
		EACH(rt)
		{
			struct cudaPointerAttributes attributes;
			void *ptr, *host;

			memset(in, rt->major, sizeof(in));
			assert_int_equal(rt->cudaMalloc(&ptr, sizeof(in)), cudaSuccess);
			assert_int_equal(rt->cudaMallocHost(&host, sizeof(in)), cudaSuccess);
			assert_int_equal(
			        rt->cudaMemcpy(ptr, in, sizeof(in), cudaMemcpyHostToDevice),
			        cudaSuccess);
			assert_int_equal(rt->cudaMemcpy(out, ptr, sizeof(out), cudaMemcpyDefault),
			                 cudaSuccess);
			assert_memory_equal(in, out, sizeof(in));
			assert_int_equal(rt->cudaMemset(ptr, 9, sizeof(in)), cudaSuccess);
			assert_int_equal(rt->cudaMemcpy(host, ptr, 1, cudaMemcpyDeviceToHost),
			                 cudaSuccess);
			assert_int_equal(*(char *)host, 9);
			assert_int_equal(rt->cudaMemcpy(out, ptr, 1, (enum cudaMemcpyKind)9),
			                 cudaErrorInvalidMemcpyDirection);
			assert_int_equal(rt->cudaPointerGetAttributes(&attributes, ptr),
			                 cudaSuccess);
			assert_int_equal(attributes.type, cudaMemoryTypeDevice);
			assert_int_equal(rt->cudaPointerGetAttributes(&attributes, host),
			                 cudaSuccess);
			assert_int_equal(attributes.type, cudaMemoryTypeHost);
			assert_int_equal(rt->cudaPointerGetAttributes(&attributes, in),
			                 cudaSuccess);
			assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
			assert_int_equal(rt->cudaFree(ptr), cudaSuccess);
			assert_int_equal(rt->cudaFree(ptr), cudaErrorInvalidValue);
			assert_int_equal(rt->cudaFree(NULL), cudaSuccess);
			assert_int_equal(rt->cudaFreeHost(host), cudaSuccess);
			rt->cudaGetLastError();
		}
}

void pitched_copies_keep_their_rows(void **state)
{
	char in[4][16], out[4][16];

	for (int i = 0; i < 64; i++)
		in[i / 16][i % 16] = i;
	for
		EACH(rt)
		{
			struct cudaMemcpy3DParms p = {.extent = {16, 4, 1}};
			void *ptr;
			size_t pitch;

			assert_int_equal(rt->cudaMallocPitch(&ptr, &pitch, 16, 4), cudaSuccess);
			assert_true(pitch >= 16);
			assert_int_equal(
			        rt->cudaMemcpy2D(ptr, pitch, in, 16, 16, 4, cudaMemcpyHostToDevice),
			        cudaSuccess);
			memset(out, 0, sizeof(out));
			p.srcPtr = (struct cudaPitchedPtr){ptr, pitch, 16, 4};
			p.dstPtr = (struct cudaPitchedPtr){out, 16, 16, 4};
			p.kind = cudaMemcpyDeviceToHost;
			assert_int_equal(rt->cudaMemcpy3D(&p), cudaSuccess);
			assert_memory_equal(in, out, sizeof(in));
			assert_int_equal(
			        rt->cudaMemcpy2D(ptr, 8, in, 16, 16, 4, cudaMemcpyHostToDevice),
			        cudaErrorInvalidPitchValue);
			assert_int_equal(rt->cudaFree(ptr), cudaSuccess);
			rt->cudaGetLastError();
		}
}

void variables_are_found_by_their_host_address(void **state)
{
	char in[64], out[64] = "";

	for
		EACH(rt)
		{
			void *ptr = NULL;
			size_t bytes = 0;

			memset(in, rt->major, sizeof(in));
			assert_int_equal(rt->cudaGetSymbolAddress(&ptr, &table), cudaSuccess);
			assert_non_null(ptr);
			assert_int_equal(rt->cudaGetSymbolSize(&bytes, &table), cudaSuccess);
			assert_int_equal(bytes, 64);
			assert_int_equal(
			        rt->cudaMemcpyToSymbol(&table, in, 32, 32, cudaMemcpyHostToDevice),
			        cudaSuccess);
			assert_int_equal(rt->cudaMemcpyFromSymbol(out, &table, 32, 32,
			                                          cudaMemcpyDeviceToHost),
			                 cudaSuccess);
			assert_memory_equal(in, out, 32);
			assert_int_equal(
			        rt->cudaMemcpyToSymbol(&table, in, 33, 32, cudaMemcpyHostToDevice),
			        cudaErrorInvalidValue);
			assert_int_equal(
			        rt->cudaMemcpyToSymbol(&first, in, 1, 0, cudaMemcpyHostToDevice),
			        cudaErrorInvalidSymbol);
			rt->cudaGetLastError();
		}
}

/* 11 instantiates and updates with other arguments than its successors. */
static void instantiate(struct runtime *rt, cudaGraphExec_t *exec, cudaGraph_t graph)
{
	void *p = function(rt, "cudaGraphInstantiate");
	cudaGraphNode_t node;
	char log[64];
	cudaError_t rc;

	if (rt->major == 11)
		rc = ((cudaError_t(*)(cudaGraphExec_t *, cudaGraph_t, cudaGraphNode_t *, char *,
		                      size_t))p)(exec, graph, &node, log, sizeof(log));
	else
		rc = ((cudaError_t(*)(cudaGraphExec_t *, cudaGraph_t, unsigned long long))p)(
		        exec, graph, 0);
	assert_int_equal(rc, cudaSuccess);
}

static void update(struct runtime *rt, cudaGraphExec_t exec, cudaGraph_t graph)
{
	void *p = function(rt, "cudaGraphExecUpdate");
	enum cudaGraphExecUpdateResult result = cudaGraphExecUpdateError;
	cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
	cudaGraphNode_t node;

	if (rt->major == 11) {
		assert_int_equal(((cudaError_t(*)(cudaGraphExec_t, cudaGraph_t, cudaGraphNode_t *,
		                                  enum cudaGraphExecUpdateResult *))p)(
		                         exec, graph, &node, &result),
		                 cudaSuccess);
		assert_int_equal(result, cudaGraphExecUpdateSuccess);
		return;
	}
	assert_int_equal(((cudaError_t(*)(cudaGraphExec_t, cudaGraph_t,
	                                  cudaGraphExecUpdateResultInfo *))p)(exec, graph, &info),
	                 cudaSuccess);
	assert_int_equal(info.result, cudaGraphExecUpdateSuccess);
}

void graphs_are_built_updated_and_launched(void **state)
{
	for
		EACH(rt)
		{
			struct cudaKernelNodeParams kernel = {
			        .func = &first, .gridDim = {1, 1, 1}, .blockDim = {32, 1, 1}};
			struct cudaMemsetParams set = {
			        .value = 5, .elementSize = 1, .width = 64, .height = 1};
			cudaGraphNode_t nodes[4];
			cudaGraph_t graph;
			cudaGraphExec_t exec;
			char out[64] = "";
			size_t count = 0;
			void *ptr;

			assert_int_equal(rt->cudaMalloc(&ptr, 64), cudaSuccess);
			set.dst = ptr;
			assert_int_equal(rt->cudaGraphCreate(&graph, 0), cudaSuccess);
			assert_int_equal(rt->cudaGraphAddEmptyNode(&nodes[0], graph, NULL, 0),
			                 cudaSuccess);
			assert_int_equal(
			        rt->cudaGraphAddMemsetNode(&nodes[1], graph, nodes, 1, &set),
			        cudaSuccess);
			assert_int_equal(
			        rt->cudaGraphAddKernelNode(&nodes[2], graph, nodes + 1, 1, &kernel),
			        cudaSuccess);
			assert_int_equal(rt->cudaGraphAddMemcpyNode1D(&nodes[3], graph, nodes + 2,
			                                              1, out, ptr, 64,
			                                              cudaMemcpyDeviceToHost),
			                 cudaSuccess);
			assert_int_equal(rt->cudaGraphGetNodes(graph, NULL, &count), cudaSuccess);
			assert_int_equal(count, 4);
			instantiate(rt, &exec, graph);
			update(rt, exec, graph);
			assert_int_equal(rt->cudaGraphLaunch(exec, NULL), cudaSuccess);
			assert_int_equal(rt->cudaStreamSynchronize(NULL), cudaSuccess);
			assert_int_equal(out[63], 5);
			assert_int_equal(rt->cudaGraphExecDestroy(exec), cudaSuccess);
			assert_int_equal(rt->cudaGraphDestroy(graph), cudaSuccess);
			assert_int_equal(rt->cudaFree(ptr), cudaSuccess);
		}
}

void capture_makes_a_graph_and_runs_nothing(void **state)
{
	dim3 one = {1, 1, 1};

	for
		EACH(rt)
		{
			enum cudaStreamCaptureStatus status;
			cudaStream_t stream;
			cudaGraph_t graph;
			cudaGraphExec_t exec;
			size_t count = 0;

			assert_int_equal(rt->cudaStreamCreate(&stream), cudaSuccess);
			assert_int_equal(
			        rt->cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
			        cudaSuccess);
			assert_int_equal(rt->cudaStreamIsCapturing(stream, &status), cudaSuccess);
			assert_int_equal(status, cudaStreamCaptureStatusActive);
			assert_int_equal(rt->cudaLaunchKernel(&first, one, one, NULL, 0, stream),
			                 cudaSuccess);
			assert_int_equal(rt->cudaLaunchKernel(&second, one, one, NULL, 0, stream),
			                 cudaSuccess);
			assert_int_equal(rt->cudaStreamEndCapture(stream, &graph), cudaSuccess);
			assert_int_equal(rt->cudaGraphGetNodes(graph, NULL, &count), cudaSuccess);
			assert_int_equal(count, 2);
			assert_int_equal(rt->cudaGraphInstantiateWithFlags(&exec, graph, 0),
			                 cudaSuccess);
			assert_int_equal(rt->cudaGraphLaunch(exec, stream), cudaSuccess);
			assert_int_equal(rt->cudaStreamSynchronize(stream), cudaSuccess);
			/* Waiting for the stream in the middle of a capture spoils it. */
			assert_int_equal(
			        rt->cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
			        cudaSuccess);
			assert_int_equal(rt->cudaStreamSynchronize(stream),
			                 cudaErrorStreamCaptureUnsupported);
			assert_int_equal(rt->cudaStreamEndCapture(stream, &graph),
			                 cudaErrorStreamCaptureInvalidated);
			assert_int_equal(rt->cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
			assert_int_equal(rt->cudaGraphExecDestroy(exec), cudaSuccess);
			assert_int_equal(rt->cudaStreamDestroy(stream), cudaSuccess);
		}
}

void events_measure_kernels(void **state)
{
	dim3 one = {1, 1, 1};

	for
		EACH(rt)
		{
			cudaEvent_t start, end;
			float ms = -1;

			assert_int_equal(rt->cudaEventCreate(&start), cudaSuccess);
			assert_int_equal(rt->cudaEventCreate(&end), cudaSuccess);
			assert_int_equal(rt->cudaEventRecord(start, NULL), cudaSuccess);
			for (int i = 0; i < 100; i++)
				rt->cudaLaunchKernel(&second, one, one, NULL, 0, NULL);
			assert_int_equal(rt->cudaEventRecord(end, NULL), cudaSuccess);
			assert_int_equal(rt->cudaEventSynchronize(end), cudaSuccess);
			assert_int_equal(rt->cudaEventElapsedTime(&ms, start, end), cudaSuccess);
			/* A hundred kernels of 2 us. */
			assert_true(ms >= 0.2f);
		}
}
