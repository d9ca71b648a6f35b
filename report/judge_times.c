#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/alloc.h"
#include "report/judge_parts.h"

/* Why this run's measured figures cannot be judged; NULL = they can (free it). */
static char *unsure(const struct trial *c, const struct figures *f)
{
	if ((c->rule->metric->flags & METRIC_RECORDS) && f->lost_share > JUDGE_LOST_MOST)
		return alloc_format("%s: %.1f %% of its records were lost", f->name,
		                    100 * f->lost_share);
	return judge_partial(c, f);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const double *values, size_t n)
{
	double *sorted = alloc_zeroed(n, sizeof(*sorted)), m;

	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_value);
	m = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
	free(sorted);
	return m;
}

static bool all_sure(struct trial *c, const struct side *s, const double *values)
{
	for (size_t i = 0; i < s->count; i++) {
		char *why = isfinite(values[i]) ? unsure(c, &s->runs[i])
		                                : judge_not_known(c, &s->runs[i]);
		if (why)
			judge_inconclusive(c->to, why);
	}
	return !c->to->reason;
}

/* The 99 % bound on its side of the limit: noise alone does not put it there. */
static void judge_rise(struct trial *c)
{
	const struct side *before = c->judge->before, *after = c->judge->after;
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
	if (upper ? to->bounds.lower > allowed : to->bounds.upper < allowed)
		judge_fail(to);
}

void judge_times(struct trial *c)
{
	const struct side *after = c->judge->after;
	struct judgement *to = c->to;

	if (!all_sure(c, after, c->after) ||
	    (c->rule->relative && !all_sure(c, c->judge->before, c->before)))
		return;
	if (c->rule->relative) {
		judge_rise(c);
		return;
	}
	double middle = median(c->after, after->count);
	if (!judge_holds(c->rule->op, middle, c->rule->value, c->rule->value))
		judge_fail(to);
	if (after->count > 1)
		to->note = alloc_format("the median of %zu recordings is judged", after->count);
}
