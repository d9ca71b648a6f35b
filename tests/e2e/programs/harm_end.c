/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_end HOW [amid]: 100 launches, and the process ends of its own will: by _exit, quick_exit,
 * _Exit, another program in its place (execv, execl), or, with "failed", by SIGKILL after an exec
 * that failed and 50 launches more; or against its will, by a store to nowhere (fault), or not at
 * all (hang). With "amid" other threads launch all the while.
 */
#include "tests/e2e/programs/harm.h"

static char *const leaf[] = {"/bin/sh", "-c", "exit 7", NULL};

static void *launch_for_ever(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	for (;;)
		work_launch(work_short, NULL);
	return unused;
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	pthread_t thread[4];

	work_start();
	if (argc > 2)
		start_threads(thread, 4, launch_for_ever, NULL);
	work_launches(100);
	say(strcmp(how, "hang") ? "launched\n" : "ready\n");
	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "_Exit"))
		_Exit(7);
	if (!strcmp(how, "quick_exit"))
		quick_exit(7);
	if (!strcmp(how, "execv"))
		execv(leaf[0], leaf);
	if (!strcmp(how, "execl"))
		execl("/bin/sh", "sh", "-c", "exit 7", NULL);
	if (!strcmp(how, "failed")) {
		execl("/nowhere/to/be/found", "found", NULL);
		work_launches(50);
		kill(getpid(), SIGKILL);
	}
	if (!strcmp(how, "fault"))
		*(volatile int *)64 = 1;
	while (!strcmp(how, "hang"))
		pause();
	return 98;
}
