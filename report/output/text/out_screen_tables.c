/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/base/units.h"
#include "report/output/text/out_screen.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* From this share of what all lines of code have on, it is the line; below it the largest of many.
 */
#define PLACE_MOST 0.5

/* Of GPU time: what is no kernel and has less is not told. */
#define OTHER_LEAST 0.01

/* ---- changes ---- */

/* (free it) */
static char *kernel_of(const struct screen_report *r, const struct finding *f)
{
	return alloc_format("%s%s", out_page_name_of(r->m, f->kernel, r->o->names),
	                    isfinite(f->speedup) ? ", if it took half its time" : "");
}

/* So much of a place is told: its lines alone, who calls them too, and names of functions. */
enum place_detail { PLACE_LINES, PLACE_CALLERS, PLACE_FUNCTIONS };

/* "at train.py:57 in step: loss.item()", with less detail where there is no room for it, the
 * kernel, or nothing (free it). */
static char *where(const struct screen_report *r, const struct finding *f, size_t room,
                   enum place_detail detail)
{
	bool functions = detail >= PLACE_FUNCTIONS, callers = detail >= PLACE_CALLERS;
	char share[UNIT_BYTES];

	if (f && f->kernel)
		return kernel_of(r, f);
	if (!f || !f->place)
		return NULL;
	char *site = f->ahead ? site_ahead(f->site, f->since, f->until, functions, callers)
	                      : site_where(f->site, functions);
	char *line = f->site->frame_count ? out_page_source(&f->site->frames[f->site->head]) : NULL;
	char *most = f->place_share < PLACE_MOST
	                     ? alloc_format("%s %% of it ", unit_percent(share, f->place_share, 1))
	                     : alloc_string("");
	char *text = alloc_format("%s%s%s", most, f->ahead ? "" : "at ", site);
	if (!f->since)
		alloc_append(&text, ": %s", line ? line : name_call(f->site->api));
	free(site);
	free(line);
	free(most);
	if (detail == PLACE_LINES || text_width(text) <= room)
		return text;
	free(text);
	return where(r, f, room, detail - 1);
}

/* Of a step, else of all that is judged. */
static double whole_of(const struct summary *s)
{
	return s->step > 0 ? s->step : s->judged_ns;
}

/* On a wide terminal a change takes one line, else its place has one of its own. */
#define WHAT_WIDE  (FINDING_BRIEF + 2)
#define RANGE_WIDE 22
/* Its number. */
#define CHANGE_INDENT 3

static void put_wide(const char *what, const char *range, const char *place, size_t number,
                     bool predicted, struct text_layout *page)
{
	size_t taken = CHANGE_INDENT + WHAT_WIDE + RANGE_WIDE + 2;
	char *safe = text_safe(place ? place : "", place ? strlen(place) : 0),
	     *fit = text_fit(safe, page->width - taken);

	fprintf(page->to, "%2zu %-*s%s%*s%s%s%s\n", number, WHAT_WIDE, what,
	        text_layout_colour(page, predicted ? TEXT_GREEN : TEXT_PLAIN), RANGE_WIDE, range,
	        text_layout_colour(page, TEXT_PLAIN), *fit ? "  " : "", fit);
	free(safe);
	free(fit);
}

/* The range has a line of its own where the page is too narrow for both. */
static void put_narrow(const char *what, const char *range, size_t number, bool predicted,
                       struct text_layout *page)
{
	size_t taken = CHANGE_INDENT + text_width(what) + strlen(range);
	bool both = page->width > taken + 1; /* two blanks between them */
	char *fit = text_fit(what, page->width - CHANGE_INDENT);

	fprintf(page->to, "%2zu %s%s%*s%s%s%s\n", number, fit, both ? "" : "\n",
	        (int)(page->width - (both ? taken : strlen(range))), "",
	        text_layout_colour(page, predicted ? TEXT_GREEN : TEXT_PLAIN), range,
	        text_layout_colour(page, TEXT_PLAIN));
	free(fit);
}

