/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endings HOW [THREADS]: 100 launches, then the end of the process named by HOW, while THREADS
 * other threads go on calling.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"

/* After the driver's own end every call fails, and is still a call. */
static void *call_for_ever(void *unused)
{
	cuCtxSetCurrent(work_context);
	for (;;) {
		work_launch(work_short, NULL);
		cuStreamSynchronize(NULL);
	}
	return unused;
}

static void die(int signal)
{
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	raise(signal);
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	int threads = argc > 2 ? atoi(argv[2]) : 0;

	work_start();
	for (int i = 0; i < threads; i++) {
		pthread_t t;

		pthread_create(&t, NULL, call_for_ever, NULL);
	}
	work_launches(100);
	if (!strcmp(how, "return"))
		return 7;
	if (!strcmp(how, "exit"))
		exit(7);
	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "quick_exit"))
		quick_exit(7);
	if (!strcmp(how, "pthread_exit"))
		pthread_exit(NULL);
	if (!strcmp(how, "abort"))
		die(SIGABRT);
	if (!strcmp(how, "kill"))
		die(SIGKILL);
	if (!strcmp(how, "segv"))
		die(SIGSEGV);
	if (!strcmp(how, "term"))
		die(SIGTERM);
	return 98;
}
