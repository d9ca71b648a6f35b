/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of the benchmark: those that work and are asked for figures over pipes, and commands
 * run to their end.
 */
#ifndef TESTS_BENCH_CHILD_H
#define TESTS_BENCH_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct child {
	pid_t pid; /* 0 = not running */
	FILE *to, *from;
};

/* What a child's environment has beside the caller's: NAME=VALUE, NULL at the end. */
typedef const char *const *child_environment;

/* Starts a process whose stderr goes to the file `messages`. */
bool child_start(struct child *c, const char *const *argv, child_environment extra,
                 const char *messages);

/* Median ns of one call of this kind, in bursts; -1 where the process does not answer. */
double child_ask(struct child *c, const char *burst, unsigned long calls, unsigned bursts,
                 unsigned pause_us);

/* Ends its input and waits: its exit status, -1 where a signal ended it. */
int child_end(struct child *c);

/* What a finished command took. */
struct spent {
	double wall_s, cpu_s;
	unsigned long anonymous_kib; /* the most anonymous memory that was seen; 0 = too short to be
	                                seen */
};

/* Runs a command with its output thrown away; its exit status. `watch`: looks at its memory all the
 * while. */
int child_run(const char *const *argv, child_environment extra, struct spent *spent, bool watch);

/* Where a program is in PATH, or NULL; valid until the next call. */
const char *child_find(const char *program);

#endif
