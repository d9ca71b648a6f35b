/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command or two, run again and again in turns: what each takes, calls and is slow for, and by
 * how much they differ. For `cudaspy bench` and its outputs.
 */
#ifndef REPORT_BENCH_H
#define REPORT_BENCH_H

#include "report/gate/headline.h"

#define BENCH_SIDES 2

struct bench_values { /* one for each run */
	double *items;
	size_t count;
};

struct bench_summary { /* NaN = not known */
	double median, least, most;
	double low, high; /* of the median, 95 %; with fewer than six runs not known */
	size_t count;
};

struct bench_side {
	const char *label; /* "A" */
	char *command;
	struct bench_values wall, cpu;           /* ns, with the shim */
	struct bench_values bare_wall, bare_cpu; /* without it, in the same turns */
	struct compare_timing cost;              /* wall with the shim against wall without */
};

struct bench {
	struct bench_side sides[BENCH_SIDES];
	size_t side_count;
	size_t runs, warmup;
	bool bare;
	const char *keep;            /* folder with the recordings; NULL = they are gone */
	struct compare_result found; /* `before` is A, `after` is B; of one command it is empty */
	struct compare_timing wall, cpu; /* B against A */
	struct headline headline;        /* of two commands */
};

void bench_add(struct bench_values *v, double value);
/* Compares what was measured; `found` has the recordings' figures by now. */
void bench_judge(struct bench *b);
void bench_free(struct bench *b);

/* The recordings of a side. */
const struct run_set *bench_runs(const struct bench *b, size_t side);
struct bench_summary bench_summary(const struct bench_values *v);
/* Of a figure of the recordings. */
struct bench_summary bench_summary_of(const struct bench *b, size_t side, const struct metric *m,
                                      bool per_step);

struct bench_verdict {
	const char *name; /* "inconclusive" where there is none */
	size_t count;     /* runs that have it */
};
/* Most frequent first; how many there are, at most `room`. */
size_t bench_verdicts(const struct bench *b, size_t side, struct bench_verdict *to, size_t room);

#endif