static void put_change(const struct screen_report *r, const struct summary_change *c, size_t number,
                       struct text_layout *page)
{
	double whole = whole_of(r->s);
	char *range = isfinite(c->high)
	                      ? summary_range(c->mean * whole, c->low * whole, c->high * whole)
	                      : alloc_string("not predicted");
	size_t before = CHANGE_INDENT, room;
	if (page->width >= TEXT_LAYOUT_WIDE)
		before += WHAT_WIDE + RANGE_WIDE + 2;
	room = page->width > before ? page->width - before : 0;
	char *place = where(r, c->line, room, PLACE_FUNCTIONS);
	if (page->width >= TEXT_LAYOUT_WIDE) {
		put_wide(c->what, range, place, number, isfinite(c->high), page);
		free(place);
		free(range);
		return;
	}
	put_narrow(c->what, range, number, isfinite(c->high), page);
	if (place) {
		char *safe = text_safe(place, strlen(place)), *fit = text_fit(safe, room);
		fprintf(page->to, "%*s%s\n", CHANGE_INDENT, "", fit);
		free(safe);
		free(fit);
	}
	free(place);
	free(range);
}

void out_screen_changes(const struct screen_report *r, size_t most, struct text_layout *page)
{
	const struct summary *s = r->s;
	char time[UNIT_BYTES];
	const char *title = "Changes that help most";

	if (!s->change_count) {
		if (r->a->verdict.cls != VERDICT_NONE)
			text_layout_fact(page, "changes", "no finding would save 1 %% of %s",
			                 s->judged);
		return;
	}
	unit_time_apart(time, whole_of(s));
	char *of = s->step > 0 ? alloc_format("each alone saves, of a step of %s", time)
	                       : alloc_format("each alone saves, of the judged %s", time);
	size_t taken = strlen(title) + strlen(of), width = page->width;
	if (width >= TEXT_LAYOUT_WIDE)
		width = CHANGE_INDENT + WHAT_WIDE + RANGE_WIDE;
	bool both = width > taken + 1;
	fprintf(page->to, "%s%s%s%*s%s\n", text_layout_colour(page, TEXT_BOLD), title,
	        text_layout_colour(page, TEXT_PLAIN), both ? (int)(width - taken) : 0,
	        both ? "" : "\n ", of);
	free(of);
	for (size_t i = 0; i < s->change_count && i < most; i++)
		put_change(r, &s->changes[i], i + 1, page);
}

/* ---- kernels ---- */

struct columns {
	bool gpu, estimated, wide;
	const char *sorted; /* as in the table of all kernels */
};

static void put_row(struct text_layout_table *t, const struct screen_report *r, struct columns has,
                    const struct model_gpu_time *gpu, double api, uint64_t launches,
                    const struct model_kernel *k, const char *name)
{
	const struct model_shape *shape = k ? &k->most : NULL;

	if (has.gpu) {
		out_page_percent(t, gpu->total, r->m->gpu.all.total);
		if (has.estimated) {
			out_page_gpu_cells(t, gpu);
		} else {
			out_page_time(t, gpu->total);
		}
	} else {
		out_page_time(t, api);
	}
	out_page_count(t, model_count(r->m, launches));
	out_page_time(t, has.gpu ? gpu->mean : api / (double)launches);
	if (has.wide) {
		out_page_time(t, api > 0 ? api / (double)launches : NAN);
		if (shape && shape->launches)
			table_cell(t, "%u,%u,%u x %u,%u,%u", shape->grid[0], shape->grid[1],
			           shape->grid[2], shape->block[0], shape->block[1],
			           shape->block[2]);
		else
			table_cell(t, "-");
	}
	if (has.sorted)
		out_page_sorted_cell(t, r->m, k, r->o->sort);
	table_cell(t, "%s", name);
}

/* What is on the GPU beside kernels, as one row each. */
struct other {
	const struct model_gpu_time *gpu;
	double api;
	uint64_t count;
	const char *name;
	bool told;
};
#define OTHERS 3

/* Into the table, largest first, what comes before a kernel with this much. */
static size_t put_others(struct text_layout_table *t, const struct screen_report *r,
                         struct columns has, struct other others[OTHERS], double least, size_t most)
{
	size_t rows = 0;

	while (rows < most) {
		struct other *next = NULL;
		double largest = least;
		for (size_t i = 0; i < OTHERS; i++) {
			double key = has.gpu ? others[i].gpu->total : others[i].api;
			if (others[i].told || !others[i].count || !(key > largest))
				continue;
			largest = key;
			next = &others[i];
		}
		if (!next)
			break;
		put_row(t, r, has, next->gpu, next->api, next->count, NULL, next->name);
		next->told = true;
		rows++;
	}
	return rows;
}

