/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remade HOW ROUNDS: graphs of two contents in turn, four kernels of 5 us and six of 11 us one
 * after the other, each made for one launch and thrown away. HOW: capture, nodes, clone, child (a
 * graph inside a graph), kept (the CUgraph is made once, instantiated for each launch), distinct
 * (each round's are of a grid of their own), update (one executable is updated to four kernels of 5
 * us or of 11 us in turn), params (of two executables of the same four kernels of 5 us, the second
 * has one changed to one of 11 us).
 */
#include <stdbool.h>
#include <string.h>
#include "tests/e2e/programs/work.h"

static const char image[] = "simcuda 1\n"
                            "kernel five fixed:5000\n"
                            "kernel eleven fixed:11000\n";

static const char *how;
static CUfunction five, eleven;
static CUstream stream;

static bool is(const char *name)
{
	return !strcmp(how, name);
}

static CUDA_KERNEL_NODE_PARAMS params(CUfunction f, unsigned grid)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = f,
	                                 .gridDimX = grid,
	                                 .gridDimY = 1,
	                                 .gridDimZ = 1,
	                                 .blockDimX = 32,
	                                 .blockDimY = 1,
	                                 .blockDimZ = 1};
}

/* The last node made, for what changes it later. */
static CUgraph by_nodes(CUfunction f, unsigned nodes, unsigned grid, CUgraphNode *last)
{
	CUDA_KERNEL_NODE_PARAMS p = params(f, grid);
	CUgraph graph;

	CHECK(cuGraphCreate(&graph, 0));
	for (unsigned i = 0; i < nodes; i++)
		CHECK(cuGraphAddKernelNode(last, graph, i ? last : NULL, i ? 1 : 0, &p));
	return graph;
}

static CUgraph by_capture(CUfunction f, unsigned nodes, unsigned grid)
{
	CUgraph graph;

	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (unsigned i = 0; i < nodes; i++)
		CHECK(cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CHECK(cuStreamEndCapture(stream, &graph));
	return graph;
}

static CUgraph make(CUfunction f, unsigned nodes, unsigned grid)
{
	CUgraph graph, inside;
	CUgraphNode node;

	if (is("capture") || is("distinct"))
		return by_capture(f, nodes, grid);
	inside = by_nodes(f, nodes, grid, &node);
	if (is("nodes"))
		return inside;
	if (is("clone")) {
		CHECK(cuGraphClone(&graph, inside));
	} else {
		CHECK(cuGraphCreate(&graph, 0));
		CHECK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, inside));
	}
	CHECK(cuGraphDestroy(inside));
	return graph;
}

static void launch(CUgraphExec exec)
{
	CHECK(cuGraphLaunch(exec, stream));
	CHECK(cuStreamSynchronize(stream));
}

static void once(CUgraph graph)
{
	CUgraphExec exec;

	CHECK(cuGraphInstantiate(&exec, graph, 0));
	launch(exec);
	CHECK(cuGraphExecDestroy(exec));
}

static void made_anew(unsigned round)
{
	unsigned grid = is("distinct") ? 1 + round : 1;
	CUgraph four = make(five, 4, grid), six = make(eleven, 6, grid);

	once(four);
	once(six);
	CHECK(cuGraphDestroy(four));
	CHECK(cuGraphDestroy(six));
}

static void changed(unsigned rounds)
{
	CUgraphNode node;
	CUgraph fives = by_nodes(five, 4, 1, &node),
	        elevens = by_nodes(eleven, 4, 1, &(CUgraphNode){0});
	CUDA_KERNEL_NODE_PARAMS p = params(eleven, 1);
	CUgraphExec first, second;
	CUgraphExecUpdateResultInfo info;

	CHECK(cuGraphInstantiate(&first, fives, 0));
	CHECK(cuGraphInstantiate(&second, fives, 0));
	if (is("params"))
		CHECK(cuGraphExecKernelNodeSetParams(second, node, &p));
	for (unsigned r = 0; r < rounds; r++) {
		launch(first);
		if (is("update")) {
			CHECK(cuGraphExecUpdate(first, elevens, &info));
			launch(first);
			CHECK(cuGraphExecUpdate(first, fives, &info));
		} else {
			launch(second);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	CUmodule module;

	if (argc < 3)
		return 2;
	how = argv[1];
	work_start();
	CHECK(cuModuleLoadData(&module, image));
	CHECK(cuModuleGetFunction(&five, module, "five"));
	CHECK(cuModuleGetFunction(&eleven, module, "eleven"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	if (is("update") || is("params")) {
		changed(rounds);
	} else if (is("kept")) {
		CUgraph four = by_capture(five, 4, 1), six = by_capture(eleven, 6, 1);
		for (unsigned r = 0; r < rounds; r++) {
			once(four);
			once(six);
		}
	} else {
		for (unsigned r = 0; r < rounds; r++)
			made_anew(r);
	}
	return 0;
}
