/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_short_lived_fixed: the graph of each shape is made when the shape first comes, and kept.
 *
 * A correct report counts 40 captured launches in all and two graph launches for each iteration.
 *
 *     graph_short_lived_fixed [ITERATIONS]
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
	cudaGraphExec_t kept[SHAPES] = {};
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		cudaGraphExec_t &exec = kept[i % SHAPES];

		if (!exec)
			exec = graph_make(value, LAUNCHES, shape_rounds(i), stream);
		for (unsigned r = 0; r < REPLAYS; r++)
			sample_graph_launch(exec, stream);
		rounds += REPLAYS * LAUNCHES * shape_rounds(i);
	}
	sample_answer(chain_end(value), lcg_after(0, rounds));
	sample_expect("no-finding=graph-instantiation-dominates");
	for (cudaGraphExec_t exec : kept)
		if (exec)
			CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
