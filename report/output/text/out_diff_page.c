/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/out_diff.h"
#include "report/base/names.h"
#include "report/base/text_layout.h"
#include "report/base/units.h"

static void range_cell(struct text_layout_table *t, enum metric_kind kind,
                       const struct compare_span *s)
{
	char *text = metric_text(kind, s->low, s->high);

	table_cell(t, "%s", text);
	free(text);
}

static void middle_cell(struct text_layout_table *t, enum metric_kind kind,
                        const struct compare_span *s)
{
	char *text = metric_text(kind, s->middle, s->middle);

	table_cell(t, "%s", text);
	free(text);
}

/* "+100, +5.0 %", "=", "new", "gone" */
static void difference_cell(struct text_layout_table *t, const struct compare_span *before,
                            const struct compare_span *after)
{
	double change = after->middle - before->middle;
	char more[METRIC_NUMBER_BYTES], share[UNIT_BYTES];

	metric_number(more, change, true);
	if (!isfinite(change))
		table_cell(t, "n/a");
	else if (!span_differs(before, after))
		table_cell(t, "=");
	else if (change == 0)
		table_cell(t, "varies");
	else if (!(before->middle > 0))
		table_cell(t, "%s", more);
	else
		table_cell(t, "%s, %s", more, unit_change(share, change / before->middle));
}

/* "+10.1 %", with a mark where it is more than noise. */
static void change_cell(struct text_layout_table *t, const struct compare_timing *time, bool ratio)
{
	double change = ratio ? time->after.middle / time->before.middle - 1
	                      : time->after.middle - time->before.middle;

	const char *star = timing_moved(time, ratio) ? " *" : "";
	char text[UNIT_BYTES];

	if (!isfinite(change))
		table_cell(t, "n/a");
	else if (ratio)
		table_cell(t, "%s%s", unit_change(text, change), star);
	else
		table_cell(t, "%+.1f points%s", fabs(change) < 0.0005 ? 0 : 100 * change, star);
}

/* In %, or as factors where the upper one is beyond them. */
static void bounds_text(struct text_layout_table *t, double lower, double upper)
{
	char text[UNIT_BYTES];

	if (*unit_change(text, upper) == 'x')
		table_cell(t, "x%.3g..%s", 1 + lower, text);
	else
		table_cell(t, "%+.1f..%+.1f", 100 * lower, 100 * upper);
}

static void bounds_cell(struct text_layout_table *t, const struct compare_timing *time, bool ratio)
{
	double same = ratio ? 1 : 0;

	if (!time->judged || time->bounds.tied)
		table_cell(t, "n/a");
	else
		bounds_text(t, time->bounds.lower - same, time->bounds.upper - same);
}

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
		text_layout_fact(page, "verdict", "%s, was %s", after ? after : "not known",
		                 before ? before : "not known");
}

static void put_counts(const struct compare_result *c, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"figure", true}, {"before", false}, {"after", false}, {"difference", false}};
	struct text_layout_table t;

	text_layout_heading(page, "Counts (exact%s)",
	                    c->before.count > 1 || c->after.count > 1
	                            ? "; of several recordings: least..most, difference of medians"
	                            : "");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < c->total_count; i++) {
		const struct compare_total *row = &c->totals[i];
		if (!metric_is_count(row->metric))
			continue;
		table_cell(&t, "%s%s", row->metric->name, row->per_step ? "_per_step" : "");
		range_cell(&t, row->metric->kind, &row->before);
		range_cell(&t, row->metric->kind, &row->after);
		difference_cell(&t, &row->before, &row->after);
	}
	table_print(&t, page);
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

static void put_times(const struct compare_result *c, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {{"figure", true},
	                                                    {"before", false},
	                                                    {"after", false},
	                                                    {"change", false},
	                                                    {"99 % bounds", false}};
	struct text_layout_table t;

	text_layout_heading(page, "Times and shares");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < c->total_count; i++) {
		const struct compare_total *row = &c->totals[i];
		bool ratio = row->metric->kind == METRIC_TIME;
		if (metric_is_count(row->metric))
			continue;
		table_cell(&t, "%s", row->metric->name);
		middle_cell(&t, row->metric->kind, &row->time.before);
		middle_cell(&t, row->metric->kind, &row->time.after);
		change_cell(&t, &row->time, ratio);
		bounds_cell(&t, &row->time, ratio);
	}
	table_print(&t, page);
	put_how(c, page);
}

static void put_rest(const struct compare_pairs *p, size_t shown, const char *what,
                     struct text_layout *page)
{
	if (shown < p->count)
		text_layout_line(page, "%zu more %s, %zu of them changed, not shown (--limit all)",
		                 p->count - shown, what,
		                 p->changed > shown ? p->changed - shown : 0);
}

