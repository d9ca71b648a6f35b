/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/gate/compare.h"

struct compare_span span_of(double *values, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (isfinite(values[i]))
			values[n++] = values[i];
	if (!n)
		return (struct compare_span){NAN, NAN, NAN};
	stats_sort(values, n);
	return (struct compare_span){values[0], values[n - 1], stats_median(values, n)};
}

bool span_differs(const struct compare_span *a, const struct compare_span *b)
{
	return isfinite(a->low) && isfinite(b->low) && (a->low != b->low || a->high != b->high);
}

int timing_moved(const struct compare_timing *t, bool ratio)
{
	double same = ratio ? 1 : 0;

	if (!t->judged || t->bounds.tied)
		return 0;
	return t->bounds.lower > same ? 1 : t->bounds.upper < same ? -1 : 0;
}

double *compare_values(const struct run_set *s, const struct metric *m, bool per_step, double steps)
{
	double *values = alloc_zeroed(s->count, sizeof(*values));

	for (size_t i = 0; i < s->count; i++)
		values[i] = per_step ? figure_per_step(&s->runs[i], m, steps).mean
		                     : s->runs[i].values[m - metrics];
	return values;
}

typedef double (*value_fn)(const struct compare_result *c, const struct figures *f,
                           const void *what);

static double *values_of(const struct compare_result *c, const struct run_set *s, value_fn of,
                         const void *what)
{
	double *values = alloc_zeroed(s->count, sizeof(*values));

	for (size_t i = 0; i < s->count; i++)
		values[i] = of(c, &s->runs[i], what);
	return values;
}

static struct compare_span span_by(const struct compare_result *c, const struct run_set *s,
                                   value_fn of, const void *what)
{
	double *values = values_of(c, s, of, what);
	struct compare_span span = span_of(values, s->count);

	free(values);
	return span;
}

static struct compare_timing timing_by(const struct compare_result *c, value_fn of,
                                       const void *what, bool ratio)
{
	double *before = values_of(c, &c->before, of, what);
	double *after = values_of(c, &c->after, of, what);
	struct compare_timing t = {0};

	t.judged = !c->differs &&
	           bounds_of(&t.bounds, before, c->before.count, after, c->after.count, ratio);
	t.before = span_of(before, c->before.count);
	t.after = span_of(after, c->after.count);
	free(before);
	free(after);
	return t;
}

static double metric_value(const struct compare_result *c, const struct figures *f,
                           const void *what)
{
	const struct compare_total *t = what;

	if (f->missing && metric_is_count(t->metric))
		return NAN;
	if (!t->per_step)
		return f->values[t->metric - metrics];
	return figure_per_step(f, t->metric, c->steps).mean;
}

static void add_total(struct compare_result *c, const struct metric *m, bool per_step)
{
	struct compare_total t = {.metric = m, .per_step = per_step};
	bool known;

	if (metric_is_count(m)) {
		t.before = span_by(c, &c->before, metric_value, &t);
		t.after = span_by(c, &c->after, metric_value, &t);
		known = isfinite(t.before.low) || isfinite(t.after.low);
	} else {
		t.time = timing_by(c, metric_value, &t, m->kind == METRIC_TIME);
		known = isfinite(t.time.before.low) || isfinite(t.time.after.low);
	}
	if (!known)
		return;
	ALLOC_ROOM(c->totals, c->total_count);
	c->totals[c->total_count++] = t;
}

/* One entry of one of the three lists, in every run. */
struct place {
	size_t list; /* offset of its struct figures_parts in struct figures */
	const char *name;
};

static const struct figures_part *part_in(const struct figures *f, const void *what)
{
	const struct place *p = what;

	return parts_find(parts_of(f, p->list), p->name);
}

static double count_value(const struct compare_result *c, const struct figures *f, const void *what)
{
	const struct figures_part *p = part_in(f, what);

	return f->missing ? NAN : p ? (double)p->count : 0;
}

static double bytes_value(const struct compare_result *c, const struct figures *f, const void *what)
{
	const struct figures_part *p = part_in(f, what);

	return !f->has_times || f->missing ? NAN : p ? (double)p->bytes : 0;
}

static double p50_value(const struct compare_result *c, const struct figures *f, const void *what)
{
	const struct figures_part *p = part_in(f, what);

	return p ? p->p50 : NAN;
}

static const struct figures_part *first_in(const struct run_set *s, const struct place *place)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct figures_part *p = part_in(&s->runs[i], place);
		if (p && p->count)
			return p;
	}
	return NULL;
}

static bool same_shape(const struct figures_part *a, const struct figures_part *b)
{
	return a->shapes == b->shapes && !memcmp(a->grid, b->grid, sizeof(a->grid)) &&
	       !memcmp(a->block, b->block, sizeof(a->block));
}

bool span_half_known(const struct compare_span *a, const struct compare_span *b)
{
	return isfinite(a->low) != isfinite(b->low);
}

enum compare_presence pair_presence(const struct compare_pair *p)
{
	if (p->before && p->after)
		return PRESENCE_BOTH;
	if (!isfinite(p->before ? p->count_after.low : p->count_before.low))
		return PRESENCE_UNKNOWN;
	return p->before ? PRESENCE_VANISHED : PRESENCE_APPEARED;
}

