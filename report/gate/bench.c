/* SPDX-License-Identifier: Apache-2.0 */
#include "report/gate/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"

void bench_add(struct bench_values *v, double value)
{
	ALLOC_ROOM(v->items, v->count);
	v->items[v->count++] = value;
}

const struct run_set *bench_runs(const struct bench *b, size_t side)
{
	return side ? &b->found.after : &b->found.before;
}

static struct bench_summary summary_of(double *values, size_t count)
{
	size_t known = 0;

	for (size_t i = 0; i < count; i++)
		if (isfinite(values[i]))
			values[known++] = values[i];
	struct compare_span span = span_of(values, known);
	struct bench_summary s = {
	        .median = span.middle, .least = span.low, .most = span.high, .count = known};
	bounds_of_median(&s.low, &s.high, values, known);
	return s;
}

struct bench_summary bench_summary(const struct bench_values *v)
{
	double *copy = alloc_zeroed(v->count + 1, sizeof(*copy));

	for (size_t i = 0; i < v->count; i++)
		copy[i] = v->items[i];
	struct bench_summary s = summary_of(copy, v->count);
	free(copy);
	return s;
}

struct bench_summary bench_summary_of(const struct bench *b, size_t side, const struct metric *m,
                                      bool per_step)
{
	const struct run_set *runs = bench_runs(b, side);
	double *values = compare_values(runs, m, per_step, b->found.steps);
	struct bench_summary s = summary_of(values, runs->count);

	free(values);
	return s;
}

static struct compare_timing timing_of(const struct bench_values *before,
                                       const struct bench_values *after)
{
	struct compare_timing t = {0};
	struct bench_summary x = bench_summary(before), y = bench_summary(after);

	t.before = (struct compare_span){x.least, x.most, x.median};
	t.after = (struct compare_span){y.least, y.most, y.median};
	t.judged = bounds_of(&t.bounds, before->items, before->count, after->items, after->count,
	                     true);
	return t;
}

void bench_judge(struct bench *b)
{
	for (size_t i = 0; i < b->side_count; i++)
		b->sides[i].cost = timing_of(&b->sides[i].bare_wall, &b->sides[i].wall);
	compare(&b->found);
	if (b->side_count < BENCH_SIDES)
		return;
	b->wall = timing_of(&b->sides[0].wall, &b->sides[1].wall);
	b->cpu = timing_of(&b->sides[0].cpu, &b->sides[1].cpu);
	headline_make(&b->headline, &b->found, &b->wall, b->sides[0].label, b->sides[1].label);
}

size_t bench_verdicts(const struct bench *b, size_t side, struct bench_verdict *to, size_t room)
{
	const struct run_set *runs = bench_runs(b, side);
	size_t n = 0;

	for (size_t i = 0; i < runs->count; i++) {
		const char *name = runs->runs[i].verdict ? runs->runs[i].verdict : "inconclusive";
		size_t k = 0;
		while (k < n && strcmp(to[k].name, name))
			k++;
		if (k == room)
			continue;
		if (k == n)
			to[n++] = (struct bench_verdict){name, 0};
		to[k].count++;
		for (; k && to[k].count > to[k - 1].count; k--) {
			struct bench_verdict swap = to[k];
			to[k] = to[k - 1];
			to[k - 1] = swap;
		}
	}
	return n;
}

static void values_free(struct bench_values *v)
{
	free(v->items);
}

void bench_free(struct bench *b)
{
	for (size_t i = 0; i < BENCH_SIDES; i++) {
		struct bench_side *s = &b->sides[i];
		free(s->command);
		values_free(&s->wall);
		values_free(&s->cpu);
		values_free(&s->bare_wall);
		values_free(&s->bare_cpu);
	}
	headline_free(&b->headline);
	comparison_free(&b->found);
	*b = (struct bench){0};
}
