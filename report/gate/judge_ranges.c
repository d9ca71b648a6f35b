/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/judge_internal.h"

/* Of ranges whose work must be known for a figure per range. */
#define COUNTED_LEAST 0.99

static bool matches(const struct rule *r, const struct figures_range *p)
{
	return pattern_finds(&r->compiled, p->name);
}

/* Of which range of the other side a range is looked for among the first so many. */
#define LOOKED_THROUGH 4096u

struct range_sum {
	double count, counted, work;
};

/* A range inside one that matches is counted with that one. */
static struct range_sum sum_of(const struct rule *r, const struct figures *f)
{
	const struct figures_ranges *ranges = &f->ranges;
	bool *within = alloc_zeroed(ranges->count, sizeof(*within));
	struct range_sum sum = {0};
	int index = metric_work(r->metric);

	for (size_t i = 0; index >= 0 && i < ranges->count; i++) {
		const struct figures_range *p = &ranges->items[i];
		within[i] = p->parent != RANGE_NONE && within[p->parent];
		if (within[i] || !matches(r, p))
			continue;
		within[i] = true;
		sum.count += p->count;
		sum.counted += p->counted;
		sum.work += p->of[index];
	}
	free(within);
	return sum;
}

double judge_ranges(const struct rule *r, const struct figures *f)
{
	struct range_sum sum = sum_of(r, f);

	if (!(sum.count > 0))
		return NAN;
	return r->per_step ? sum.work / sum.counted : sum.work;
}

char *judge_ranges_unsure(const struct rule *r, const struct figures *f)
{
	if (!f->ranges.count)
		return alloc_format("%s: it holds no NVTX ranges", f->name);
	if (f->ranges.lost)
		return alloc_format("%s: some of its NVTX ranges were lost", f->name);
	struct range_sum sum = sum_of(r, f);
	if (!(sum.count > 0))
		return alloc_format("%s: no NVTX range matches %s", f->name, r->pattern);
	if (sum.counted < sum.count * (r->per_step ? COUNTED_LEAST : 1))
		return alloc_format("%s: of %.0f NVTX ranges that match the work of %.0f is not "
		                    "known",
		                    f->name, sum.count, sum.count - sum.counted);
	return NULL;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The range of the same name in the same other one; `places` has the parents'. */
static size_t counterpart(const struct figures_ranges *in, const struct figures_range *p,
                          const size_t *places)
{
	size_t parent = p->parent == RANGE_NONE ? RANGE_NONE : places[p->parent];

	if (p->parent != RANGE_NONE && parent == RANGE_NONE)
		return RANGE_NONE;
	for (size_t i = 0; i < in->count && i < LOOKED_THROUGH; i++)
		if (in->items[i].parent == parent && !strcmp(in->items[i].name, p->name) &&
		    same(in->items[i].domain, p->domain))
			return i;
	return RANGE_NONE;
}

static double value_of(const struct rule *r, const struct figures_range *p)
{
	double v = p->of[metric_work(r->metric)];

	return r->per_step ? v / p->counted : v;
}

char *judge_where_range(const struct rule *r, const struct figures *before,
                        const struct figures *after, bool shrank)
{
	const struct figures_ranges *more = shrank && before ? &before->ranges : &after->ranges;
	const struct figures_ranges *less = !before  ? NULL
	                                    : shrank ? &after->ranges
	                                             : &before->ranges;
	size_t *places = alloc_zeroed(more->count, sizeof(*places)), best = RANGE_NONE;
	bool *within = alloc_zeroed(more->count, sizeof(*within));
	double most = 0, old = 0;

	for (size_t i = 0; i < more->count && i < LOOKED_THROUGH; i++) {
		const struct figures_range *p = &more->items[i];
		within[i] = matches(r, p) || (p->parent != RANGE_NONE && within[p->parent]);
		places[i] = less ? counterpart(less, p, places) : RANGE_NONE;
		double then = places[i] == RANGE_NONE ? 0 : value_of(r, &less->items[places[i]]);
		/* Inner ranges come behind: of equals the one that says more. */
		if (within[i] && value_of(r, p) - then >= most && value_of(r, p) > then) {
			best = i;
			most = value_of(r, p) - then;
			old = then;
		}
	}
	char *text = NULL;
	if (best != RANGE_NONE) {
		char a[METRIC_NUMBER_BYTES], b[METRIC_NUMBER_BYTES], *path = range_path(more, best);
		double now = value_of(r, &more->items[best]);
		metric_number(a, shrank && less ? now : old, false);
		metric_number(b, shrank && less ? old : now, false);
		text = less ? alloc_format("%s: %s -> %s", path, a, b)
		            : alloc_format("%s: %s", path, b);
		free(path);
	}
	free(places);
	free(within);
	return text;
}
