/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/text/out_diff_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/base/text_table.h"
#include "report/base/units.h"
#include "report/output/text/out_diff_cells.h"

/* Rows that changed, first; without --all the others are not shown. Not judged, a time that
 * changed by a quarter or more is one, as far as there are enough calls. */
static bool pair_tells(const struct compare_pair *p)
{
	double change = p->p50.after.middle / p->p50.before.middle - 1;

	if (pair_changed(p) || span_half_known(&p->count_before, &p->count_after) ||
	    (p->p50.judged && timing_moved(&p->p50, true)))
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
	enum compare_presence presence = pair_presence(p);

	out_diff_range(t, METRIC_COUNT, &p->count_before);
	out_diff_range(t, METRIC_COUNT, &p->count_after);
	if (presence == PRESENCE_VANISHED || presence == PRESENCE_APPEARED)
		table_cell(t, "%s", presence == PRESENCE_VANISHED ? "gone" : "new");
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

void out_diff_apis(const struct compare_result *c, const struct out_options *o,
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

void out_diff_kernels(const struct compare_result *c, const struct out_options *o,
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

void out_diff_copies(const struct compare_result *c, const struct out_options *o,
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
