/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady THREADS: threads that call as fast as they can until the process is killed; with "wait",
 * one thread that waits for a kernel of a minute. Says "ready" once the work has begun.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"

static void *work(void *unused)
{
	static char host[64];
	CUstream stream;
	CUdeviceptr memory;

	CHECK(cuCtxSetCurrent(work_context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&memory, 4096));
	for (unsigned i = 0;; i++) {
		CHECK(work_launch(work_short, stream));
		CHECK(cuMemcpyHtoDAsync(memory, host, sizeof(host), stream));
		CHECK(cuMemsetD8Async(memory, 0, 4096, stream));
		if (i % 16 == 15)
			CHECK(cuStreamSynchronize(stream));
	}
	return unused;
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned threads = (unsigned)atoi(argv[1]);

	work_start();
	if (!strcmp(argv[1], "wait")) {
		CHECK(work_launch(work_long, NULL));
		ready();
		cuCtxSynchronize();
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_t t;

		pthread_create(&t, NULL, work, NULL);
	}
	ready();
	for (;;)
		pause();
}
