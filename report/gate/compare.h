/*
 * Two sides of recordings, figure by figure: before, after, and whether a time's change is more
 * than noise. For diff and its outputs.
 */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include "report/gate/bounds.h"
#include "report/gate/figures.h"
#include "report/output/out.h"

struct span {                     /* of the runs of a side; NaN = none knows it */
	double low, high, middle; /* middle: the median */
};

struct timing {
	struct span before, after; /* ns, or a share */
	bool judged;
	struct bounds bounds; /* of the ratio; of a share: of the difference */
};

struct total {
	const struct metric *metric;
	bool per_step;
	struct span before, after; /* of counts */
	struct timing time;        /* of the others */
};

struct pair { /* a kernel, an API or a kind of copy that one side has, or both */
	const char *name;
	const struct part *before, *after; /* of the first run that has it; NULL = none */
	struct span count_before, count_after, bytes_before, bytes_after;
	struct timing p50; /* of its API time */
	bool reshaped;     /* a kernel's launch geometry changed */
};

struct pairs { /* changes of counts first, the largest first */
	struct pair *items;
	size_t count;
	size_t changed;
};

struct comparison {
	struct side before, after;
	double steps;
	char *differs;        /* why times do not compare; NULL = they do */
	bool judged;          /* there are enough recordings to judge times */
	struct total *totals; /* of the metrics that have a value somewhere */
	size_t total_count;
	struct pairs kernels, apis, copies;
	bool has_parts; /* APIs and copies are there in full: no side is a baseline */
};

/* Compares the sides, which the comparison takes over. */
void compare(struct comparison *c);
void comparison_free(struct comparison *c);

/* The counts differ, as far as they are known. */
bool span_differs(const struct span *a, const struct span *b);
/* More than noise: 1 = rose, -1 = fell, 0 = neither, or not judged. */
int timing_moved(const struct timing *t, bool ratio);

void out_diff_text(const struct comparison *c, const struct out_options *o);
void out_diff_markdown(const struct comparison *c, const struct out_options *o);
void out_diff_json(const struct comparison *c, const struct out_options *o); /* cudaspy.diff/1 */

#endif
