/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/gate/judge_internal.h"

static bool all_sure(struct judge_trial *c, const struct run_set *s, const double *values)
{
	for (size_t i = 0; i < s->count; i++) {
		char *why = isfinite(values[i]) ? judge_unsure(c, &s->runs[i])
		                                : judge_not_known(c, &s->runs[i]);
		if (why)
			judge_inconclusive(c->to, why);
	}
	return !c->to->reason;
}

/* The 99 % bound on its side of the limit: noise alone does not put it there. */
static void judge_rise(struct judge_trial *c)
{
	const struct run_set *before = c->judge->before, *after = c->judge->after;
	const struct rule *r = c->rule;
	struct judgement *to = c->to;
	bool ratio = r->percent && r->metric->kind != METRIC_SHARE;
	char *differs = machine_difference(before, after);

	if (differs) {
		judge_inconclusive(
		        to,
		        alloc_format("%s: times of different machines do not compare", differs));
		free(differs);
		return;
	}
	if (before->count < BOUNDS_LEAST || after->count < BOUNDS_LEAST) {
		judge_inconclusive(
		        to, alloc_format("%d recordings a side are needed to tell a rise from "
		                         "noise; here %zu and %zu",
		                         BOUNDS_LEAST, before->count, after->count));
		return;
	}
	to->has_bounds =
	        bounds_of(&to->bounds, c->before, before->count, c->after, after->count, ratio);
	if (!to->has_bounds) {
		judge_inconclusive(to, alloc_format("%s was 0: there is no percentage of nothing",
		                                    r->metric->name));
		return;
	}
	double allowed = ratio ? 1 + r->value / 100 : r->percent ? r->value / 100 : r->value;
	bool upper = r->op == OP_LE || r->op == OP_LT;
	bool beyond = upper ? to->bounds.lower > allowed : to->bounds.upper < allowed;
	if (to->bounds.tied) {
		to->has_bounds = false;
		if (beyond)
			judge_inconclusive(
			        to, alloc_format("the recordings of each side all say the same: "
			                         "nothing tells how exact that is; 5 a side can be "
			                         "judged"));
	} else if (beyond) {
		judge_fail(to);
	}
}

/* The median of where an estimate may lie at one end, over the runs. */
static double median_end(const struct judge_trial *c, bool high)
{
	const struct run_set *after = c->judge->after;
	const size_t id = (size_t)(c->rule->metric - metrics);
	double *ends = alloc_zeroed(after->count, sizeof(*ends)), m;

	for (size_t i = 0; i < after->count; i++)
		ends[i] = high ? c->after[i] + after->runs[i].above[id]
		               : c->after[i] - after->runs[i].below[id];
	stats_sort(ends, after->count);
	m = stats_median(ends, after->count);
	free(ends);
	return m;
}

static void judge_absolute(struct judge_trial *c)
{
	const struct rule *r = c->rule;
	struct judgement *to = c->to;
	double low = median_end(c, false), high = median_end(c, true);
	bool low_holds = judge_holds(r->op, low, r->value, r->value);

	if (low_holds != judge_holds(r->op, high, r->value, r->value)) {
		char *interval = metric_text(r->metric->kind, low, high);
		char *limit = metric_text(r->metric->kind, r->value, r->value);
		judge_inconclusive(to, alloc_format("%s is estimated at %s (95 %%): the limit, %s, "
		                                    "is within; CUDASPY_GPU=cupti is exact",
		                                    r->metric->name, interval, limit));
		free(interval);
		free(limit);
	} else if (!low_holds) {
		judge_fail(to);
	}
	if (c->judge->after->count > 1)
		to->note = alloc_format("the median of %zu recordings is judged",
		                        c->judge->after->count);
}

void judge_times(struct judge_trial *c)
{
	if (!all_sure(c, c->judge->after, c->after) ||
	    (c->rule->relative && !all_sure(c, c->judge->before, c->before)))
		return;
	double low = median_end(c, false), high = median_end(c, true);
	if (low < high) {
		c->to->estimate_low = low;
		c->to->estimate_high = high;
	}
	if (c->rule->relative)
		judge_rise(c);
	else
		judge_absolute(c);
}
