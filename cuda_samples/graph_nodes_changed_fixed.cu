/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_nodes_changed_fixed: there is a graph for each of the two values, and their nodes stay as
 * they are.
 *
 * A correct report counts ITERATIONS graph launches.
 *
 *     graph_nodes_changed_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_graph_values.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 4000);
	unsigned *value[] = {chain_start(), chain_start()};
	struct value_graph g[2];
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int k = 0; k < 2; k++)
		graph_start(&g[k], value[k], CHAIN_US(1), stream);
	for (unsigned i = 0; i < iterations; i++) {
		sample_graph_launch(g[i % 2].exec, stream);
		sample_sync_stream(stream);
	}
	sample_answer(chain_end(value[0]),
	              lcg_after(0, (iterations + 1ul) / 2 * NODES * CHAIN_US(1)));
	sample_answer(chain_end(value[1]), lcg_after(0, iterations / 2ul * NODES * CHAIN_US(1)));
	sample_expect("no-finding=graph-nodes-changed");
	for (int k = 0; k < 2; k++)
		graph_end(&g[k]);
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
