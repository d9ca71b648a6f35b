/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_nodes_changed: a step works on the value that the step before did not work on.  Before the
 * graph is launched each of its nodes is told so; and the step is waited for.
 *
 * A correct report counts ITERATIONS graph launches, and says that nodes are given other parameters
 * before each of them.  Fixed: graph_nodes_changed_fixed.
 *
 *     graph_nodes_changed [ITERATIONS]
 */
#include "cuda_samples/sample_graph_values.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 4000);
	unsigned *value[] = {chain_start(), chain_start()};
	struct value_graph g;
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	graph_start(&g, value[0], CHAIN_US(1), stream);
	for (unsigned i = 0; i < iterations; i++) {
		graph_work_on(&g, value[i % 2], CHAIN_US(1));
		sample_graph_launch(g.exec, stream);
		sample_sync_stream(stream);
	}
	sample_answer(chain_end(value[0]), lcg_after(0, (iterations + 1ul) / 2 * NODES * CHAIN_US(1)));
	sample_answer(chain_end(value[1]), lcg_after(0, iterations / 2ul * NODES * CHAIN_US(1)));
	sample_expect("finding=graph-nodes-changed");
	graph_end(&g);
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
