/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs of bench: each command in its turn, with the shim and where asked for without it, in a
 * folder of its own. For bench.
 */
#ifndef REPORT_BENCH_RUN_H
#define REPORT_BENCH_RUN_H

#include "report/gate/bench.h"

struct bench_plan {
	char **commands[BENCH_SIDES]; /* each ends with NULL */
	bool ignore_failure;
	struct run_set_options figures;
};

/* Runs all of `b`, which says how often, and adds to it what was measured. EXIT_DONE, or another
 * status when one line was written: that of a command that failed. */
int bench_run(struct bench *b, const struct bench_plan *plan);

#endif
