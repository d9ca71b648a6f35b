/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_every_step_fixed: the graph of the step is made once and launched every time.
 *
 * A correct report counts two captured launches and ITERATIONS graph launches.
 *
 *     graph_every_step_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_graph.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 8000);
	unsigned *value = chain_start();
	cudaGraphExec_t exec;
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	exec = graph_make(value, 2, CHAIN_US(5), stream);
	for (unsigned i = 0; i < iterations; i++)
		sample_graph_launch(exec, stream);
	sample_answer(chain_end(value), lcg_after(0, iterations * 2ul * CHAIN_US(5)));
	sample_expect("no-finding=graph-reinstantiated");
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
