/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_threads WAY ...: threads by the dozen and by the thousand.
 *
 *   inits THREADS LAUNCHES   each initialises CUDA for itself, all at once
 *   destructors THREADS      one after another; each calls in the last destructor of its data alone
 *   keys THREADS             the same short threads in a program that used up all keys
 *   fifo                     real-time threads of the processor on which others make first calls
 *   ctor LIBRARY             one thread loads a library whose constructor initialises CUDA, another
 *                            initialises it at the same time
 *   stop                     threads that call until told to end; stopped and continued meanwhile
 */
#include <dlfcn.h>
#include <limits.h>
#include "tests/e2e/programs/harm.h"

static unsigned launches;
static atomic_bool told;

static void *launch_some(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	work_launches(launches);
	return unused;
}

/* ---- the start ---- */

static pthread_barrier_t together;

/* Inside the driver: all leave it at once. */
static void meet(void)
{
	pthread_barrier_wait(&together);
}

static void *init_alone(void *unused)
{
	CUcontext context;
	CUmodule module;
	CUfunction function;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, "simcuda 1\nkernel short_work fixed:500\n"));
	CHECK(cuModuleGetFunction(&function, module, "short_work"));
	for (unsigned i = 0; i < launches; i++)
		CHECK(work_launch(function, NULL));
	return unused;
}

static int way_inits(int argc, char **argv)
{
	unsigned threads = (unsigned)atoi(argv[0]);
	pthread_t thread[64];

	launches = (unsigned)atoi(argv[1]);
	pthread_barrier_init(&together, NULL, threads);
	harm_inside(HARM_INIT, meet);
	start_threads(thread, threads, init_alone, NULL);
	join_threads(thread, threads);
	say("%u threads launched %u each\n", threads, launches);
	return 0;
}

/* ---- ends of threads ---- */

static pthread_key_t key;

static void call_in_last_round(void *round)
{
	if ((long)round < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(key, (void *)((long)round + 1));
		return;
	}
	CHECK(cuCtxSetCurrent(work_context));
	work_launches(2);
}

static void *call_at_end(void *unused)
{
	pthread_setspecific(key, (void *)1);
	return unused;
}

static void one_after_another(unsigned threads, void *(*work)(void *))
{
	pthread_t thread;

	for (unsigned i = 0; i < threads; i++) {
		start_threads(&thread, 1, work, NULL);
		join_threads(&thread, 1);
	}
	say("%u threads\n", threads);
}

static int way_destructors(int argc, char **argv)
{
	work_start();
	need(!pthread_key_create(&key, call_in_last_round), 92);
	one_after_another((unsigned)atoi(argv[0]), call_at_end);
	return 0;
}

static int way_keys(int argc, char **argv)
{
	while (!pthread_key_create(&key, NULL))
		;
	launches = 2;
	work_start();
	one_after_another((unsigned)atoi(argv[0]), launch_some);
	return 0;
}

/* ---- real time ---- */

static void *bear_at_priority(void *priority)
{
	const struct sched_param param = {.sched_priority = (int)(long)priority};
	pthread_t thread[4];

	if (priority && pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		return NULL; /* not permitted: as another of the ordinary ones */
	for (int i = 0; i < 20; i++) {
		start_threads(thread, 4, launch_some, NULL);
		join_threads(thread, 4);
	}
	return NULL;
}

static int way_fifo(int argc, char **argv)
{
	cpu_set_t one;
	pthread_t thread[4];

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	work_start();
	launches = 200;
	sched_setaffinity(0, sizeof(one), &one);
	for (long i = 0; i < 4; i++)
		start_threads(&thread[i], 1, bear_at_priority, (void *)(i * 10));
	join_threads(thread, 4);
	say("320 threads\n");
	return 0;
}

/* ---- the loader's lock ---- */

static atomic_bool in_constructor, in_init;

/* Of the library's constructor: both threads are on their way into CUDA. */
void harm_meet(void);
void harm_meet(void)
{
	atomic_store(&in_constructor, true);
	while (!atomic_load(&in_init))
		sched_yield();
}

static void meet_in_init(void)
{
	harm_inside(HARM_INIT, NULL);
	atomic_store(&in_init, true);
	while (!atomic_load(&in_constructor))
		sched_yield();
}

static void *load(void *library)
{
	need(dlopen(library, RTLD_NOW) != NULL, 92);
	return NULL;
}

static int way_ctor(int argc, char **argv)
{
	pthread_t thread[2];

	launches = 1000;
	harm_inside(HARM_INIT, meet_in_init);
	start_threads(thread, 1, init_alone, NULL);
	start_threads(thread + 1, 1, load, argv[0]);
	join_threads(thread, 2);
	say("loaded, and launched\n");
	return 0;
}

/* ---- stopped ---- */

static void *launch_until_told(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	while (!atomic_load(&told))
		work_launches(10);
	return unused;
}

static int way_stop(int argc, char **argv)
{
	pthread_t thread[4];

	work_start();
	start_threads(thread, 4, launch_until_told, NULL);
	say("ready\n");
	wait_to_be_told();
	atomic_store(&told, true);
	join_threads(thread, 4);
	say("stopped and continued\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct harm_way ways[] = {
	        {"inits", way_inits}, {"destructors", way_destructors},
	        {"keys", way_keys},   {"fifo", way_fifo},
	        {"ctor", way_ctor},   {"stop", way_stop},
	        {NULL, NULL},
	};

	return harm_main(ways, argc, argv);
}
