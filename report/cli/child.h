/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command run as a child, as if it were run directly: signals reach it, its status is ours. For
 * `run --report`, `bench` and `calibrate`.
 */
#ifndef REPORT_CHILD_H
#define REPORT_CHILD_H

struct child {
	char **command;
	/* Called in the child before the command is executed: environment, where output goes. An
	 * errno when that failed. May be NULL. */
	int (*prepare)(void *context);
	void *context;
	/* How it ended. */
	int status;     /* 128 + signal when one killed it */
	int caught;     /* a signal that came to us meanwhile and was passed on; 0 = none */
	double wall_ns; /* from before the fork until it was seen to have ended */
	double cpu_ns;  /* user and system, of it and the children it waited for */
};

/* Runs the command to its end. 0, or the errno of exec. */
int child_run(struct child *c);

/* For `prepare`: nothing to read, and what it writes goes into a file that is opened by these
 * flags. 0, or an errno. */
int child_redirect(const char *path, int flags);

#endif
