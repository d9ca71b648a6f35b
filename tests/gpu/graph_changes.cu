/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_changes: what it costs to give the nodes of a graph other parameters before it is launched.
 *
 *     graph_changes [ROUNDS]
 *
 * One line for each size of the graph and each number of its nodes that are changed: medians, in us,
 * of the changing calls, of the launch, of the graph on the GPU (between two events beside it) and
 * of the step, which ends in a wait or, "run ahead", does not. The numbers of changed nodes take
 * turns, so that a drift of the machine falls on all alike.
 *
 * A line "skip: ..." and status 77: there is no GPU.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TRY(call) check(#call, (call))
#define STEPS 40 /* a turn; the first quarter of it is not counted */

static void check(const char *what, cudaError_t rc)
{
	if (rc == cudaErrorNoDevice || rc == cudaErrorInsufficientDriver) {
		printf("skip: %s\n", cudaGetErrorString(rc));
		exit(77);
	}
	if (rc != cudaSuccess) {
		printf("%s: %s\n", what, cudaGetErrorString(rc));
		exit(1);
	}
}

static __global__ void busy(unsigned *value, unsigned rounds)
{
	unsigned x = *value;

	for (unsigned i = 0; i < rounds; i++)
		x = x * 1664525u + 1013904223u;
	*value = x;
}

static double now_us()
{
	return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double median(std::vector<double> of)
{
	if (of.empty())
		return 0;
	std::nth_element(of.begin(), of.begin() + of.size() / 2, of.end());
	return of[of.size() / 2];
}

struct graph {
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	std::vector<cudaGraphNode_t> nodes;
};

static graph graph_of(size_t nodes, unsigned *value, unsigned rounds, cudaStream_t stream)
{
	graph g;

	TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (size_t i = 0; i < nodes; i++)
		busy<<<1, 32, 0, stream>>>(value, rounds);
	TRY(cudaStreamEndCapture(stream, &g.graph));
	g.nodes.resize(nodes);
	TRY(cudaGraphGetNodes(g.graph, g.nodes.data(), &nodes));
	TRY(cudaGraphInstantiate(&g.exec, g.graph, 0));
	return g;
}

/* Spread over the graph, so that not only its head is. */
static void change(const graph &g, size_t changed, unsigned *value, unsigned rounds)
{
	void *arguments[] = {&value, &rounds};
	cudaKernelNodeParams params = {};

	params.func = (void *)busy;
	params.gridDim = dim3(1, 1, 1);
	params.blockDim = dim3(32, 1, 1);
	params.kernelParams = arguments;
	for (size_t i = 0; i < changed; i++)
		TRY(cudaGraphExecKernelNodeSetParams(g.exec, g.nodes[i * g.nodes.size() / changed], &params));
}

struct seen {
	std::vector<double> changing, launch, gpu, step;
};

static void turn(const graph &g, size_t changed, bool wait, bool same, unsigned *values[2], unsigned rounds,
                 cudaStream_t stream, const cudaEvent_t event[2], seen *to)
{
	double began = now_us();

	for (unsigned i = 0; i < STEPS; i++) {
		double t0 = now_us();
		change(g, changed, values[same ? 0 : i % 2], rounds);
		double t1 = now_us();
		if (wait && i % 2)
			TRY(cudaEventRecord(event[0], stream));
		double t2 = now_us();
		TRY(cudaGraphLaunch(g.exec, stream));
		double t3 = now_us();
		if (wait && i % 2)
			TRY(cudaEventRecord(event[1], stream));
		if (wait)
			TRY(cudaStreamSynchronize(stream));
		double t4 = now_us();
		if (i < STEPS / 4) {
			began = t4;
			continue;
		}
		to->changing.push_back(t1 - t0);
		to->launch.push_back(t3 - t2);
		if (wait && i % 2) {
			float ms;
			TRY(cudaEventElapsedTime(&ms, event[0], event[1]));
			to->gpu.push_back(1e3 * ms);
		} else if (wait) {
			to->step.push_back(t4 - t0);
		}
	}
	if (!wait) {
		TRY(cudaStreamSynchronize(stream));
		to->step.push_back((now_us() - began) / (STEPS - STEPS / 4));
	}
}

int main(int argc, char **argv)
{
	unsigned turns = argc > 1 ? (unsigned)atoi(argv[1]) : 30, *values[2];
	cudaStream_t stream;
	cudaEvent_t event[2];
	cudaDeviceProp properties;

	TRY(cudaGetDeviceProperties(&properties, 0));
	printf("device: %s\n", properties.name);
	TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int i = 0; i < 2; i++) {
		TRY(cudaMalloc(&values[i], sizeof(unsigned)));
		TRY(cudaMemset(values[i], 0, sizeof(unsigned)));
		TRY(cudaEventCreate(&event[i]));
	}
	TRY(cudaDeviceSynchronize());
	printf("nodes rounds changed   way        changing   launch      gpu     step\n");
	for (unsigned rounds : {100u, 3000u}) {
		for (size_t nodes : {1, 4, 16, 64, 173, 400}) {
			graph g = graph_of(nodes, values[0], rounds, stream);
			std::vector<size_t> numbers = {0};
			for (size_t n : {(size_t)1, nodes / 4, nodes})
				if (n > numbers.back())
					numbers.push_back(n);
			for (bool wait : {true, false}) {
				std::vector<seen> of(numbers.size() + 1);
				for (unsigned t = 0; t < turns; t++) {
					for (size_t k = 0; k < numbers.size(); k++)
						turn(g, numbers[k], wait, false, values, rounds, stream, event, &of[k]);
					turn(g, nodes, wait, true, values, rounds, stream, event, &of.back());
				}
				for (size_t k = 0; k < of.size(); k++)
					printf("%5zu %6u %7zu   %-9s %9.2f %8.2f %8.2f %8.2f%s\n", nodes, rounds,
					       k < numbers.size() ? numbers[k] : nodes, wait ? "waited" : "run ahead",
					       median(of[k].changing), median(of[k].launch), median(of[k].gpu),
					       median(of[k].step), k < numbers.size() ? "" : "   (to what they are)");
			}
			TRY(cudaGraphExecDestroy(g.exec));
			TRY(cudaGraphDestroy(g.graph));
		}
	}
	return 0;
}
