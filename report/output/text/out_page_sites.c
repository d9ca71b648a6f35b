/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/units.h"
#include "report/output/text/out_page.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ROWS_BRIEF 10u /* without --sites */

/* "~": an estimate; ">=": only those that took long were looked at. */
static void calls_cell(struct text_layout_table *t, double calls, bool whole, bool estimated)
{
	table_cell(t, "%s%.0f", estimated ? "~" : whole ? "" : ">=", calls);
}

static void time_cell(struct text_layout_table *t, double ns, bool estimated)
{
	char text[UNIT_BYTES];

	table_cell(t, "%s%s", estimated && isfinite(ns) ? "~" : "", unit_time(text, ns));
}

/* A thread of a library's own, in a program of Python: autograd's backward is one. */
static bool lacks_python(const struct model *m, const struct model_site *s)
{
	for (size_t i = 0; i < s->frame_count; i++)
		if (s->frames[i].python)
			return false;
	return m->sites.python;
}

static void table_of_places(const struct model *m, size_t rows, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {{"calls", false},  {"API", false},
	                                                    {"wasted", false}, {"GPU", false},
	                                                    {"call", true},    {"where", true}};
	struct text_layout_table t;

	table_start(&t, columns, COUNT(columns));
	t.names_above = true;
	for (size_t i = 0; i < rows; i++) {
		const struct model_place *p = &m->sites.places[i];
		const struct model_site *s = &m->sites.items[p->site];
		char *where = site_headline(s, false);
		char *source = s->frame_count ? out_page_source(m, &s->frames[s->head]) : NULL;
		calls_cell(&t, p->calls, p->whole, p->estimated);
		time_cell(&t, p->api_time, p->estimated);
		time_cell(&t, s->kind == SITE_WAIT ? p->wasted : NAN, false);
		time_cell(&t, p->gpu, true);
		table_cell(&t, "%s", s->api);
		table_cell(&t, "%s%s%s%s", where, source ? ": " : "", source ? source : "",
		           lacks_python(m, s) ? " (no Python above it)" : "");
		free(where);
		free(source);
	}
	table_print(&t, page);
	out_page_rest(page, rows, m->sites.place_count, "places");
}

static void stack(const struct model_site *s, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {{"", true}, {"frame", true}};
	char api[UNIT_BYTES], wasted[UNIT_BYTES], gpu[UNIT_BYTES];
	struct text_layout_table t;
	char *more = s->kind == SITE_WAIT && isfinite(s->wasted)
	                     ? alloc_format(", of which %s wasted", unit_time(wasted, s->wasted))
	                     : alloc_string("");

	text_layout_blank(page);
	text_layout_line(page, "%s: %s%.0f calls, API time %s%s%s%s%s", s->api,
	                 s->estimated ? "about "
	                 : s->whole   ? ""
	                              : "at least ",
	                 s->calls, s->estimated ? "about " : "", unit_time(api, s->api_time), more,
	                 isfinite(s->gpu) ? ", GPU time about " : "",
	                 isfinite(s->gpu) ? unit_time(gpu, s->gpu) : "");
	table_start(&t, columns, COUNT(columns));
	for (size_t i = 0; i < s->frame_count; i++) {
		char *text = site_frame_text(&s->frames[i], true);
		table_cell(&t, i == s->head ? "->" : "");
		table_cell(&t, "%s", text);
		free(text);
	}
	table_print(&t, page);
	if (s->cut)
		text_layout_line(page, "More frames are outside of these.");
	free(more);
}

void out_page_sites(const struct model *m, const struct out_options *o, struct text_layout *page)
{
	const struct model_sites *s = &m->sites;
	size_t limit = o->sites || o->limit < ROWS_BRIEF ? o->limit : ROWS_BRIEF;
	size_t rows = s->place_count < limit ? s->place_count : limit;

	if (!s->count && !o->sites)
		return;
	text_layout_heading(page,
	                    "Where in your code (calls that took over 5 us, and those sampled)");
	if (!s->recorded)
		text_layout_line(page, "Not recorded (CUDASPY_SITES=off).");
	else if (!s->count)
		text_layout_line(page, "No call took so long, none was sampled.");
	else
		table_of_places(m, rows, page);
	if (s->python_trouble)
		text_layout_line(page, "Python's frames are not read: %s.", s->python_trouble);
	if (s->lost)
		text_layout_line(page, "%llu stacks found no place and are left out.",
		                 (unsigned long long)s->lost);
	if (s->count)
		text_layout_line(
		        page,
		        "where: the innermost line that is not a library's. calls: >= those "
		        "looked at, ~ as many as the samples stand for. wasted: time of waits in "
		        "which no work was pending. GPU: estimated by the samples taken there.");
	for (size_t i = 0; o->sites && i < s->count && i < o->limit; i++)
		stack(&s->items[i], page);
}
