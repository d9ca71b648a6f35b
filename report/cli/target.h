/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command's executable says of whether, and how, a library can be preloaded into it. For
 * `run`.
 */
#ifndef REPORT_TARGET_H
#define REPORT_TARGET_H

#include <stdbool.h>

struct target {
	char *path;             /* found through PATH; NULL = not found */
	char *program;          /* what is executed in the end: the interpreter of a script */
	char *sanitizer;        /* the sanitizer's library that must come first; NULL = none */
	const char *unobserved; /* why the loader will not preload anything; NULL = it will */
	const char *foreign;    /* why it would not start with our library; NULL = it would */
};

void target_examine(struct target *t, const char *command);
void target_free(struct target *t);

#endif
