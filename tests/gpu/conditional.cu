/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conditional: a graph with a loop and a branch that the GPU itself decides on, launched again and
 * again between ordinary kernels, beside a graph without.
 *
 * A launch sets a counter from the number of the launch, runs the body of a WHILE node until it is
 * down, each time adding to a sum, and the body of an IF node every second time. What is wrong shows
 * in the sum. Exit status 77: the driver is older than conditional nodes.
 *
 *     conditional [LAUNCHES]     default 400
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t rc_ = (call);                                                          \
		if (rc_ != cudaSuccess) {                                                          \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(rc_));               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* CUDA 13 tells edges with their data. */
#if CUDART_VERSION >= 13000
#define ADD_NODE(node, graph, after, count, params)                                                \
	cudaGraphAddNode(node, graph, after, NULL, count, params)
#else
#define ADD_NODE(node, graph, after, count, params)                                                \
	cudaGraphAddNode(node, graph, after, count, params)
#endif

struct state {
	unsigned launch, left;
	unsigned long long sum;
};

__global__ void first(state *s, cudaGraphConditionalHandle loop, cudaGraphConditionalHandle branch)
{
	s->launch++;
	s->left = s->launch % 7;
	cudaGraphSetConditional(loop, s->left != 0);
	cudaGraphSetConditional(branch, s->launch % 2);
}

__global__ void again(state *s, cudaGraphConditionalHandle loop)
{
	s->sum += s->left--;
	cudaGraphSetConditional(loop, s->left != 0);
}

__global__ void sometimes(state *s)
{
	s->sum += 1000;
}

__global__ void plain(state *s)
{
	s->sum += 100000;
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t after, const void *f,
                                  void **arguments)
{
	cudaKernelNodeParams p = {};
	cudaGraphNode_t node;

	p.func = const_cast<void *>(f);
	p.gridDim = p.blockDim = dim3(1);
	p.kernelParams = arguments;
	CHECK(cudaGraphAddKernelNode(&node, graph, after ? &after : NULL, after ? 1 : 0, &p));
	return node;
}

/* The body, which is empty yet. */
static cudaGraph_t add_conditional(cudaGraph_t graph, cudaGraphNode_t *after,
                                   cudaGraphConditionalHandle handle,
                                   cudaGraphConditionalNodeType type)
{
	cudaGraphNodeParams p = {};

	p.type = cudaGraphNodeTypeConditional;
	p.conditional.handle = handle;
	p.conditional.type = type;
	p.conditional.size = 1;
	cudaGraphNode_t node;
	CHECK(ADD_NODE(&node, graph, after, 1, &p));
	*after = node;
	return p.conditional.phGraph_out[0];
}

static cudaGraphExec_t make(state *s)
{
	cudaGraphConditionalHandle loop, branch;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphConditionalHandleCreate(&loop, graph, 0, cudaGraphCondAssignDefault));
	CHECK(cudaGraphConditionalHandleCreate(&branch, graph, 0, cudaGraphCondAssignDefault));
	void *all[] = {&s, &loop, &branch}, *one[] = {&s, &loop};
	cudaGraphNode_t last = add_kernel(graph, NULL, (const void *)first, all);
	add_kernel(add_conditional(graph, &last, loop, cudaGraphCondTypeWhile), NULL,
	           (const void *)again, one);
	add_kernel(add_conditional(graph, &last, branch, cudaGraphCondTypeIf), NULL,
	           (const void *)sometimes, all);
	add_kernel(graph, last, (const void *)plain, all);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static cudaGraphExec_t make_plain(state *s)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	void *all[] = {&s};

	CHECK(cudaGraphCreate(&graph, 0));
	add_kernel(graph, add_kernel(graph, NULL, (const void *)plain, all), (const void *)plain, all);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

int main(int argc, char **argv)
{
	unsigned launches = argc > 1 ? (unsigned)atoi(argv[1]) : 400;
	unsigned long long wanted = 0;
	int version = 0;
	cudaStream_t stream;
	state *s, seen;

	CHECK(cudaDriverGetVersion(&version));
	if (version < 12040) {
		printf("skip: the driver is older than conditional nodes\n");
		return 77;
	}
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&s, sizeof(*s)));
	CHECK(cudaMemset(s, 0, sizeof(*s)));
	CHECK(cudaDeviceSynchronize());
	cudaGraphExec_t exec = make(s), other = make_plain(s);
	for (unsigned i = 1; i <= launches; i++) {
		unsigned left = i % 7;
		CHECK(cudaGraphLaunch(exec, stream));
		plain<<<1, 1, 0, stream>>>(s);
		CHECK(cudaGetLastError());
		CHECK(cudaGraphLaunch(other, stream));
		if (i % 50 == 0)
			CHECK(cudaStreamSynchronize(stream));
		wanted += left * (left + 1) / 2 + (i % 2) * 1000 + 4 * 100000;
	}
	CHECK(cudaMemcpyAsync(&seen, s, sizeof(seen), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	printf("conditional: launches=%u sum=%llu\n", seen.launch, seen.sum);
	printf("result: %s\n", seen.sum == wanted ? "ok" : "wrong");
	return seen.sum != wanted;
}
