/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/out_diff.h"
#include "report/output/text/out_diff_cells.h"
#include "report/output/text/out_diff_pairs.h"
#include "report/output/text/out_diff_sites.h"
#include "report/base/text_table.h"
#include "report/base/units.h"

static void put_side(struct text_layout *page, const char *label, const struct run_set *s)
{
	static const char *const states[] = {[PROCESS_COMPLETE] = "",
	                                     [PROCESS_ENDED] = "; ended without its exit handlers",
	                                     [PROCESS_KILLED] = "; was killed",
	                                     [PROCESS_RUNNING] = "; runs"};
	enum process_state worst = PROCESS_COMPLETE;
	bool baseline = !s->runs[0].has_times && s->count > 1;
	char *more = baseline       ? alloc_format(" (%zu recordings)", s->count)
	             : s->count > 1 ? alloc_format(" and %zu more", s->count - 1)
	                            : NULL;

	for (size_t i = 0; i < s->count; i++)
		worst = s->runs[i].state > worst ? s->runs[i].state : worst;
	text_layout_fact(page, label, "%s%s%s", s->runs[0].name, more ? more : "", states[worst]);
	free(more);
	for (size_t i = 0; i < s->count; i++)
		if (s->runs[i].missing)
			text_layout_alarm(page, "warning", "%s: %s", s->runs[i].name,
			                  s->runs[i].missing);
}

static void put_top(const struct compare_result *c, struct text_layout *page)
{
	const struct figures_machine *m = &c->before.runs[0].machine;
	const char *before = c->before.runs[0].verdict, *after = c->after.runs[0].verdict;

	put_side(page, "before", &c->before);
	put_side(page, "after", &c->after);
	if (c->differs)
		text_layout_alarm(page, "machine", "%s: times do not compare, counts do",
		                  c->differs);
	else
		text_layout_fact(page, "machine", "%s, driver %s, CUDASPY_GPU=%s",
		                 m->gpus ? m->gpus : "GPU unknown",
		                 m->driver ? m->driver : "unknown", m->mode ? m->mode : "unknown");
	char *steps = figure_steps_text(&c->after), *were = figure_steps_text(&c->before);
	if (c->steps > 0)
		text_layout_fact(page, "steps", "%.0f, as said", c->steps);
	else
		text_layout_fact(page, "steps", "%s%s%s", steps,
		                 strcmp(steps, were) ? "; were " : "",
		                 strcmp(steps, were) ? were : "");
	free(steps);
	free(were);
	if (before && after && strcmp(before, after))
		text_layout_alarm(page, "verdict", "%s, was %s", after, before);
	else if (before || after)
		text_layout_fact(page, "verdict", "%s, %s%s", after ? after : "not known",
		                 before && after ? "as before" : "was ",
		                 before && after ? ""
		                 : before        ? before
		                                 : "not known");
}

/* Per step where steps compare and the runs had not as many of them: else the totals say it all. */
static bool tells_per_step(const struct compare_result *c, const struct headline *h)
{
	for (size_t i = 0; i < c->total_count; i++)
		if (c->totals[i].metric == &metrics[METRIC_LOOP_STEPS] && !c->totals[i].per_step)
			return !h->steps_apart &&
			       span_differs(&c->totals[i].before, &c->totals[i].after);
	return c->steps > 0;
}

/* Of a mean of steps a smaller share is a step more or less at the loop's ends. */
#define MEAN_CHANGED 0.0005

/* Where it is known of one side alone that is told too. */
static bool count_changed(const struct compare_total *t)
{
	double change = fabs(t->after.middle - t->before.middle);

	if (span_half_known(&t->before, &t->after))
		return true;
	return span_differs(&t->before, &t->after) &&
	       !(t->per_step && change < MEAN_CHANGED * t->before.middle);
}

static void put_counts(const struct compare_result *c, const struct headline *h,
                       const struct out_options *o, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"figure", true}, {"before", false}, {"after", false}, {"difference", false}};
	bool per_step = tells_per_step(c, h);
	struct text_layout_table t;
	size_t same = 0, shown = 0;

	text_layout_heading(page, "Counts (exact%s)",
	                    c->before.count > 1 || c->after.count > 1
	                            ? "; of several recordings: least..most, difference of medians"
	                            : "");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < c->total_count; i++) {
		const struct compare_total *row = &c->totals[i];
		if (!metric_is_count(row->metric) || out_diff_says_nothing(row))
			continue;
		if (!o->same && (!count_changed(row) || (row->per_step && !per_step))) {
			same += !row->per_step;
			continue;
		}
		shown++;
		table_cell(&t, "%s%s%s", row->metric->name, row->per_step ? "_per_step" : "",
		           metric_explained(row->metric));
		out_diff_range(&t, row->metric->kind, &row->before);
		out_diff_range(&t, row->metric->kind, &row->after);
		out_diff_difference(&t, row->metric->kind, &row->before, &row->after);
	}
	out_diff_table(&t, page);
	if (same)
		text_layout_line(page, "%zu%s %s the same (--all).", same, shown ? " more" : "",
		                 same == 1 ? "is" : "are");
}

