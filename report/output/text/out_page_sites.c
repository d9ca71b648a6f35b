/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
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

/* It could not be read, in a program of Python, and the thread is not known to have none. */
static bool lacks_python(const struct model *m, const struct model_site *s)
{
	for (size_t i = 0; i < s->frame_count; i++)
		if (s->frames[i].python)
			return false;
	return m->sites.python && !s->thread;
}

static void put_frame(struct text_layout_table *t, const struct model_site *s, size_t i)
{
	char *text = site_frame_text(&s->frames[i], true), *source = out_page_source(&s->frames[i]);

	table_cell(t, i == s->head ? "->" : "");
	table_cell(t, "%s", text);
	if (source) {
		table_cell(t, "%s", "");
		table_cell(t, "    %s", source);
	}
	free(text);
	free(source);
}

/* Frames of libraries that follow one another, from `i` on: the first that is none of them. */
static size_t put_folded(struct text_layout_table *t, const struct model_site *s, size_t i)
{
	char *owners = NULL, *last = NULL;
	size_t from = i;

	for (; i < s->frame_count && i != s->head && s->frames[i].foreign; i++) {
		char *owner = site_frame_owner(&s->frames[i]);
		if (!last || strcmp(last, owner))
			alloc_append(&owners, "%s%s", owners ? ", " : "", owner);
		free(last);
		last = owner;
	}
	free(last);
	table_cell(t, "%s", "");
	table_cell(t, "(%zu of %s)", i - from, owners);
	free(owners);
	return i;
}

/* `all`: else those of libraries are told together. */
static void put_frames(const struct model_site *s, bool all, struct text_layout_table *t)
{
	for (size_t i = 0; i < s->frame_count;) {
		bool fold = !all && s->frames[i].foreign && i != s->head;
		if (fold && i + 1 < s->frame_count && s->frames[i + 1].foreign && i + 1 != s->head)
			i = put_folded(t, s, i);
		else
			put_frame(t, s, i++);
	}
}

/* `most`: rows; of `count` places. */
static void table_of_places(const struct model *m, const struct model_place *const *places,
                            size_t count, size_t most, bool bytes, struct text_layout *page)
{
	const struct text_layout_column columns[] = {
	        {"calls", false}, {"API", false}, {bytes ? "pageable" : "wasted", false},
	        {"GPU", false},   {"call", true}, {"where", true}};
	size_t rows = count < most ? count : most;
	char text[UNIT_BYTES];
	struct text_layout_table t;

	table_start(&t, columns, COUNT(columns));
	t.names_above = true;
	for (size_t i = 0; i < rows; i++) {
		const struct model_place *p = places[i];
		const struct model_site *s = &m->sites.items[p->site];
		char *where = site_where(s, true);
		char *source = s->frame_count ? out_page_source(&s->frames[s->head]) : NULL;
		calls_cell(&t, p->calls, p->whole, p->estimated);
		time_cell(&t, p->api_time, p->estimated);
		if (bytes)
			table_cell(&t, "%s", unit_bytes(text, (double)p->pageable_bytes));
		else
			time_cell(&t, s->kind == SITE_WAIT ? p->wasted : NAN, false);
		time_cell(&t, p->gpu, true);
		table_cell(&t, "%s", name_call(s->api));
		table_cell(&t, "%s%s%s%s", where, source ? ": " : "", source ? source : "",
		           lacks_python(m, s) ? " (no Python above it)" : "");
		free(where);
		free(source);
	}
	table_print(&t, page);
	out_page_rest(page, rows, count, "places");
}

/* ---- the same by what they have most of ---- */

static double waited(const struct model_place *p)
{
	return p->api_time;
}

static double on_gpu(const struct model_place *p)
{
	return p->gpu;
}

static double pageable(const struct model_place *p)
{
	return (double)p->pageable_bytes;
}