static void count_cells(struct text_layout_table *t, const struct compare_pair *p)
{
	range_cell(t, METRIC_COUNT, &p->count_before);
	range_cell(t, METRIC_COUNT, &p->count_after);
	if (!p->before || !p->after)
		table_cell(t, "%s", p->before ? "gone" : "new");
	else
		difference_cell(t, &p->count_before, &p->count_after);
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

/* `brief`: what stands for the names; NULL: they do. */
static void put_pairs(const struct compare_pairs *p, const struct out_options *o, const char *what,
                      char *const *brief, struct text_layout *page)
{
	const struct text_layout_column columns[] = {
	        {"before", false}, {"after", false},  {"difference", false}, {"p50 was", false},
	        {"p50 is", false}, {"change", false}, {what, true}};
	char *many = alloc_format("%ss", what);
	size_t shown = 0;
	struct text_layout_table t;

	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (; shown < p->count && shown < o->limit; shown++) {
		const struct compare_pair *pair = &p->items[shown];
		count_cells(&t, pair);
		middle_cell(&t, METRIC_TIME, &pair->p50.before);
		middle_cell(&t, METRIC_TIME, &pair->p50.after);
		change_cell(&t, &pair->p50, true);
		table_cell(&t, "%s", brief ? brief[shown] : pair->name);
	}
	table_print(&t, page);
	put_rest(p, shown, many, page);
	free(many);
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
	char **brief = brief_names(&c->kernels);
	put_pairs(&c->kernels, o, "kernel", o->names == NAMES_FULL ? NULL : brief, page);
	for (size_t i = 0; i < c->kernels.count && i < o->limit; i++) {
		const struct compare_pair *p = &c->kernels.items[i];
		if (!p->reshaped)
			continue;
		put_shape(p->before, before, sizeof(before));
		put_shape(p->after, after, sizeof(after));
		text_layout_line(page, "%s: %s, was %s", brief[i], after, before);
	}
	for (size_t i = 0; i < c->kernels.count; i++)
		free(brief[i]);
	free(brief);
}

static void put_copies(const struct compare_result *c, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"before", false},     {"after", false}, {"difference", false},
	        {"bytes were", false}, {"are", false},   {"kind of copy", true}};
	struct text_layout_table t;
	char text[UNIT_BYTES];

	if (!c->copies.count)
		return;
	text_layout_heading(page, "Copies");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < c->copies.count; i++) {
		const struct compare_pair *p = &c->copies.items[i];
		count_cells(&t, p);
		table_cell(&t, "%s", unit_bytes(text, p->bytes_before.middle));
		table_cell(&t, "%s", unit_bytes(text, p->bytes_after.middle));
		table_cell(&t, "%s", p->name);
	}
	table_print(&t, page);
}

static void site_cells(struct text_layout_table *t, const struct figures_site *s)
{
	char text[UNIT_BYTES];

	if (!s) {
		table_cell(t, "-");
		table_cell(t, "-");
		return;
	}
	table_cell(t, "%s%.0f", s->estimated ? "~" : s->whole ? "" : ">=", s->calls);
	table_cell(t, "%s%s", s->estimated ? "~" : "", unit_time(text, s->api_time));
}

static void put_sites(const struct compare_result *c, const struct out_options *o,
                      struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"calls were", false}, {"API", false}, {"calls are", false}, {"API", false},
	        {"difference", false}, {"call", true}, {"where", true}};
	struct text_layout_table t;
	char text[UNIT_BYTES];
	size_t shown = 0;

	if (!c->has_sites || !c->site_count)
		return;
	text_layout_heading(page, "Where in your code (of the first recording of each side)");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	t.names_above = true;
	for (; shown < c->site_count && shown < o->limit; shown++) {
		const struct figures_site *a = c->sites[shown].before, *b = c->sites[shown].after;
		double change = a && b ? b->api_time - a->api_time : NAN;
		site_cells(&t, a);
		site_cells(&t, b);
		table_cell(&t, "%s%s",
		           !a           ? "new"
		           : !b         ? "gone"
		           : change < 0 ? "-"
		                        : "+",
		           isfinite(change) ? unit_time(text, fabs(change)) : "");
		table_cell(&t, "%s", (b ? b : a)->api);
		table_cell(&t, "%s", (b ? b : a)->where);
	}
	table_print(&t, page);
	if (shown < c->site_count)
		text_layout_line(page, "%zu more places not shown (--limit all)",
		                 c->site_count - shown);
	text_layout_line(
	        page, "calls: >= those that took over 5 us, ~ as many as the samples stand for.");
}

static void put_page(const struct compare_result *c, const struct out_options *o,
                     struct text_layout *page)
{
	put_top(c, page);
	put_counts(c, page);
	put_times(c, page);
	put_kernels(c, o, page);
	if (c->apis.count) {
		text_layout_heading(page, "CUDA API calls (p50: API time)");
		put_pairs(&c->apis, o, "call", NULL, page);
	}
	put_copies(c, page);
	put_sites(c, o, page);
	if (!c->has_parts)
		text_layout_line(page,
		                 "A baseline holds no times of kernels, and no table of calls and "
		                 "copies.");
}

void out_diff_text(const struct compare_result *c, const struct out_options *o)
{
	struct text_layout page = {.to = o->to,
	                           .colour = o->colour,
	                           .whole_names = o->names == NAMES_FULL,
	                           .width = o->width};

	put_page(c, o, &page);
}

void out_diff_markdown(const struct compare_result *c, const struct out_options *o)
{
	struct text_layout page = {.to = o->to, .markdown = true, .width = o->width};

	fputs("# cudaspy diff\n\n", o->to);
	put_page(c, o, &page);
}
