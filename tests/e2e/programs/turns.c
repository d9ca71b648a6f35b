/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns THREADS STEPS: a step is the launch of a graph and a wait for it, made by each of the
 * threads in turn, as runtimes with a pool of threads do. Every step launches a graph of four
 * kernels of 5 us, every 7th one of six of 11 us too, every 35th one of two of 40 us.
 */
#include <pthread.h>
#include <sched.h>
#include "tests/e2e/programs/work.h"

static const char image[] = "simcuda 1\n"
                            "kernel five fixed:5000\n"
                            "kernel eleven fixed:11000\n"
                            "kernel forty fixed:40000\n";

#define GRAPHS 3u

static const struct {
	const char *kernel;
	unsigned nodes, every;
} shapes[GRAPHS] = {{"five", 4, 1}, {"eleven", 6, 7}, {"forty", 2, 35}};

static CUgraphExec exec[GRAPHS];
static CUstream stream;
static unsigned threads, steps, step;

static void make(unsigned i, CUmodule module)
{
	CUfunction f;
	CUgraph graph;

	CHECK(cuModuleGetFunction(&f, module, shapes[i].kernel));
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (unsigned n = 0; n < shapes[i].nodes; n++)
		CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphInstantiate(&exec[i], graph, 0));
}

static void one_step(unsigned n)
{
	for (unsigned i = 0; i < GRAPHS; i++)
		if (n % shapes[i].every == 0)
			CHECK(cuGraphLaunch(exec[i], stream));
	CHECK(cuStreamSynchronize(stream));
}

static void *turn(void *mine)
{
	CHECK(cuCtxSetCurrent(work_context));
	for (unsigned n = (unsigned)(uintptr_t)mine; n < steps; n += threads) {
		while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) != n)
			sched_yield();
		one_step(n);
		__atomic_store_n(&step, n + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[64];
	CUmodule module;

	threads = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
	steps = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	if (!threads || threads > 64)
		return 2;
	work_start();
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuModuleLoadData(&module, image));
	for (unsigned i = 0; i < GRAPHS; i++)
		make(i, module);
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, turn, (void *)(uintptr_t)i);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
