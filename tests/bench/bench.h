/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the benchmark: where things are, the peers, and what one run prints. For the
 * benchmark's own process.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include "tests/bench/child.h"

enum { PATH_BYTES = 1024 };

struct bench {
	const char *build; /* the build folder, absolute */
	bool quick;        /* a smoke run: few calls, figures worth nothing */
	char self[PATH_BYTES];
	char folder[PATH_BYTES]; /* for everything that is written; removed at the end */
	const char *no_lttng;    /* why there is no such peer; NULL = there is */
	const char *no_uftrace;
};

/* "NAME=VALUE" or a path, in memory that stays. */
const char *bench_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

double bench_median(double *values, unsigned n); /* sorts them */

/* What one call costs, bare, under the shim and under the peers. False: something did not work. */
bool bench_calls(struct bench *b);

/* What a record costs the collector. */
bool bench_collector(struct bench *b);

/* How long the report of a long trace takes, beside the peers' on the same number of calls. */
bool bench_trace(struct bench *b);

/* What the export of a trace takes. */
bool bench_export(struct bench *b);

/* ---- the peers: bench_peers.c ---- */

/* Starts a session daemon and a session with the tracepoints on; false, and b->no_lttng says why,
 * where it cannot. */
bool lttng_begin(struct bench *b, const char *output);
/* Stops both. Returns the number of events that LTTng says it threw away, -1 where it does not say.
 */
long lttng_end(struct bench *b);
/* The working process with the tracepoints; in a new call of uftrace with its data in `data`. */
bool lttng_start_work(struct bench *b, struct child *c);
bool uftrace_start_work(struct bench *b, struct child *c, const char *data);
/* The environment of every working process: the driver that does nothing. */
const char *bench_library_path(struct bench *b);

#endif
