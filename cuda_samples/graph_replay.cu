/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_replay: a step of one copy, one set, three kernels and one copy, captured once and then
 * launched as a graph.
 *
 * A correct report counts the six captured operations apart, no launch, copy or set made directly
 * but the last copy, and ITERATIONS graph launches.  The kernels inside the graph ran, but no call
 * launched them.
 *
 *     graph_replay [ITERATIONS]
 */
#include "cuda_samples/sample.h"

KERNEL(add_input, "fixed:3000", (const unsigned *in, unsigned *sum))
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	sum[i] += in[i];
}

KERNEL(count_step, "fixed:2000", (unsigned *scratch, unsigned *steps))
{
	if (blockIdx.x == 0 && threadIdx.x == 0)
		*steps += 1 + *scratch;
}

int main(int argc, char **argv)
{
	const unsigned n = 4096, threads = 256;
	const size_t bytes = n * sizeof(unsigned);
	unsigned iterations = sample_start(argc, argv, 10000);
	unsigned *in = sample_malloc_pinned<unsigned>(n);
	unsigned *out = sample_malloc_pinned<unsigned>(n);
	unsigned *dev_in = sample_malloc<unsigned>(n);
	unsigned *sum = sample_malloc<unsigned>(n);
	unsigned *scratch = sample_malloc<unsigned>(1);
	unsigned *steps = sample_malloc<unsigned>(1);
	unsigned counted = 0;
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	for (unsigned i = 0; i < n; i++)
		in[i] = i;
	CHECK(cudaStreamCreate(&stream));
	sample_set(sum, 0, bytes);
	sample_set(steps, 0, sizeof(*steps));
	sample_sync_device();

	sample_capture_begin(stream);
	sample_copy_async(dev_in, in, bytes, HTOD, PINNED, stream);
	sample_set_async(scratch, 0, sizeof(*scratch), stream);
	LAUNCH(add_input, n / threads, threads, 0, stream, dev_in, sum);
	LAUNCH_CALL(add_input, n / threads, threads, 0, stream, dev_in, sum);
	LAUNCH_EX(count_step, 1, 32, 0, stream, scratch, steps);
	sample_copy_async(out, sum, bytes, DTOH, PINNED, stream);
	graph = sample_capture_end(stream);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));

	for (unsigned it = 0; it < iterations; it++)
		sample_graph_launch(exec, stream);
	sample_sync_stream(stream);
	sample_copy(&counted, steps, sizeof(counted), DTOH, PAGEABLE);
	sample_verify(counted == iterations);
	for (unsigned i = 0; i < n && iterations; i++)
		sample_verify(out[i] == 2 * iterations * i);

	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaStreamDestroy(stream));
	for (unsigned *ptr : {dev_in, sum, scratch, steps})
		sample_free(ptr);
	sample_free_pinned(in);
	sample_free_pinned(out);
	return sample_finish();
}