static const struct order {
	const char *title;
	int kind; /* SITE_KINDS: all */
	double (*measure)(const struct model_place *p);
	bool bytes;
} all_of_them = {NULL, SITE_KINDS, waited, false},
  orders[] = {
          {"By GPU time of what was given there", SITE_KINDS, on_gpu, false},
          {"Launches by their time in CUDA", SITE_LAUNCH, waited, false},
          {"Waits", SITE_WAIT, waited, false},
          {"Allocations and frees", SITE_ALLOC, waited, false},
          {"Copies by bytes of pageable memory", SITE_COPY, pageable, true},
};

struct ranked {
	const struct model_place *place;
	double value;
};

static int largest_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static void by_measure(const struct model *m, const struct order *o, size_t limit,
                       struct text_layout *page)
{
	const struct model_sites *s = &m->sites;
	struct ranked *of = alloc_zeroed(s->place_count + 1, sizeof(*of));
	const struct model_place **places = alloc_zeroed(s->place_count + 1, sizeof(*places));
	size_t n = 0;

	for (size_t i = 0; i < s->place_count; i++) {
		const struct model_place *p = &s->places[i];
		double v = o->measure(p);
		if ((v > 0 || !o->title) &&
		    (o->kind == SITE_KINDS || o->kind == (int)s->items[p->site].kind))
			of[n++] = (struct ranked){p, v};
	}
	qsort(of, n, sizeof(*of), largest_first);
	for (size_t i = 0; i < n; i++)
		places[i] = of[i].place;
	if (n && o->title) {
		text_layout_blank(page);
		text_layout_line(page, "%s:", o->title);
	}
	if (n) {
		table_of_places(m, places, n, limit, o->bytes, page);
	}
	free(of);
	free(places);
}

static void stack(const struct model_site *s, bool all, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {{"", true}, {"frame", true}};
	char api[UNIT_BYTES], wasted[UNIT_BYTES], gpu[UNIT_BYTES];
	struct text_layout_table t;
	char *more = s->kind == SITE_WAIT && isfinite(s->wasted)
	                     ? alloc_format(", of which %s wasted", unit_time(wasted, s->wasted))
	                     : alloc_string("");

	text_layout_blank(page);
	text_layout_line(page, "%s: %s%.0f calls, API time %s%s%s%s%s", name_call(s->api),
	                 s->estimated ? "about "
	                 : s->whole   ? ""
	                              : "at least ",
	                 s->calls, s->estimated ? "about " : "", unit_time(api, s->api_time), more,
	                 isfinite(s->gpu) ? ", GPU time about " : "",
	                 isfinite(s->gpu) ? unit_time(gpu, s->gpu) : "");
	if (s->thread) {
		char *where = site_headline(s, true);
		text_layout_line(page, "%s", where);
		free(where);
	}
	table_start(&t, columns, COUNT(columns));
	put_frames(s, all, &t);
	table_print(&t, page);
	if (s->cut)
		text_layout_line(page, "More frames are outside of these.");
	free(more);
}

void out_page_sites(const struct model *m, const struct out_options *o, struct text_layout *page)
{
	const struct model_sites *s = &m->sites;
	bool brief = !o->sites && !o->limit_given && o->limit > ROWS_BRIEF;
	size_t limit = brief ? ROWS_BRIEF : o->limit;

	if (!s->count && !o->sites)
		return;
	text_layout_heading(page,
	                    "Where in your code (calls that took over 5 us, and those sampled)");
	if (!s->recorded)
		text_layout_line(page, "Not recorded (CUDASPY_SITES=off).");
	else if (!s->count)
		text_layout_line(page, "No call took so long, none was sampled.");
	else
		by_measure(m, &all_of_them, limit, page);
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
	for (size_t i = 0; o->sites && i < COUNT(orders); i++)
		by_measure(m, &orders[i], limit, page);
	for (size_t i = 0; o->sites && i < s->count && i < o->limit; i++)
		stack(&s->items[i], o->all_frames, page);
}
