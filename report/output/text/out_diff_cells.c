/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/units.h"
#include "report/output/text/out_diff_cells.h"

void out_diff_range(struct text_layout_table *t, enum metric_kind kind,
                    const struct compare_span *s)
{
	char *text = metric_text(kind, s->low, s->high), least[UNIT_BYTES], most[UNIT_BYTES];

	if (kind == METRIC_BYTES) {
		free(text);
		text = alloc_string(unit_bytes(least, s->low));
		if (strcmp(text, unit_bytes(most, s->high)) != 0)
			alloc_append(&text, "..%s", most);
	}
	table_cell(t, "%s", text);
	free(text);
}

void out_diff_middle(struct text_layout_table *t, enum metric_kind kind,
                     const struct compare_span *s)
{
	char *text = metric_text(kind, s->middle, s->middle);

	table_cell(t, "%s", text);
	free(text);
}

/* "+100, +5.0 %", "=", "varies" */
void out_diff_difference(struct text_layout_table *t, enum metric_kind kind,
                         const struct compare_span *before, const struct compare_span *after)
{
	double change = after->middle - before->middle;
	char more[METRIC_NUMBER_BYTES + 2], share[UNIT_BYTES];

	metric_number(more, change, true);
	if (kind == METRIC_BYTES && isfinite(change)) {
		more[0] = change < 0 ? '-' : '+';
		unit_bytes(more + 1, fabs(change));
	}
	if (!isfinite(change))
		table_cell(t, "n/a");
	else if (!span_differs(before, after))
		table_cell(t, "=");
	else if (change == 0)
		table_cell(t, "varies");
	else if (!(before->middle > 0))
		table_cell(t, "%s", more);
	else if (fabs(change / before->middle) < 0.0005)
		table_cell(t, "%s, <0.1 %%", more);
	else
		table_cell(t, "%s, %s", more, unit_change(share, change / before->middle));
}

/* "+10.1 %", with a mark where it is more than noise. */
void out_diff_change(struct text_layout_table *t, const struct compare_timing *time, bool ratio)
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
	char text[UNIT_BYTES], from[UNIT_BYTES];

	if (*unit_change(text, upper) == 'x')
		table_cell(t, "x%s..%s", unit_count(from, 1 + lower), text);
	else
		table_cell(t, "%+.1f..%+.1f", 100 * lower, 100 * upper);
}

void out_diff_bounds(struct text_layout_table *t, const struct compare_timing *time, bool ratio)
{
	double same = ratio ? 1 : 0;

	if (!time->judged || time->bounds.tied)
		table_cell(t, "n/a");
	else
		bounds_text(t, time->bounds.lower - same, time->bounds.upper - same);
}

void out_diff_table(struct text_layout_table *t, struct text_layout *page)
{
	if (t->cell_count)
		table_print(t, page);
}
