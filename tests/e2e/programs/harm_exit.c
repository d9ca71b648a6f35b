/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_exit WAY: a process that ends while its threads make calls of all kinds.
 *
 *   term WHO   exit(7) in a handler of SIGTERM, sent by who waits for "ready". It is taken by the
 *              main thread (WHO main), one that has just come into being (newborn) or one that
 *              loads and unloads modules (loader)
 *   early      the same, sent by a thread to the main one while CUDA starts or soon after
 *   alloc      exit(7) in a signal handler inside cuMemAlloc
 *   first      exit(7) while other threads make their first calls
 *   again      exit(7) in a handler, while the main thread is in exit(8) already
 *   last       pthread_exit() of the main thread, then of the others
 */
#include "tests/e2e/programs/harm.h"

static const char image[] = "simcuda 1\nkernel other fixed:500\n";
static const char *who = ""; /* takes the signal */

static void take_term(int how)
{
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(how, &term, NULL);
}

static void *launch_and_set(void *unused)
{
	CUdeviceptr memory;

	cuCtxSetCurrent(work_context);
	cuMemAlloc(&memory, 4096);
	for (;;) {
		work_launch(work_short, NULL);
		cuMemsetD8Async(memory, 0, 4096, NULL);
	}
	return unused;
}

static void *alloc(void *unused)
{
	cuCtxSetCurrent(work_context);
	for (;;) {
		CUdeviceptr memory;

		if (!cuMemAlloc(&memory, 4096))
			cuMemFree(memory);
	}
	return unused;
}

static CUmodule load_one(void)
{
	CUmodule module = NULL;
	CUfunction function;

	if (!cuModuleLoadData(&module, image) && !cuModuleGetFunction(&function, module, "other"))
		work_launch(function, NULL);
	return module;
}

static void *load(void *unused)
{
	cuCtxSetCurrent(work_context);
	if (!strcmp(who, "loader"))
		take_term(SIG_UNBLOCK);
	for (;;)
		cuModuleUnload(load_one());
	return unused;
}

static unsigned born_launches = 5000;

static void *born(void *unused)
{
	if (!strcmp(who, "newborn"))
		take_term(SIG_UNBLOCK);
	cuCtxSetCurrent(work_context);
	for (unsigned i = 0; i < born_launches; i++)
		work_launch(work_short, NULL);
	return unused;
}

static void *bear(void *unused)
{
	for (;;) {
		pthread_t thread[4];

		start_threads(thread, 4, born, NULL);
		join_threads(thread, 4);
	}
	return unused;
}

static void start_all(void)
{
	static void *(*const work[])(void *) = {launch_and_set, alloc, load, bear};
	pthread_t thread;

	take_term(SIG_BLOCK);
	for (unsigned i = 0; i < sizeof(work) / sizeof(work[0]); i++)
		start_threads(&thread, 1, work[i], NULL);
	if (!strcmp(who, "main"))
		take_term(SIG_UNBLOCK);
}

static void end_process(int number)
{
	exit(7);
}

static void *send_term(void *unused)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	usleep((useconds_t)(now.tv_nsec / 1000 % 8000));
	kill(getpid(), SIGTERM);
	return unused;
}

static int way_term(int argc, char **argv)
{
	who = argv[0];
	on_signal(SIGTERM, end_process, 0);
	work_start();
	for (int i = 0; i < 2000; i++) /* as in a program that compiles its kernels as it goes */
		load_one();
	start_all();
	work_launches(1000);
	say("ready\n");
	for (;;)
		work_launch(work_short, NULL);
	return 0;
}

static int way_early(int argc, char **argv)
{
	pthread_t thread;

	on_signal(SIGTERM, end_process, 0);
	take_term(SIG_BLOCK);
	start_threads(&thread, 1, send_term, NULL);
	take_term(SIG_UNBLOCK);
	work_start();
	for (;;)
		work_launch(work_short, NULL);
	return 0;
}

static void raise_here(void)
{
	raise(SIGUSR1);
}

static int way_alloc(int argc, char **argv)
{
	CUdeviceptr memory;

	on_signal(SIGUSR1, end_process, 0);
	work_start();
	work_launches(100);
	harm_inside(HARM_ALLOC, raise_here);
	cuMemAlloc(&memory, 4096);
	return 8;
}

static int way_first(int argc, char **argv)
{
	static pthread_t thread[64];

	born_launches = 500;
	work_start();
	start_threads(thread, 64, born, NULL);
	exit(7);
}

static void at_the_end(void)
{
	raise(SIGUSR1);
}

static int way_again(int argc, char **argv)
{
	on_signal(SIGUSR1, end_process, 0);
	atexit(at_the_end);
	work_start();
	work_launches(100);
	exit(8);
}

static void *some(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	work_launches(2000);
	return unused;
}

static int way_last(int argc, char **argv)
{
	pthread_t thread[8];

	work_start();
	start_threads(thread, 8, some, NULL);
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	static const struct harm_way ways[] = {
	        {"term", way_term},   {"early", way_early}, {"alloc", way_alloc},
	        {"first", way_first}, {"again", way_again}, {"last", way_last},
	        {NULL, NULL},
	};

	return harm_main(ways, argc, argv);
}
