/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/units.h"
#include "report/base/names.h"
#include "report/output/text/out_diff_cells.h"
#include "report/output/text/out_diff_sites.h"

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

/* One side alone has it, it is called more or less often as far as that is exact, or what its calls
 * take changed by a quarter. */
static bool site_tells(const struct figures_site *a, const struct figures_site *b)
{
	if (!a || !b || (a->whole && b->whole && a->calls != b->calls))
		return true;
	return fabs(b->api_time / a->api_time - 1) >= OUT_DIFF_CHANGE_TOLD;
}

void out_diff_sites(const struct compare_result *c, const struct out_options *o,
                    struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"calls were", false}, {"API", false}, {"calls are", false}, {"API", false},
	        {"difference", false}, {"call", true}, {"where", true}};
	struct text_layout_table t;
	char text[UNIT_BYTES];
	size_t shown = 0, told = 0;

	if (!c->has_sites || !c->site_count)
		return;
	text_layout_heading(page, "Where in your code (of the first recording of each side)");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	t.names_above = true;
	for (size_t i = 0; i < c->site_count; i++) {
		const struct figures_site *a = c->sites[i].before, *b = c->sites[i].after;
		if (!o->same && !site_tells(a, b))
			continue;
		told++;
		if (shown == o->limit)
			continue;
		shown++;
		double change = a && b ? b->api_time - a->api_time : NAN;
		site_cells(&t, a);
		site_cells(&t, b);
		table_cell(&t, "%s%s",
		           !a           ? "new"
		           : !b         ? "gone"
		           : change < 0 ? "-"
		                        : "+",
		           isfinite(change) ? unit_time(text, fabs(change)) : "");
		table_cell(&t, "%s", name_call((b ? b : a)->api));
		table_cell(&t, "%s", (b ? b : a)->where);
	}
	out_diff_table(&t, page);
	if (shown < told)
		text_layout_line(page, "%zu more place%s%s (--limit all).", told - shown,
		                 told - shown == 1 ? "" : "s", o->same ? "" : " changed");
	if (told < c->site_count)
		text_layout_line(page, "%zu place%s as before (--all).", c->site_count - told,
		                 c->site_count - told == 1 ? " is" : "s are");
	text_layout_line(
	        page, "calls: >= those that took over 5 us, ~ as many as the samples stand for.");
}