static void put_how(const struct compare_result *c, const struct headline *h,
                    struct text_layout *page)
{
	if (h->of == HEADLINE_STEP)
		text_layout_line(
		        page, "The time per step is the middle one of ten pieces of the loop, so "
		              "that no slow start is in it; a report has the mean of all steps "
		              "that are judged.");
	if (c->differs)
		text_layout_line(page, "Not judged: %s.", c->differs);
	else if (!c->judged)
		text_layout_line(page,
		                 "Not judged: a change may be noise. %d recordings a side or more "
		                 "(--base A1 A2 A3 --new B1 B2 B3) tell.",
		                 BOUNDS_LEAST);
	else
		text_layout_line(page,
		                 "Medians. 99 %%: each bound holds with that confidence. *: more "
		                 "than noise. By ranks where there are enough recordings (5 a "
		                 "side), else by Welch's t test on logarithms as well.");
}

/* What is shown of times without --all: more than noise; not judged, so much more or less. */
#define CHANGE_TOLD 0.05
#define POINTS_TOLD 0.02

static bool time_tells(const struct compare_timing *t, bool ratio)
{
	double change =
	        ratio ? t->after.middle / t->before.middle - 1 : t->after.middle - t->before.middle;

	if (t->judged)
		return timing_moved(t, ratio) != 0;
	return fabs(change) >= (ratio ? CHANGE_TOLD : POINTS_TOLD) ||
	       isfinite(t->before.middle) != isfinite(t->after.middle);
}

static void put_times(const struct compare_result *c, const struct headline *h,
                      const struct out_options *o, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {{"figure", true},
	                                                    {"before", false},
	                                                    {"after", false},
	                                                    {"change", false},
	                                                    {"99 % bounds", false}};
	struct text_layout_table t;
	size_t same = 0, apart = 0, shown = 0;

	text_layout_heading(page, "Times and shares");
	table_start(&t, columns, c->judged ? 5 : 4);
	for (size_t i = 0; i < c->total_count; i++) {
		const struct compare_total *row = &c->totals[i];
		bool ratio = row->metric->kind == METRIC_TIME;
		bool others = h->steps_apart && row->metric->flags & METRIC_STEPS;
		if (metric_is_count(row->metric))
			continue;
		if (!o->same && (others || !time_tells(&row->time, ratio))) {
			same += !others;
			apart += others;
			continue;
		}
		shown++;
		table_cell(&t, "%s", row->metric->name);
		out_diff_middle(&t, row->metric->kind, &row->time.before);
		out_diff_middle(&t, row->metric->kind, &row->time.after);
		out_diff_change(&t, &row->time, ratio);
		if (c->judged)
			out_diff_bounds(&t, &row->time, ratio);
	}
	out_diff_table(&t, page);
	if (same)
		text_layout_line(page, "%zu%s %s (--all).", same, shown ? " more" : "",
		                 c->judged ? "changed no more than noise does"
		                           : "changed by less than 5 %, or 2 points");
	if (apart)
		text_layout_line(page, "Of steps: %s.", h->steps_apart);
	put_how(c, h, page);
}

static void put_page(const struct compare_result *c, const struct headline *h,
                     const struct out_options *o, struct text_layout *page)
{
	text_layout_line(page, "%s.", h->text);
	if (!page->markdown)
		text_layout_blank(page);
	put_top(c, page);
	put_counts(c, h, o, page);
	put_times(c, h, o, page);
	out_diff_kernels(c, o, page);
	out_diff_apis(c, o, page);
	out_diff_copies(c, o, page);
	out_diff_sites(c, o, page);
	if (!c->has_parts)
		text_layout_line(page,
		                 "A baseline holds no times of kernels, and no table of calls and "
		                 "copies.");
}

void out_diff_text(const struct compare_result *c, const struct headline *h,
                   const struct out_options *o)
{
	struct text_layout page = {.to = o->to,
	                           .colour = o->colour,
	                           .whole_names = o->names == NAMES_FULL,
	                           .width = o->width};

	put_page(c, h, o, &page);
}

void out_diff_markdown(const struct compare_result *c, const struct headline *h,
                       const struct out_options *o)
{
	struct text_layout page = {.to = o->to, .markdown = true, .width = o->width};

	fputs("# cudaspy diff\n\n", o->to);
	put_page(c, h, o, &page);
}
