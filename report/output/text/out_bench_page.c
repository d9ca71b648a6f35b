/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/text_table.h"
#include "report/base/units.h"
#include "report/output/out_bench.h"
#include "report/output/text/out_diff_cells.h"

#define VERDICTS 8

/* "sync-bound in 9 of 10 runs, mixed in 1" (free it). */
static char *verdicts_text(const struct bench *b, size_t side)
{
	struct bench_verdict verdicts[VERDICTS];
	size_t n = bench_verdicts(b, side, verdicts, VERDICTS), runs = bench_runs(b, side)->count;
	char *text = NULL;

	for (size_t i = 0; i < n; i++) {
		alloc_append(&text, "%s%s in %zu", i ? ", " : "", verdicts[i].name,
		             verdicts[i].count);
		if (!i)
			alloc_append(&text, " of %zu run%s", runs, runs == 1 ? "" : "s");
	}
	return text ? text : alloc_string("n/a");
}

/* What is wrong with recordings of a side: the first of them stands for all. */
static void put_warnings(const struct run_set *s, struct text_layout *page)
{
	size_t missing = 0, ended = 0, lost = 0, first[3] = {0};

	for (size_t i = s->count; i-- > 0;) {
		const struct figures *f = &s->runs[i];
		if (f->missing && ++missing)
			first[0] = i;
		if (f->state != PROCESS_COMPLETE && ++ended)
			first[1] = i;
		if (f->lost_calls && ++lost)
			first[2] = i;
	}
	if (missing)
		text_layout_alarm(page, "warning", "%s: %s", s->runs[first[0]].name,
		                  s->runs[first[0]].missing);
	if (ended)
		text_layout_alarm(page, "warning",
		                  "%s%s: a process was killed, or runs, or ended without its exit "
		                  "handlers",
		                  s->runs[first[1]].name, ended > 1 ? " and others" : "");
	if (lost)
		text_layout_alarm(page, "warning", "%s%s: calls are in no figure",
		                  s->runs[first[2]].name, lost > 1 ? " and others" : "");
}

static void put_top(const struct bench *b, struct text_layout *page)
{
	const struct figures_machine *m = &b->found.before.runs[0].machine;
	bool two = b->side_count > 1;

	if (two) {
		text_layout_line(page, "%s.", b->headline.text);
		if (!page->markdown)
			text_layout_blank(page);
	}
	for (size_t i = 0; i < b->side_count; i++)
		text_layout_fact(page, b->sides[i].label, "%s", b->sides[i].command);
	text_layout_fact(page, "runs", "%zu%s, after %zu for warm-up%s", b->runs,
	                 two ? " of each in turns (A B, B A)" : "", b->warmup,
	                 b->bare ? "; each without the shim too" : "");
	if (b->found.differs)
		text_layout_alarm(page, "machine", "%s: times do not compare, counts do",
		                  b->found.differs);
	else
		text_layout_fact(page, "machine", "%s, driver %s, CUDASPY_GPU=%s",
		                 m->gpus ? m->gpus : "GPU unknown",
		                 m->driver ? m->driver : "unknown", m->mode ? m->mode : "unknown");
	for (size_t i = 0; i < b->side_count; i++) {
		char *steps = figure_steps_text(bench_runs(b, i));
		char *verdicts = verdicts_text(b, i);
		char *label =
		        alloc_format("steps%s%s", two ? " " : "", two ? b->sides[i].label : "");
		if (b->found.steps > 0)
			text_layout_fact(page, label, "%.0f, as said", b->found.steps);
		else
			text_layout_fact(page, label, "%s", steps);
		free(label);
		label = alloc_format("verdict%s%s", two ? " " : "", two ? b->sides[i].label : "");
		text_layout_fact(page, label, "%s", verdicts);
		free(label);
		free(verdicts);
		free(steps);
		put_warnings(bench_runs(b, i), page);
	}
	if (two && b->headline.steps_apart)
		text_layout_fact(page, "steps", "times of a step are not compared: %s",
		                 b->headline.steps_apart);
	if (b->keep)
		text_layout_fact(page, "recordings", "%s/%s*", b->keep, two ? "[AB]/run-" : "run-");
}

/* ---- what each takes ---- */

static void summary_row(struct text_layout_table *t, const char *name, const char *label,
                        enum metric_kind kind, const struct bench_summary *s)
{
	char *middle = metric_text(kind, s->median, s->median);
	char *interval = metric_text(kind, s->low, s->high);
	char *range = metric_text(kind, s->least, s->most);

	table_cell(t, "%s", name);
	if (label)
		table_cell(t, "%s", label);
	table_cell(t, "%s", middle);
	table_cell(t, "%s", interval);
	table_cell(t, "%s", range);
	free(middle);
	free(interval);
	free(range);
}

static const char *label_of(const struct bench *b, size_t side)
{
	return b->side_count > 1 ? b->sides[side].label : NULL;
}

static void put_values(const struct bench *b, struct text_layout_table *t, const char *name,
                       size_t offset)
{
	for (size_t i = 0; i < b->side_count; i++) {
		const struct bench_values *v =
		        (const struct bench_values *)((const char *)&b->sides[i] + offset);
		struct bench_summary s = bench_summary(v);
		if (s.count)
			summary_row(t, name, label_of(b, i), METRIC_TIME, &s);
	}
}

