/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_every_step: a step of two launches is captured, instantiated, launched as a graph and
 * destroyed, every time.
 *
 * A correct report counts for each iteration two captured launches and one graph launch, and says
 * that the graph is instantiated anew at every step.  Fixed: graph_every_step_fixed.
 *
 *     graph_every_step [ITERATIONS]
 */
#include "cuda_samples/sample_graph.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 8000);
	unsigned *value = chain_start();
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		cudaGraphExec_t exec = graph_make(value, 2, CHAIN_US(5), stream);

		sample_graph_launch(exec, stream);
		CHECK(cudaGraphExecDestroy(exec));
	}
	sample_answer(chain_end(value), lcg_after(0, iterations * 2ul * CHAIN_US(5)));
	sample_expect("finding=graph-reinstantiated");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