/* Work of which too little is known for its share of all to be told. */
static bool is_part(const struct model *m)
{
	return m->gpu.partial || m->gpu.all.known < OUT_KNOWN_ENOUGH;
}

/* The bars above are of a phase where there is one; the tables are of all that ran (free it). */
static char *heading(const struct screen_report *r, struct columns has)
{
	static const char *const keys[] = {
	        [SORT_TOTAL] = ", by API time",         [SORT_CALLS] = ", by launches",
	        [SORT_MEAN] = ", by mean of a call",    [SORT_P50] = ", by p50 of a call",
	        [SORT_P99] = ", by p99 of a call",      [SORT_MAX] = ", by the longest call",
	        [SORT_FAILED] = ", by failed launches", [SORT_NAME] = ", by name",
	        [SORT_GPU] = ", by GPU time",
	};
	const char *by = r->o->sort != SORT_GPU ? keys[r->o->sort]
	                 : !has.gpu             ? ", by API time (GPU time: not known)"
	                 : is_part(r->m)        ? ", by GPU time if known"
	                 : has.estimated        ? ", by estimated GPU time"
	                                        : ", by GPU time";

	return alloc_format("kernel%s%s", r->a->of->phase ? " of the run" : "", by);
}

void out_screen_kernels(const struct screen_report *r, size_t most, struct text_layout *page)
{
	const struct model *m = r->m;
	struct columns has = {.gpu = m->gpu.measured && m->gpu.all.total > 0,
	                      .estimated = m->gpu.estimated,
	                      .wide = page->width >= TEXT_LAYOUT_WIDE};
	double all = has.gpu ? m->gpu.all.total : 0;
	struct other others[OTHERS] = {
	        {&m->gpu.graphs, m->class_ns[SPY_CLASS_GRAPH_LAUNCH], m->totals.graph_launches,
	         "(launches of CUDA graphs)", false},
	        {&m->gpu.copies, 0, m->totals.copies, "(copies)", false},
	        {&m->gpu.sets, 0, m->totals.sets, "(memsets)", false},
	};
	struct text_layout_column columns[TABLE_COLUMNS];
	struct text_layout_table t;
	size_t n = 0, rows = 0;

	if (!m->totals.launches && !m->totals.graph_launches)
		return;
	if (has.gpu || (r->o->sort != SORT_TOTAL && r->o->sort != SORT_MEAN))
		has.sorted = out_page_sorted_head(r->o->sort);
	if (has.gpu) {
		columns[n++] = (struct text_layout_column){is_part(m) ? "known %" : "GPU %", false};
		columns[n++] = (struct text_layout_column){"time", false};
		if (has.estimated)
			columns[n++] = (struct text_layout_column){"+-%", false};
	} else {
		columns[n++] = (struct text_layout_column){"API time", false};
	}
	columns[n++] = (struct text_layout_column){"count", false};
	columns[n++] = (struct text_layout_column){"mean", false};
	if (has.wide) {
		columns[n++] = (struct text_layout_column){"launch call", false};
		columns[n++] = (struct text_layout_column){"grid x block, mostly", true};
	}
	if (has.sorted)
		columns[n++] = (struct text_layout_column){has.sorted, false};
	char *last = heading(r, has);
	columns[n++] = (struct text_layout_column){last, true};
	table_start(&t, columns, n);
	t.always_fit = true;
	for (size_t i = 0; i < m->kernel_count && rows < most; i++) {
		const struct model_kernel *k = &m->kernels[i];
		if (!k->launches) /* graphs alone ran it, or nobody did */
			continue;
		double key = has.gpu ? k->gpu.total : k->total;
		/* In another order they have no place but the end. */
		if (r->o->sort == SORT_GPU)
			rows += put_others(&t, r, has, others,
			                   isfinite(key) ? key : OTHER_LEAST * all, most - rows);
		if (rows < most) {
			put_row(&t, r, has, &k->gpu, k->total, k->launches, k,
			        out_page_name(k, r->o->names));
			rows++;
		}
	}
	put_others(&t, r, has, others, OTHER_LEAST * all, most - rows);
	table_print(&t, page);
	free(last);
}
