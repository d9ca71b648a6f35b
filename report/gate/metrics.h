/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures by which runs are compared and judged: one row each, from which rules, baselines,
 * differences and explanations come. For figures, rules and the outputs of diff and check.
 */
#ifndef REPORT_METRICS_H
#define REPORT_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/model/model.h"

enum metric_kind {
	METRIC_COUNT, /* exact */
	METRIC_BYTES, /* exact too */
	METRIC_TIME,  /* ns */
	METRIC_SHARE, /* 0 to 1 */
	METRIC_WORD,
};

#define METRIC_GATED   1u  /* judged when no rule is given: none may rise */
#define METRIC_RECORDS 2u  /* comes from records, of which some may be lost */
#define METRIC_GPU     4u  /* needs GPU time */
#define METRIC_KERNELS 8u  /* known of each kernel too */
#define METRIC_STEPS   16u /* is about steps */

/* What a figure is made of, for the hint where a rise comes from. */
enum metric_parts { PARTS_NONE, PARTS_KERNELS, PARTS_APIS, PARTS_FAILED, PARTS_COPIES };

struct metric {
	const char *name;
	enum metric_kind kind;
	unsigned flags;
	double (*of)(const struct model *m); /* NaN = not known; NULL = no model knows it */
	enum metric_parts parts;
	unsigned cls; /* of the APIs, for PARTS_APIS */
	const char *about;
};

enum metric_id {
	METRIC_LAUNCHES,
	METRIC_GRAPH_LAUNCHES,
	METRIC_SYNCS,
	METRIC_COPIES,
	METRIC_PAGEABLE_COPIES,
	METRIC_COPY_BYTES,
	METRIC_SETS,
	METRIC_ALLOC_CALLS,
	METRIC_FAILED_CALLS,
	METRIC_CALLS,
	METRIC_WINDOW_NS,
	METRIC_LOOP_STEPS,
	METRIC_STEP_P50_NS,
	METRIC_STEP_PERIOD_NS,
	METRIC_LAUNCH_P50_NS,
	METRIC_LAUNCH_OVERHEAD_NS,
	METRIC_SYNC_WASTED_NS,
	METRIC_GPU_BUSY_SHARE,
	METRIC_VERDICT,
	METRICS,
};
extern const struct metric metrics[METRICS];

/* Exact, and a sum over the run: can be asked for per step. */
static inline bool metric_is_count(const struct metric *m)
{
	return m->kind == METRIC_COUNT || m->kind == METRIC_BYTES;
}

/* Behind a name in a table, where it alone is taken for something else; else "". */
static inline const char *metric_explained(const struct metric *m)
{
	return m == &metrics[METRIC_SETS] ? " (memsets)" : "";
}

/* Which figure of struct model_work_done it is: known of each step and each NVTX range; -1 = of
 * none. */
int metric_work(const struct metric *m);
/* Where it may lie, if it is estimated; else low and high are what it is. */
void metric_interval(const struct metric *metric, const struct model *m, double *low, double *high);

/* The row of what follows "loop." in a rule, and whether it is meant per step; NULL = there is
 * none.
 */
const struct metric *metric_of_loop(const char *name, size_t bytes, bool *per_step);
/* The row of a name of `bytes` bytes; NULL = there is none. */
const struct metric *metric_find(const char *name, size_t bytes);
/* All names, ending with NULL, for suggestions. */
const char *const *metric_names(void);

/* "2000", "+2000", "1.05": whole as far as it is (METRIC_NUMBER_BYTES); returns `to`. */
#define METRIC_NUMBER_BYTES 32
char *metric_number(char *to, double v, bool sign);
/* "2000", "2000..2003", "2.67us", "n/a": a value, or the least and the largest of several (free
 * it).
 */
char *metric_text(enum metric_kind kind, double low, double high);

#endif
