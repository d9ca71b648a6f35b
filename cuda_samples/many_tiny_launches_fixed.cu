/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_tiny_launches_fixed: the same increments, captured once as a graph of 100 and then replayed:
 * one call where there were 100.
 *
 * A correct report counts ITERATIONS / 100 graph launches and the 100 captured launches apart, and
 * does not speak of short launches.
 *
 *     many_tiny_launches_fixed [ITERATIONS]
 */
#include "cuda_samples/sample.h"

#define GRAPH_LAUNCHES 100

KERNEL(increment, "fixed:700", (unsigned *counter))
{
	if (threadIdx.x == 0)
		*counter += 1;
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 100000);
	unsigned *counter = sample_malloc<unsigned>(1);
	unsigned result = 0;
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamCreate(&stream));
	sample_set(counter, 0, sizeof(*counter));
	sample_capture_begin(stream);
	for (unsigned i = 0; i < GRAPH_LAUNCHES; i++)
		LAUNCH(increment, 1, 32, 0, stream, counter);
	graph = sample_capture_end(stream);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (unsigned i = 0; i < iterations / GRAPH_LAUNCHES; i++)
		sample_graph_launch(exec, stream);
	for (unsigned i = 0; i < iterations % GRAPH_LAUNCHES; i++)
		LAUNCH(increment, 1, 32, 0, stream, counter);
	sample_sync_device();
	sample_copy(&result, counter, sizeof(result), DTOH, PAGEABLE);
	sample_answer(result, iterations);
	sample_expect("no-finding=many-short-launches");
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaStreamDestroy(stream));
	sample_free(counter);
	return sample_finish();
}
