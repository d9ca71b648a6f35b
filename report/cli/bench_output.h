/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runs of a bench write to their stdout and stderr: a file a run, which is looked at only
 * where something went wrong. For bench_run.c.
 */
#ifndef REPORT_BENCH_OUTPUT_H
#define REPORT_BENCH_OUTPUT_H

#include <stddef.h>

/* Of one bench: what the shim said in a run, so that it is told but once. */
struct bench_output {
	char **told;
	size_t told_count;
};

/* The run's file in its folder (free it). */
char *bench_output_path(const char *folder);
/* Makes it, with room for what the shim has to say when the disk is full. -1 when one line was
 * written. */
int bench_output_make(const char *folder);
/* All of it, on stderr: of a command that failed. */
void bench_output_show(const char *folder);
/* Lines of the shim's own alone, as far as no run before had them: `run` is its name in words. */
void bench_output_tell(struct bench_output *o, const char *folder, const char *run);
void bench_output_free(struct bench_output *o);

#endif
