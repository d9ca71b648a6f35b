/* SPDX-License-Identifier: Apache-2.0 */
/*
 * captures MODE CAPTURES THREADS LAUNCHERS FIRST: so many threads capture graphs one after the
 * other, in mode global, thread or relaxed, while others launch and wait as fast as they can, and
 * each capturing thread launches between its captures too. FIRST: 1 = a launch goes ahead of all
 * that. Prints how many graphs were as they should be, and how many calls failed.
 */
#include <pthread.h>
#include <string.h>
#include "tests/e2e/programs/work.h"

#define NODES 7u

static CUstreamCaptureMode mode;
static unsigned captures, stop;
static unsigned valid, spoilt, failed;

static void count(unsigned *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static void expect(CUresult rc)
{
	if (rc != CUDA_SUCCESS)
		count(&failed);
}

/* What may wait would break the captures of other threads in mode global. */
static void tidy_up(CUgraph graph, CUgraphExec exec, CUstream stream)
{
	CUstreamCaptureMode own = CU_STREAM_CAPTURE_MODE_RELAXED;

	expect(cuThreadExchangeStreamCaptureMode(&own));
	expect(cuStreamSynchronize(stream));
	if (exec)
		expect(cuGraphExecDestroy(exec));
	if (graph)
		expect(cuGraphDestroy(graph));
	expect(cuThreadExchangeStreamCaptureMode(&own));
	if (own != CU_STREAM_CAPTURE_MODE_RELAXED)
		count(&failed); /* somebody left it changed */
}

static void capture_one(CUstream stream, CUstream plain)
{
	CUgraph graph = NULL;
	CUgraphExec exec = NULL;
	size_t nodes = 0;

	expect(cuStreamBeginCapture(stream, mode));
	for (unsigned i = 0; i < NODES; i++) {
		expect(work_launch(work_short, stream));
		expect(work_launch(work_short, plain)); /* beside the capture */
	}
	expect(cuStreamEndCapture(stream, &graph));
	if (graph && cuGraphGetNodes(graph, NULL, &nodes) == CUDA_SUCCESS && nodes == NODES &&
	    cuGraphInstantiate(&exec, graph, 0) == CUDA_SUCCESS) {
		count(&valid);
		expect(cuGraphLaunch(exec, stream));
	} else {
		count(&spoilt);
	}
	for (unsigned i = 0; i < 20; i++)
		expect(work_launch(work_short, stream));
	tidy_up(graph, exec, stream);
}

static void *capture(void *unused)
{
	CUstream stream, plain;

	CHECK(cuCtxSetCurrent(work_context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < captures; i++)
		capture_one(stream, plain);
	return unused;
}

/* Waits by asking for nothing: a query would itself break a capture in mode global. */
static void *launch(void *unused)
{
	CUstream stream;

	CHECK(cuCtxSetCurrent(work_context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		expect(work_launch(work_short, stream));
	return unused;
}

static void start(pthread_t *thread, unsigned n, void *(*f)(void *))
{
	for (unsigned i = 0; i < n; i++)
		pthread_create(&thread[i], NULL, f, NULL);
}

static void join(const pthread_t *thread, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	static pthread_t capturing[64], launching[64];
	unsigned threads, launchers;

	if (argc < 6)
		return 2;
	mode = argv[1][0] == 'g'   ? CU_STREAM_CAPTURE_MODE_GLOBAL
	       : argv[1][0] == 't' ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
	                           : CU_STREAM_CAPTURE_MODE_RELAXED;
	captures = (unsigned)atoi(argv[2]);
	threads = (unsigned)atoi(argv[3]);
	launchers = (unsigned)atoi(argv[4]);
	work_start();
	if (atoi(argv[5]))
		work_launches(1);
	start(launching, launchers, launch);
	start(capturing, threads, capture);
	join(capturing, threads);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	join(launching, launchers);
	printf("valid=%u spoilt=%u failed=%u\n", valid, spoilt, failed);
	return 0;
}
