/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of some launches of chain, captured and instantiated.  Included by the samples that do so
 * too often, and by their fixed twins. */
#pragma once
#include "cuda_samples/sample_chain.h"

static inline cudaGraphExec_t graph_make(unsigned *value, unsigned launches, unsigned rounds,
                                         cudaStream_t stream)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	sample_capture_begin(stream);
	for (unsigned i = 0; i < launches; i++)
		chain_launch(value, rounds, stream);
	graph = sample_capture_end(stream);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}