bool pair_changed(const struct compare_pair *p)
{
	return span_differs(&p->count_before, &p->count_after) ||
	       span_differs(&p->bytes_before, &p->bytes_after) || p->reshaped;
}

bool pair_is_few(const struct compare_pair *p)
{
	return !(p->count_before.low >= COMPARE_CALLS_LEAST &&
	         p->count_after.low >= COMPARE_CALLS_LEAST);
}

static double pair_change(const struct compare_pair *p)
{
	return fabs(p->count_after.middle - p->count_before.middle);
}

static int by_change(const void *a, const void *b)
{
	const struct compare_pair *x = a, *y = b;

	if (pair_changed(x) != pair_changed(y))
		return pair_changed(x) ? -1 : 1;
	if (pair_change(x) != pair_change(y))
		return pair_change(x) > pair_change(y) ? -1 : 1;
	if (x->count_after.high != y->count_after.high)
		return x->count_after.high > y->count_after.high ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void add_pair(const struct compare_result *c, struct compare_pairs *to, size_t list,
                     const char *name)
{
	struct place place = {list, name};
	struct compare_pair p = {
	        .name = name,
	        .before = first_in(&c->before, &place),
	        .after = first_in(&c->after, &place),
	        .count_before = span_by(c, &c->before, count_value, &place),
	        .count_after = span_by(c, &c->after, count_value, &place),
	        .bytes_before = span_by(c, &c->before, bytes_value, &place),
	        .bytes_after = span_by(c, &c->after, bytes_value, &place),
	        .p50 = timing_by(c, p50_value, &place, true),
	};

	if (!p.before && !p.after)
		return;
	/* The middle of one call or two says nothing of the others. */
	if (pair_is_few(&p))
		p.p50.judged = false;
	p.reshaped = p.before && p.after && p.before->shapes && p.after->shapes &&
	             !same_shape(p.before, p.after);
	to->changed += pair_changed(&p);
	ALLOC_ROOM(to->items, to->count);
	to->items[to->count++] = p;
}

/* Every name that a run of either side has. */
static void add_pairs(const struct compare_result *c, struct compare_pairs *to, size_t list)
{
	struct figures_parts names = {0};

	for (size_t i = 0; i < c->before.count + c->after.count; i++) {
		const struct figures *f = i < c->before.count ? &c->before.runs[i]
		                                              : &c->after.runs[i - c->before.count];
		const struct figures_parts *p = parts_of(f, list);
		for (size_t k = 0; k < p->count; k++) {
			ALLOC_ROOM(names.items, names.count);
			names.items[names.count++] = p->items[k];
		}
	}
	parts_sort(&names);
	for (size_t i = 0; i < names.count; i++)
		if (!i || strcmp(names.items[i].name, names.items[i - 1].name))
			add_pair(c, to, list, names.items[i].name);
	free(names.items);
	if (to->count)
		qsort(to->items, to->count, sizeof(*to->items), by_change);
}

static bool full(const struct run_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (!s->runs[i].has_times)
			return false;
	return true;
}

static const struct figures_sites *sites_in(const struct run_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->runs[i].sites.known && !s->runs[i].missing)
			return &s->runs[i].sites;
	return NULL;
}

static double site_growth(const struct figures_site_pair *p)
{
	double after = p->after ? p->after->api_time : 0,
	       before = p->before ? p->before->api_time : 0;

	return (isfinite(after) ? after : 0) - (isfinite(before) ? before : 0);
}

static int by_growth(const void *a, const void *b)
{
	double x = site_growth(a), y = site_growth(b);

	return x > y ? -1 : x < y;
}

static void add_sites(struct compare_result *c)
{
	const struct figures_sites *before = sites_in(&c->before), *after = sites_in(&c->after);

	c->has_sites = before && after;
	if (!c->has_sites)
		return;
	c->site_count = figures_match_sites(before, after, &c->sites);
	if (c->site_count)
		qsort(c->sites, c->site_count, sizeof(*c->sites), by_growth);
}

void compare(struct compare_result *c)
{
	c->differs = machine_difference(&c->before, &c->after);
	c->judged =
	        !c->differs && c->before.count >= BOUNDS_LEAST && c->after.count >= BOUNDS_LEAST;
	for (size_t i = 0; i < METRICS; i++)
		if (metrics[i].kind != METRIC_WORD)
			add_total(c, &metrics[i], false);
	for (size_t i = 0; i < METRICS; i++)
		if (metric_is_count(&metrics[i]))
			add_total(c, &metrics[i], true);
	add_pairs(c, &c->kernels, offsetof(struct figures, kernels));
	add_sites(c);
	c->has_parts = full(&c->before) && full(&c->after);
	if (c->has_parts) {
		add_pairs(c, &c->apis, offsetof(struct figures, apis));
		add_pairs(c, &c->copies, offsetof(struct figures, copies));
	}
}

void comparison_free(struct compare_result *c)
{
	free(c->totals);
	free(c->kernels.items);
	free(c->apis.items);
	free(c->copies.items);
	free(c->sites);
	free(c->differs);
	run_set_free(&c->before);
	run_set_free(&c->after);
	*c = (struct compare_result){0};
}
