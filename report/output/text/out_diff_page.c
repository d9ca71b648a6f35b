/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/out_diff.h"
#include "report/base/names.h"
#include "report/output/text/out_diff_cells.h"
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
		if (!o->same &&
		    (!span_differs(&row->before, &row->after) || (row->per_step && !per_step))) {
			same += !row->per_step;
			continue;
		}
		shown++;
		table_cell(&t, "%s%s", row->metric->name, row->per_step ? "_per_step" : "");
		out_diff_range(&t, row->metric->kind, &row->before);
		out_diff_range(&t, row->metric->kind, &row->after);
		out_diff_difference(&t, row->metric->kind, &row->before, &row->after);
	}
	out_diff_table(&t, page);
	if (same)
		text_layout_line(page, "%zu%s %s the same (--all).", same, shown ? " more" : "",
		                 same == 1 ? "is" : "are");
}

static void put_how(const struct compare_result *c, struct text_layout *page)
{
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
	put_how(c, page);
}

/* Rows that changed, first; without --all the others are not shown. Not judged, a time that
 * changed by a quarter or more is one, as far as there are enough calls. */
static bool pair_tells(const struct compare_pair *p)
{
	double change = p->p50.after.middle / p->p50.before.middle - 1;

	if (pair_changed(p) || (p->p50.judged && timing_moved(&p->p50, true)))
		return true;
	return !p->p50.judged && !pair_is_few(p) && fabs(change) >= OUT_DIFF_CHANGE_TOLD;
}

static size_t count_telling(const struct compare_pairs *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += pair_tells(&p->items[i]);
	return n;
}

static void put_rest(const struct compare_pairs *p, size_t told, size_t shown, const char *what,
                     const struct out_options *o, struct text_layout *page)
{
	size_t same = p->count - told;

	if (o->same && shown < p->count)
		text_layout_line(page, "%zu more %s%s not shown (--limit all).", p->count - shown,
		                 what, p->count - shown == 1 ? "" : "s");
	else if (!o->same && shown < told)
		text_layout_line(page, "%zu more %s%s changed (--limit all).", told - shown, what,
		                 told - shown == 1 ? "" : "s");
	if (!o->same && same)
		text_layout_line(page, "%zu %s%s %s the same (--all).", same, what,
		                 same == 1 ? "" : "s", same == 1 ? "is" : "are");
}

static void count_cells(struct text_layout_table *t, const struct compare_pair *p)
{
	out_diff_range(t, METRIC_COUNT, &p->count_before);
	out_diff_range(t, METRIC_COUNT, &p->count_after);
	if (!p->before || !p->after)
		table_cell(t, "%s", p->before ? "gone" : "new");
	else
		out_diff_difference(t, METRIC_COUNT, &p->count_before, &p->count_after);
}

/* Kernels as a table shows them (free each, and the array). */
static char **brief_names(const struct compare_pairs *p)
{
	const char **full = alloc_zeroed(p->count + 1, sizeof(*full));
	char **brief = alloc_zeroed(p->count + 1, sizeof(*brief));

	for (size_t i = 0; i < p->count; i++)
		full[i] = p->items[i].name;
	name_short_all(full, brief, p->count);
	free(full);
	return brief;
}

