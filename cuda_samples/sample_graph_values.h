/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of NODES launches of chain that work on one of two values of the device.  Included by the
 * sample that says so to each node before each launch, and by its fixed twin. */
#pragma once
#include "cuda_samples/sample_chain.h"

#define NODES 64

struct value_graph {
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t nodes[NODES];
};

static inline void graph_start(struct value_graph *g, unsigned *value, unsigned rounds,
                               cudaStream_t stream)
{
	size_t count = NODES;

	sample_capture_begin(stream);
	for (unsigned i = 0; i < NODES; i++)
		chain_launch(value, rounds, stream);
	g->graph = sample_capture_end(stream);
	CHECK(cudaGraphGetNodes(g->graph, g->nodes, &count));
	CHECK(cudaGraphInstantiate(&g->exec, g->graph, 0));
}

/* From its next launch on. */
static inline void graph_work_on(struct value_graph *g, unsigned *value, unsigned rounds)
{
	void *arguments[] = {&value, &rounds};
	cudaKernelNodeParams params = {};

	params.func = (void *)chain;
	params.gridDim = dim3(1, 1, 1);
	params.blockDim = dim3(CHAIN_THREADS, 1, 1);
	params.kernelParams = arguments;
	for (unsigned i = 0; i < NODES; i++)
		CHECK(cudaGraphExecKernelNodeSetParams(g->exec, g->nodes[i], &params));
}

static inline void graph_end(struct value_graph *g)
{
	CHECK(cudaGraphExecDestroy(g->exec));
	CHECK(cudaGraphDestroy(g->graph));
}
