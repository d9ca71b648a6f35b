/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd THREADS CALLS [AT_ONCE]: each of THREADS threads makes CALLS calls, all launches but the
 * first, AT_ONCE (or all) of them alive at the same time. Prints what the process then holds of
 * memory, in KiB.
 */
#include <pthread.h>
#include <string.h>
#include "tests/e2e/programs/work.h"

static unsigned calls;
static pthread_barrier_t all_done;

static void *work(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	work_launches(calls - 1);
	pthread_barrier_wait(&all_done);
	/* The main thread looks at the memory in between. */
	pthread_barrier_wait(&all_done);
	return unused;
}

static long held_kib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long sum = 0, kib;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1 ||
		    sscanf(line, "RssFile: %ld", &kib) == 1 ||
		    sscanf(line, "RssShmem: %ld", &kib) == 1)
			sum += kib;
	if (f)
		fclose(f);
	return sum;
}

static void round_of(unsigned at_once, pthread_t *thread)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	pthread_barrier_init(&all_done, NULL, at_once + 1);
	for (unsigned i = 0; i < at_once; i++)
		if (pthread_create(&thread[i], &attr, work, NULL))
			exit(97);
	pthread_barrier_wait(&all_done);
}

int main(int argc, char **argv)
{
	unsigned threads = (unsigned)atoi(argv[1]);
	unsigned at_once = argc > 3 ? (unsigned)atoi(argv[3]) : threads;
	pthread_t *thread = calloc(at_once, sizeof(*thread));

	calls = (unsigned)atoi(argv[2]);
	work_start();
	for (unsigned done = 0; done < threads; done += at_once) {
		round_of(at_once, thread);
		if (done + at_once >= threads)
			printf("held_kib=%ld\n", held_kib());
		pthread_barrier_wait(&all_done);
		for (unsigned i = 0; i < at_once; i++)
			pthread_join(thread[i], NULL);
		pthread_barrier_destroy(&all_done);
	}
	free(thread);
	return 0;
}
