/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_cancel WAY ...: threads that were asked to end by pthread_cancel(), which they heed where
 * they say so themselves and nowhere else.
 *
 *   pending THREADS LAUNCHES   asked before their first call of CUDA
 *   init                       the same, before the first cuInit of the process
 *   asynchronous THREADS       may be ended at any instruction of a loop outside CUDA
 *   fork                       asked, then they fork; the children call
 *   exit                       the main thread, which then ends the process
 */
#include "tests/e2e/programs/harm.h"

#define MOST 300

static unsigned launches;
static atomic_bool asked;
static atomic_uint finished;
static pid_t child[MOST];

static void wait_until_asked(void)
{
	while (!atomic_load(&asked))
		sched_yield(); /* no cancellation point */
}

static void finish(void)
{
	atomic_fetch_add(&finished, 1);
	pthread_testcancel();
}

static void *pending(void *unused)
{
	wait_until_asked();
	CHECK(cuCtxSetCurrent(work_context));
	work_launches(launches);
	finish();
	return unused;
}

static void *initialise(void *unused)
{
	wait_until_asked();
	work_start();
	work_launches(100);
	finish();
	return unused;
}

static void *asynchronous(void *unused)
{
	int before;

	CHECK(cuCtxSetCurrent(work_context));
	for (;;) {
		work_launches(50);
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
		for (volatile int i = 0; i < 20000; i++)
			;
		pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before);
	}
	return unused;
}

static void *forking(void *number)
{
	CHECK(cuCtxSetCurrent(work_context));
	work_launches(10);
	wait_until_asked();
	pid_t pid = fork();
	if (!pid) {
		calls_of_a_child(5);
		_exit(0);
	}
	child[(unsigned long)number] = pid;
	work_launches(10);
	finish();
	return number;
}

/* Starts them, asks all of them to end, and counts how many were ended by that. */
static int run(unsigned threads, void *(*work)(void *), useconds_t head_start)
{
	static pthread_t thread[MOST];
	unsigned cancelled = 0;

	for (unsigned long i = 0; i < threads; i++)
		start_threads(&thread[i], 1, work, (void *)i);
	usleep(head_start);
	for (unsigned i = 0; i < threads; i++)
		pthread_cancel(thread[i]);
	atomic_store(&asked, true);
	for (unsigned i = 0; i < threads; i++) {
		void *result;

		need(!pthread_join(thread[i], &result), 93);
		cancelled += result == PTHREAD_CANCELED;
	}
	say("%u threads, %u did their work, %u were cancelled\n", threads, atomic_load(&finished),
	    cancelled);
	return 0;
}

static int way_pending(int argc, char **argv)
{
	launches = (unsigned)atoi(argv[1]);
	work_start();
	return run((unsigned)atoi(argv[0]), pending, 0);
}

static int way_init(int argc, char **argv)
{
	return run(1, initialise, 0);
}

static int way_asynchronous(int argc, char **argv)
{
	work_start();
	int status = run((unsigned)atoi(argv[0]), asynchronous, 5000);
	work_launches(10);
	return status;
}

static int way_fork(int argc, char **argv)
{
	work_start();
	run(4, forking, 0);
	for (unsigned i = 0; i < 4; i++)
		say("child ended with %d\n", end_of(child[i]));
	return 0;
}

static int way_exit(int argc, char **argv)
{
	work_start();
	work_launches(100);
	say("the end\n");
	pthread_cancel(pthread_self());
	exit(7);
}

int main(int argc, char **argv)
{
	static const struct harm_way ways[] = {
	        {"pending", way_pending}, {"init", way_init}, {"asynchronous", way_asynchronous},
	        {"fork", way_fork},       {"exit", way_exit}, {NULL, NULL},
	};

	return harm_main(ways, argc, argv);
}
