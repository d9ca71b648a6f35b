/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of test_harm.py share. Each has several ways to run, named by its first
 * argument, and says on stdout what it came to; bare and watched it says the same. */
#pragma once
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/e2e/programs/harm_driver.h"
#include "tests/e2e/programs/work.h"

struct harm_way {
	const char *name;
	int (*run)(int argc, char **argv); /* the rest of the arguments; the exit status */
};

static inline int harm_main(const struct harm_way *way, int argc, char **argv)
{
	for (; argc > 1 && way->name; way++)
		if (!strcmp(way->name, argv[1]))
			return way->run(argc - 2, argv + 2);
	return 90;
}

/* Without stdio's buffer, which a forked child would write once more. */
static inline __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
	char line[256];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(91);
}

static inline void need(bool ok, int status)
{
	if (!ok)
		_exit(status);
}

/* Until somebody writes to our stdin or closes it. */
static inline void wait_to_be_told(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
		;
}

static inline void on_signal(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	need(!sigaction(number, &action, NULL), 92);
}

static inline void ring_alarm(long after_us, long each_us)
{
	const struct itimerval when = {{0, each_us}, {0, after_us}};

	need(!setitimer(ITIMER_REAL, &when, NULL), 92);
}

/* `count` threads of a small stack, all alive at once. */
static inline void start_threads(pthread_t *thread, unsigned count, void *(*work)(void *),
                                 void *arg)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	for (unsigned i = 0; i < count; i++)
		need(!pthread_create(&thread[i], &attr, work, arg), 93);
	pthread_attr_destroy(&attr);
}

static inline void join_threads(const pthread_t *thread, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		need(!pthread_join(thread[i], NULL), 93);
}

static inline void *launch_so_many(void *count)
{
	CHECK(cuCtxSetCurrent(work_context));
	work_launches(*(const unsigned *)count);
	return NULL;
}

/* So many of each thread; 16 threads at most. */
static inline void threads_launch(unsigned threads, unsigned launches)
{
	pthread_t thread[16];

	start_threads(thread, threads, launch_so_many, &launches);
	join_threads(thread, threads);
}

/* What a forked child can do: calls that fail, which are calls all the same. */
static inline void calls_of_a_child(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		need(cuStreamSynchronize(NULL) == CUDA_ERROR_NOT_INITIALIZED, 94);
}

/* How a child ended, as waitpid() tells it. */
static inline int end_of(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) != child)
		need(errno == EINTR, 95);
	return status;
}