/* Calls as programs have them, the symbol where one has both (free each, and the array). */
static char **call_names(const struct compare_pairs *p)
{
	char **names = alloc_zeroed(p->count + 1, sizeof(*names));

	for (size_t i = 0; i < p->count; i++) {
		const char *name = name_call(p->items[i].name);
		for (size_t k = 0; k < p->count; k++)
			if (k != i && !strcmp(p->items[k].name, name))
				name = p->items[i].name;
		names[i] = alloc_string(name);
	}
	return names;
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/* "+10.1 % *"; of a call or two the middle says nothing of the others. */
static void pair_change_cell(struct text_layout_table *t, const struct compare_pair *p)
{
	if (p->before && p->after && pair_is_few(p))
		table_cell(t, "few");
	else
		out_diff_change(t, &p->p50, true);
}

/* `names`: what stands for them; NULL: they do. `above`: on lines of their own. `rows`: which were
 * shown. */
static void put_pairs(const struct compare_pairs *p, const struct out_options *o, const char *what,
                      char *const *names, bool above, bool *rows, struct text_layout *page)
{
	const struct text_layout_column columns[] = {
	        {"before", false}, {"after", false},  {"difference", false}, {"p50 was", false},
	        {"p50 is", false}, {"change", false}, {what, true}};
	size_t shown = 0, told = count_telling(p);
	struct text_layout_table t;

	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	t.names_above = above;
	for (size_t i = 0; i < p->count && shown < o->limit; i++) {
		const struct compare_pair *pair = &p->items[i];
		if (!o->same && !pair_tells(pair))
			continue;
		shown++;
		rows[i] = true;
		count_cells(&t, pair);
		out_diff_middle(&t, METRIC_TIME, &pair->p50.before);
		out_diff_middle(&t, METRIC_TIME, &pair->p50.after);
		pair_change_cell(&t, pair);
		table_cell(&t, "%s", names ? names[i] : pair->name);
	}
	out_diff_table(&t, page);
	put_rest(p, told, shown, what, o, page);
}

static void put_apis(const struct compare_result *c, const struct out_options *o,
                     struct text_layout *page)
{
	bool *rows = alloc_zeroed(c->apis.count + 1, sizeof(*rows));

	if (c->apis.count) {
		char **names = call_names(&c->apis);
		text_layout_heading(page, "CUDA API calls (p50: API time)");
		put_pairs(&c->apis, o, "call", names, false, rows, page);
		free_names(names, c->apis.count);
	}
	free(rows);
}

static void put_shape(const struct figures_part *p, char *to, size_t room)
{
	snprintf(to, room, "grid %ux%ux%u block %ux%ux%u%s", p->grid[0], p->grid[1], p->grid[2],
	         p->block[0], p->block[1], p->block[2], p->shapes > 1 ? " and others" : "");
}

static void put_kernels(const struct compare_result *c, const struct out_options *o,
                        struct text_layout *page)
{
	char before[128], after[128];

	if (!c->kernels.count)
		return;
	text_layout_heading(page, "Kernels (launches; p50: API time of a launch)");
	bool *rows = alloc_zeroed(c->kernels.count, sizeof(*rows));
	char **brief = brief_names(&c->kernels);
	put_pairs(&c->kernels, o, "kernel", o->names == NAMES_FULL ? NULL : brief,
	          o->names != NAMES_FULL, rows, page);
	for (size_t i = 0; i < c->kernels.count; i++) {
		const struct compare_pair *p = &c->kernels.items[i];
		if (!p->reshaped || !rows[i])
			continue;
		put_shape(p->before, before, sizeof(before));
		put_shape(p->after, after, sizeof(after));
		text_layout_line(page, "%s: %s, was %s", brief[i], after, before);
	}
	free_names(brief, c->kernels.count);
	free(rows);
}

static void put_copies(const struct compare_result *c, const struct out_options *o,
                       struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"before", false},     {"after", false}, {"difference", false},
	        {"bytes were", false}, {"are", false},   {"kind of copy", true}};
	size_t told = count_telling(&c->copies), shown = 0;
	struct text_layout_table t;
	char text[UNIT_BYTES];

	if (!c->copies.count)
		return;
	text_layout_heading(page, "Copies");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < c->copies.count; i++) {
		const struct compare_pair *p = &c->copies.items[i];
		if (!o->same && !pair_tells(p))
			continue;
		shown++;
		count_cells(&t, p);
		table_cell(&t, "%s", unit_bytes(text, p->bytes_before.middle));
		table_cell(&t, "%s", unit_bytes(text, p->bytes_after.middle));
		table_cell(&t, "%s", p->name);
	}
	out_diff_table(&t, page);
	put_rest(&c->copies, told, shown, "kind", o, page);
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
	put_kernels(c, o, page);
	put_apis(c, o, page);
	put_copies(c, o, page);
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
