/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forks HOW: ten launches, a child made as HOW says, ten launches more. The child of a fork makes
 * five calls, all of which fail as CUDA's do in a forked child; a child that is another program is
 * this one again, as "leaf", which makes three launches.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"

static char *leaf[] = {"/proc/self/exe", "leaf", NULL};

static void child_calls(void)
{
	for (int i = 0; i < 5; i++)
		if (cuStreamSynchronize(NULL) != CUDA_ERROR_NOT_INITIALIZED)
			_exit(96);
}

static void wait_for(pid_t child)
{
	int status;

	if (child <= 0 || waitpid(child, &status, 0) != child || status)
		_exit(95);
}

static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void *launch_until(void *stop)
{
	CHECK(cuCtxSetCurrent(work_context));
	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
		work_launches(1);
	return NULL;
}

/* Children made while other threads are inside CUDA, and inside the recording's own code. */
static void fork_under_load(int children)
{
	pthread_t thread[3];
	bool stop = false;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, launch_until, &stop);
	for (int i = 0; i < children; i++) {
		pid_t child = i % 4 == 3 ? raw_clone() : fork();

		if (!child) {
			child_calls();
			_exit(0);
		}
		wait_for(child);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

static void with_fork(const char *how)
{
	bool raw = !strcmp(how, "clone");
	pid_t child = raw ? raw_clone() : fork();

	if (child) {
		wait_for(child);
		return;
	}
	if (!strcmp(how, "quiet"))
		exit(0);
	if (!strcmp(how, "exec"))
		execv(leaf[0], leaf);
	if (!strcmp(how, "grandchild") && (child = fork())) {
		wait_for(child);
		_exit(0);
	}
	usleep(200000);
	child_calls();
	if (raw || !strcmp(how, "_exit"))
		_exit(0);
	exit(0);
}

static void make_child(const char *how)
{
	pid_t child;

	if (!strcmp(how, "vfork")) {
		child = vfork();
		if (!child) {
			execv(leaf[0], leaf);
			_exit(94);
		}
		wait_for(child);
	} else if (!strcmp(how, "spawn")) {
		if (posix_spawn(&child, leaf[0], NULL, NULL, leaf, environ))
			_exit(93);
		wait_for(child);
	} else if (!strcmp(how, "load")) {
		fork_under_load(40);
	} else if (!strcmp(how, "replace")) {
		execv(leaf[0], leaf);
		_exit(92);
	} else {
		with_fork(how);
	}
}

int main(int argc, char **argv)
{
	pid_t child = 0;

	/* Before CUDA is up a fork makes two processes that have nothing to do with each other. */
	if (!strcmp(argv[1], "early"))
		child = fork();
	work_start();
	if (!strcmp(argv[1], "leaf")) {
		work_launches(3);
		return 0;
	}
	work_launches(10);
	if (!strcmp(argv[1], "early")) {
		if (child)
			wait_for(child);
		return 0;
	}
	make_child(argv[1]);
	work_launches(10);
	return 0;
}
