/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_short_lived: each request comes in one of four shapes; a graph of ten short launches is made
 * for it, launched twice and thrown away, though the shape will come again.
 *
 * A correct report counts for each iteration ten captured launches and two graph launches, and says
 * that making the graphs costs more than launching them saves.  Fixed: graph_short_lived_fixed.
 *
 *     graph_short_lived [ITERATIONS]
 */
#include "cuda_samples/sample_graph.h"

#define SHAPES   4
#define LAUNCHES 10
#define REPLAYS  2

static unsigned shape_rounds(unsigned request)
{
	return CHAIN_US(1) / 2 + request % SHAPES;
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 4000);
	unsigned *value = chain_start();
	unsigned long rounds = 0;
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		cudaGraphExec_t exec = graph_make(value, LAUNCHES, shape_rounds(i), stream);

		for (unsigned r = 0; r < REPLAYS; r++)
			sample_graph_launch(exec, stream);
		CHECK(cudaGraphExecDestroy(exec));
		rounds += REPLAYS * LAUNCHES * shape_rounds(i);
	}
	sample_answer(chain_end(value), lcg_after(0, rounds));
	sample_expect("finding=graph-instantiation-dominates");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