static void put_times(const struct bench *b, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {{"figure", true},
	                                                    {"of", true},
	                                                    {"median", false},
	                                                    {"95 % of it", false},
	                                                    {"least..most", false}};
	struct text_layout_column one[] = {columns[0], columns[2], columns[3], columns[4]};
	struct text_layout_table t;

	text_layout_heading(page, "Times (medians of %zu run%s)", b->runs, b->runs == 1 ? "" : "s");
	table_start(&t, b->side_count > 1 ? columns : one, b->side_count > 1 ? 5 : 4);
	put_values(b, &t, "wall", offsetof(struct bench_side, wall));
	put_values(b, &t, "wall, bare", offsetof(struct bench_side, bare_wall));
	put_values(b, &t, "CPU", offsetof(struct bench_side, cpu));
	put_values(b, &t, "CPU, bare", offsetof(struct bench_side, bare_cpu));
	for (size_t i = 0; i < b->found.total_count; i++) {
		const struct compare_total *row = &b->found.totals[i];
		for (size_t k = 0; k < b->side_count && !metric_is_count(row->metric); k++) {
			struct bench_summary s = bench_summary_of(b, k, row->metric, false);
			summary_row(&t, row->metric->name, label_of(b, k), row->metric->kind, &s);
		}
	}
	table_print(&t, page);
	text_layout_line(page,
	                 "wall, CPU: of the process and those it waited for, from its start "
	                 "to its end%s.",
	                 b->bare ? "; bare: without the shim" : "");
	if (b->runs < 6)
		text_layout_line(page, "95 %% of it: where the median lies; 6 runs or more tell.");
}

/* ---- how they differ ---- */

static void timing_row(struct text_layout_table *t, const char *name, enum metric_kind kind,
                       const struct compare_timing *time)
{
	bool ratio = kind == METRIC_TIME;

	table_cell(t, "%s", name);
	out_diff_middle(t, kind, &time->before);
	out_diff_middle(t, kind, &time->after);
	out_diff_change(t, time, ratio);
	out_diff_bounds(t, time, ratio);
	table_cell(t, "%s",
	           !time->judged               ? "not judged"
	           : timing_moved(time, ratio) ? "yes"
	                                       : "no");
}

static void put_how(const struct bench *b, struct text_layout *page)
{
	if (b->runs < BOUNDS_LEAST)
		text_layout_line(page, "Not judged: %d runs or more tell a difference from noise.",
		                 BOUNDS_LEAST);
	else
		text_layout_line(page, "Bounds: of the change in %%, each holds with 99 %%. Real: "
		                       "more than noise. By ranks from 5 runs on, else by Welch's "
		                       "t test on logarithms as well.");
}

static void put_differences(const struct bench *b, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"figure", true},  {"A", false},           {"B", false},
	        {"change", false}, {"99 % bounds", false}, {"real", true}};
	struct text_layout_table t;

	if (b->side_count < 2)
		return;
	text_layout_heading(page, "Changes, B against A");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	timing_row(&t, "wall", METRIC_TIME, &b->wall);
	timing_row(&t, "CPU", METRIC_TIME, &b->cpu);
	for (size_t i = 0; i < b->found.total_count; i++) {
		const struct compare_total *row = &b->found.totals[i];
		bool step = row->metric->flags & METRIC_STEPS;
		if (!metric_is_count(row->metric) && !(step && b->headline.steps_apart))
			timing_row(&t, row->metric->name, row->metric->kind, &row->time);
	}
	table_print(&t, page);
	put_how(b, page);
}

static void put_cost(const struct bench *b, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {{"wall of", true},      {"bare", false},
	                                                    {"recorded", false},    {"cost", false},
	                                                    {"99 % bounds", false}, {"real", true}};
	struct text_layout_table t;

	if (!b->bare)
		return;
	text_layout_heading(page, "What recording costs");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < b->side_count; i++)
		timing_row(&t, b->sides[i].label, METRIC_TIME, &b->sides[i].cost);
	table_print(&t, page);
	if (b->side_count < 2)
		put_how(b, page);
}

/* ---- what they call ---- */

static void put_counts(const struct bench *b, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"figure", true}, {"A", false}, {"B", false}, {"difference", false}};
	static const struct text_layout_column one[] = {{"figure", true}, {"A", false}};
	bool two = b->side_count > 1;
	struct text_layout_table t;
	size_t zero = 0;

	text_layout_heading(page, "Counts (exact%s)",
	                    b->runs > 1 ? "; where runs differ: least..most" : "");
	table_start(&t, two ? columns : one, two ? 4 : 2);
	for (size_t i = 0; i < b->found.total_count; i++) {
		const struct compare_total *row = &b->found.totals[i];
		if (!metric_is_count(row->metric) || out_diff_says_nothing(row))
			continue;
		if (!(row->before.high > 0) && !(row->after.high > 0)) {
			zero += !row->per_step;
			continue;
		}
		table_cell(&t, "%s%s%s", row->metric->name, row->per_step ? "_per_step" : "",
		           metric_explained(row->metric));
		out_diff_range(&t, row->metric->kind, &row->before);
		if (!two)
			continue;
		out_diff_range(&t, row->metric->kind, &row->after);
		out_diff_difference(&t, row->metric->kind, &row->before, &row->after);
	}
	table_print(&t, page);
	if (zero)
		text_layout_line(page, "%zu more %s 0%s.", zero, zero == 1 ? "is" : "are",
		                 two ? " in both" : "");
}

static void put_page(const struct bench *b, struct text_layout *page)
{
	put_top(b, page);
	put_times(b, page);
	put_differences(b, page);
	put_cost(b, page);
	put_counts(b, page);
}

void out_bench_text(const struct bench *b, const struct out_options *o)
{
	struct text_layout page = {.to = o->to, .colour = o->colour, .width = o->width};

	put_page(b, &page);
}

void out_bench_markdown(const struct bench *b, const struct out_options *o)
{
	struct text_layout page = {.to = o->to, .markdown = true, .width = o->width};

	fputs("# cudaspy bench\n\n", o->to);
	put_page(b, &page);
}
