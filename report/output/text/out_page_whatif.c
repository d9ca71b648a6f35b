/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "report/output/text/out_page.h"
#include "report/base/units.h"

static const struct text_layout_column columns[] = {
        {"window", false}, {"would be", false}, {"low", false},     {"high", false},
        {"saved", false},  {"speed-up", false}, {"covered", false}, {"change", true},
};

static void percent(struct text_layout_table *t, double part, double whole)
{
	char text[UNIT_BYTES];

	table_cell(t, "%s%s", unit_percent(text, part, whole), isfinite(part / whole) ? "%" : "");
}

static void row(struct text_layout_table *t, const struct whatif_question *q,
                const struct whatif_result *r)
{
	const double ns[] = {r->window, r->predicted, r->low, r->high, r->saved};

	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
		out_page_time(t, ns[i]);
	if (r->known)
		table_cell(t, "%.2f", r->speedup);
	else
		table_cell(t, "n/a");
	percent(t, r->coverage, 1);
	table_cell(t, "%s", q->text);
}

/* Which of the two forms of graphs it is, how to get there and what is in the way. */
static void graphs(struct text_layout *page, const struct whatifs *w,
                   const struct whatif_question *q, const struct whatif_result *r)
{
	char text[WHATIF_TEXT];

	if (r->what != WHATIF_GRAPHS || !(r->changed > 0))
		return;
	text_layout_line(page, "%s, %s: %s.", q->text,
	                 r->form == WHATIF_WHOLE ? "a whole step each" : "runs of calls",
	                 whatif_graph_way(whatif_model(w)));
	for (size_t i = 0, said; i < r->blocked_count; i += said)
		text_layout_line(
		        page, "%s, in the way of a whole step: %s.", q->text,
		        whatif_block_text(&r->blocked[i], r->blocked_count - i, &said, text));
}

void out_page_whatif(struct whatifs *w, const struct out_options *o,
                     const struct model_phase *phase, struct text_layout *page)
{
	struct whatif_result r;
	struct text_layout_table t;

	if (!o->whatif_count)
		return;
	text_layout_heading(
	        page,
	        "What if (%s, estimated by a replay of the recent calls; covered: share of it "
	        "that they are)",
	        out_page_judged(phase));
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < o->whatif_count; i++) {
		const struct whatif_question *q = &o->whatifs[i];
		whatif_predict(w, q->what, q->kernel, q->factor, &r);
		row(&t, q, &r);
	}
	table_print(&t, page);
	for (size_t i = 0; i < o->whatif_count; i++) {
		const struct whatif_question *q = &o->whatifs[i];
		if (!whatif_predict(w, q->what, q->kernel, q->factor, &r)) {
			text_layout_line(page, "%s: %s.", q->text, r.why);
			continue;
		}
		graphs(page, w, q, &r);
		for (size_t k = 0; k < r.assumption_count; k++)
			text_layout_line(page, "%s, assumed: %s.", q->text, r.assumptions[k]);
	}
}
