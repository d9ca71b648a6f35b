/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/output/out_bench.h"

/* Names of figures and labels are ours: none needs quotes. What is not known is an empty field. */
static void put_number(FILE *to, double v)
{
	char text[METRIC_NUMBER_BYTES];

	fprintf(to, ",%s", isfinite(v) ? metric_number(text, v, false) : "");
}

static void put_summary(const struct out_options *o, const char *label, const char *figure,
                        bool per_step, const char *unit, const struct bench_summary *s,
                        double confidence)
{
	if (!s->count)
		return;
	fprintf(o->to, "%s,%s%s,%s,%zu", label, figure, per_step ? "_per_step" : "", unit,
	        s->count);
	put_number(o->to, s->median);
	put_number(o->to, s->low);
	put_number(o->to, s->high);
	put_number(o->to, isfinite(s->low) ? confidence : NAN);
	put_number(o->to, s->least);
	put_number(o->to, s->most);
	fputs("\r\n", o->to);
}

static void put_change(const struct out_options *o, const struct bench *b, const char *label,
                       const char *figure, const struct compare_timing *t, bool ratio)
{
	const struct bounds *x = &t->bounds;
	struct bench_summary s = {.median = x->estimate,
	                          .low = NAN,
	                          .high = NAN,
	                          .least = NAN,
	                          .most = NAN,
	                          .count = b->runs};

	if (!t->judged)
		return;
	if (!x->tied) {
		s.low = x->lower;
		s.high = x->upper;
	}
	put_summary(o, label, figure, false, ratio ? "ratio" : "difference", &s, 0.99);
}

static void put_values(const struct out_options *o, const char *label, const char *figure,
                       const struct bench_values *v)
{
	struct bench_summary s = bench_summary(v);

	put_summary(o, label, figure, false, "ns", &s, 0.95);
}

static void put_side(const struct bench *b, size_t side, const struct out_options *o)
{
	static const char *const units[] = {[METRIC_COUNT] = "count",
	                                    [METRIC_BYTES] = "bytes",
	                                    [METRIC_TIME] = "ns",
	                                    [METRIC_SHARE] = "share",
	                                    [METRIC_WORD] = ""};
	const struct bench_side *s = &b->sides[side];

	put_values(o, s->label, "wall_ns", &s->wall);
	put_values(o, s->label, "cpu_ns", &s->cpu);
	put_values(o, s->label, "bare_wall_ns", &s->bare_wall);
	put_values(o, s->label, "bare_cpu_ns", &s->bare_cpu);
	for (size_t i = 0; i < b->found.total_count; i++) {
		const struct compare_total *row = &b->found.totals[i];
		struct bench_summary x = bench_summary_of(b, side, row->metric, row->per_step);
		put_summary(o, s->label, row->metric->name, row->per_step, units[row->metric->kind],
		            &x, 0.95);
	}
}

void out_bench_csv(const struct bench *b, const struct out_options *o)
{
	fputs("of,figure,unit,runs,median,low,high,confidence,least,most\r\n", o->to);
	for (size_t i = 0; i < b->side_count; i++)
		put_side(b, i, o);
	for (size_t i = 0; i < b->side_count; i++) {
		const struct bench_side *s = &b->sides[i];
		put_change(o, b, i ? "B recorded / B bare" : "A recorded / A bare", "wall_ns",
		           &s->cost, true);
	}
	if (b->side_count < 2)
		return;
	put_change(o, b, "B / A", "wall_ns", &b->wall, true);
	put_change(o, b, "B / A", "cpu_ns", &b->cpu, true);
	for (size_t i = 0; i < b->found.total_count; i++) {
		const struct compare_total *row = &b->found.totals[i];
		bool ratio = row->metric->kind == METRIC_TIME;
		bool step = row->metric->flags & METRIC_STEPS;
		if (!metric_is_count(row->metric) && !(step && b->headline.steps_apart))
			put_change(o, b, ratio ? "B / A" : "B - A", row->metric->name, &row->time,
			           ratio);
	}
}
