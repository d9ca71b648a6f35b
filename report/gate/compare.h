/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sides of recordings, figure by figure: before, after, and whether a time's change is more
 * than noise. For diff and its outputs.
 */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include "report/gate/bounds.h"
#include "report/gate/figures.h"

struct compare_span {             /* of the runs of a side; NaN = none knows it */
	double low, high, middle; /* middle: the median */
};

struct compare_timing {
	struct compare_span before, after; /* ns, or a share */
	bool judged;
	struct bounds bounds; /* of the ratio; of a share: of the difference */
};

struct compare_total {
	const struct metric *metric;
	bool per_step;
	struct compare_span before, after; /* of counts */
	struct compare_timing time;        /* of the others */
};

struct compare_pair { /* a kernel, an API or a kind of copy that one side has, or both */
	const char *name;
	const struct figures_part *before, *after; /* of the first run that has it; NULL = none */
	struct compare_span count_before, count_after, bytes_before, bytes_after;
	struct compare_timing p50; /* of its API time */
	bool reshaped;             /* a kernel's launch geometry changed */
};

enum compare_presence {
	PRESENCE_BOTH,
	PRESENCE_APPEARED,
	PRESENCE_VANISHED,
	PRESENCE_UNKNOWN /* the side that lacks it knows no counts */
};

struct compare_pairs { /* changes of counts first, the largest first */
	struct compare_pair *items;
	size_t count;
	size_t changed;
};

struct compare_result {
	struct run_set before, after;
	double steps;
	char *differs;                /* why times do not compare; NULL = they do */
	bool judged;                  /* there are enough recordings to judge times */
	struct compare_total *totals; /* of the metrics that have a value somewhere */
	size_t total_count;
	struct compare_pairs kernels, apis, copies;
	/* Of the first recording of each side that knows where its calls are made; what grew most
	 * comes first. */
	struct figures_site_pair *sites;
	size_t site_count;
	bool has_sites; /* both sides have one */
	bool has_parts; /* APIs and copies are there in full: no side is a baseline */
};

/* Of values of which some may be unknown; they are put in order. */
struct compare_span span_of(double *values, size_t count);
/* A figure of each run of a set, in order of the runs; NaN = not known (free it). */
double *compare_values(const struct run_set *s, const struct metric *m, bool per_step,
                       double steps);

/* Compares the sides, which the comparison takes over. */
void compare(struct compare_result *c);
void comparison_free(struct compare_result *c);

/* So many calls are needed for the middle of their times to be set against another one. */
#define COMPARE_CALLS_LEAST 3
bool pair_is_few(const struct compare_pair *p);
/* Of a pair: how often, how many bytes, or the launch geometry. */
bool pair_changed(const struct compare_pair *p);

enum compare_presence pair_presence(const struct compare_pair *p);

/* One side alone knows it. */
bool span_half_known(const struct compare_span *a, const struct compare_span *b);
/* The counts differ, as far as they are known. */
bool span_differs(const struct compare_span *a, const struct compare_span *b);
/* More than noise: 1 = rose, -1 = fell, 0 = neither, or not judged. */
int timing_moved(const struct compare_timing *t, bool ratio);

#endif
