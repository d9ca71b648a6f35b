/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/text/out_page.h"
#include "report/base/units.h"

#define OUTLIERS_SHOWN 5u
#define INDENT_MOST    12 /* levels whose indentation still grows */

static char *plain(char to[UNIT_BYTES], double v)
{
	if (!isfinite(v))
		snprintf(to, UNIT_BYTES, "n/a");
	else if (v == floor(v) || fabs(v) >= 1e7)
		snprintf(to, UNIT_BYTES, "%.0f", v);
	else if (v > 0 && v < 0.0001)
		snprintf(to, UNIT_BYTES, "<0.0001");
	else if (fabs(v) < 0.01)
		snprintf(to, UNIT_BYTES, "%.1g", v);
	else
		snprintf(to, UNIT_BYTES, "%.*f", fabs(v) < 100 ? 2 : 1, v);
	return to;
}

static char *figure(char to[UNIT_BYTES], const char *name, double v)
{
	size_t n = strlen(name);

	if (n > 3 && !strcmp(name + n - 3, "_ns"))
		return unit_time(to, v);
	return !strcmp(name, "copy_bytes") ? unit_bytes(to, v) : plain(to, v);
}

static void spread_row(struct text_layout_table *t, const char *label, const char *unit,
                       const struct model_spread_of *s)
{
	const double v[] = {s->mean, s->min, s->p50, s->max};
	char text[UNIT_BYTES];

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		table_cell(t, "%s", figure(text, unit, v[i]));
	table_cell(t, "%s", label);
}

/* What the steps are. */
static void heading(const struct model *m, const struct out_options *o, struct text_layout *page)
{
	const struct model_steps_figures *s = &m->steps;
	char left_out[64] = "";

	if (s->skipped || s->odd)
		snprintf(left_out, sizeof(left_out), ", %llu left out",
		         (unsigned long long)(s->skipped + s->odd));
	text_layout_heading(page, "Steps (%s; %llu%s)",
	                    s->source == STEPS_NVTX ? "NVTX ranges" : "found in the repeating work",
	                    (unsigned long long)s->count, left_out);
	if (s->source == STEPS_NVTX)
		text_layout_line(page, "Each is a range \"%s\"%s%s%s.", s->name ? s->name : "",
		                 s->domain ? " of domain \"" : "", s->domain ? s->domain : "",
		                 s->domain ? "\"" : "");
	else
		text_layout_line(page,
		                 "Told apart by %s; on average %.0f %% alike; confidence: %s. NVTX "
		                 "ranges would say it for certain.",
		                 s->name ? out_page_name_of(m, s->name, o->names) : "n/a",
		                 s->alike * 100, s->confidence);
	if (s->stride > 1)
		text_layout_line(page, "Figures are those of every %lluth step.",
		                 (unsigned long long)s->stride);
}

static void outliers(const struct model *m, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"at", false},     {"duration", false}, {"launches", false}, {"syncs", false},
	        {"copies", false}, {"allocs", false},   {"launch", true}};
	const struct model_steps_figures *s = &m->steps;
	char text[UNIT_BYTES];
	struct text_layout_table t;

	if (!s->outlier_count)
		return;
	text_layout_line(page, "%zu step%s took much longer than the median; the longest:",
	                 s->outlier_count, s->outlier_count > 1 ? "s" : "");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < s->outlier_count && i < OUTLIERS_SHOWN; i++) {
		const struct model_step *row = &s->outliers[i];
		out_page_time(&t, row->start);
		out_page_time(&t, row->duration);
		table_cell(&t, "%s", plain(text, row->work.launches));
		table_cell(&t, "%s", plain(text, row->work.syncs));
		table_cell(&t, "%s", plain(text, row->work.copies));
		table_cell(&t, "%s", plain(text, row->work.alloc_calls));
		out_page_time(&t, row->work.launch_ns);
	}
	table_print(&t, page);
}

void out_page_steps(const struct model *m, const struct out_options *o, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {{"mean", false},
	                                                    {"min", false},
	                                                    {"p50", false},
	                                                    {"max", false},
	                                                    {"per step", true}};
	static const char *const labels[WORK_FIGURES] = {
	        "launches",        "graph launches", "syncs",        "copies",
	        "pageable copies", "memsets",        "copied bytes", "allocations, frees",
	        "launch API time", "GPU time"};
	const struct model_steps_figures *s = &m->steps;
	char text[UNIT_BYTES], more[UNIT_BYTES];
	struct text_layout_table t;

	if (s->source == STEPS_NONE) {
		if (m->steps_from)
			text_layout_heading(
			        page,
			        "Steps: n/a: no NVTX range \"%s\" among the %u outermost levels",
			        m->steps_from, MODEL_STEP_LEVELS);
		else if (o->unit_per_step > 0)
			text_layout_heading(page,
			                    "Steps: n/a: no NVTX range and no work that repeats");
		return;
	}
	heading(m, o, page);
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	spread_row(&t, "duration", "_duration_ns", &s->duration);
	for (unsigned i = 0; i < WORK_FIGURES; i++)
		if (!(s->work[i].max == 0))
			spread_row(&t, labels[i], model_work_figure_names[i], &s->work[i]);
	table_print(&t, page);
	if (s->timed && s->timed < s->judged)
		text_layout_line(page, "GPU time: of the %llu steps whose calls are kept.",
		                 (unsigned long long)s->timed);
	char *without =
	        s->warm >= 1.5 ? alloc_format(", without the first %.0f, which warm up; the "
	                                      "figures above are with them",
	                                      s->warm)
	        : s->warm >= 1 ? alloc_string(", without the first, which warms up; the figures "
	                                      "above are with it")
	        : s->apart     ? alloc_string(", by the time of the whole loop: steps overlap, or "
	                                          "the host waits or works between them")
	                       : alloc_string("");
	text_layout_line(page, "p99 of the duration: %s. %s steps/s%s.",
	                 unit_time_apart(text, s->duration.p99), plain(more, s->judged_per_s),
	                 without);
	free(without);
	if (o->unit_per_step > 0)
		text_layout_line(page, "Throughput: %s units/s (%s units per step).",
		                 plain(text, o->unit_per_step * s->judged_per_s),
		                 plain(more, o->unit_per_step));
	outliers(m, page);
}

/* ---- the tree ---- */

struct tree {
	const struct model *m;
	size_t *first, *next; /* first child (of RANGE_NONE: at index range_count), next sibling */
	size_t shown, limit;
	struct text_layout_table table;
};

static void range_row(struct tree *tree, size_t i)
{
	const struct model_range *r = &tree->m->ranges[i];
	double n = r->counted ? (double)r->counted : NAN;
	int indent = r->level < INDENT_MOST ? (int)r->level : INDENT_MOST;
	char text[UNIT_BYTES];

	out_page_count(&tree->table, r->count);
	out_page_time(&tree->table, r->count ? r->total : NAN);
	out_page_time(&tree->table, r->mean);
	out_page_time(&tree->table, r->q.p50);
	out_page_time(&tree->table, r->q.p99);
	table_cell(&tree->table, "%s",
	           plain(text, (r->work.launches + r->work.graph_launches) / n));
	table_cell(&tree->table, "%s", plain(text, r->work.syncs / n));
	table_cell(&tree->table, "%s", plain(text, r->work.copies / n));
	out_page_time(&tree->table, r->work.gpu_ns / n);
	table_cell(&tree->table, "%*s%s%s%s", 2 * indent, "", r->domain ? r->domain : "",
	           r->domain ? ": " : "", r->name);
}

/* Depth first, without recursion: a hostile file's tree may be as deep as it is large. */
static void walk(struct tree *tree)
{
	size_t root = tree->m->range_count, at = tree->first[root];

	while (at != RANGE_NONE && tree->shown < tree->limit) {
		range_row(tree, at);
		tree->shown++;
		if (tree->first[at] != RANGE_NONE) {
			at = tree->first[at];
			continue;
		}
		while (at != RANGE_NONE && tree->next[at] == RANGE_NONE)
			at = tree->m->ranges[at].parent;
		at = at == RANGE_NONE ? RANGE_NONE : tree->next[at];
	}
}

void out_page_ranges(const struct model *m, const struct out_options *o, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"count", false}, {"total", false},    {"mean", false},  {"p50", false},
	        {"p99", false},   {"launches", false}, {"syncs", false}, {"copies", false},
	        {"GPU", false},   {"range", true}};
	struct tree tree = {.m = m, .limit = o->limit};

	if (!m->range_count)
		return;
	tree.first = alloc_zeroed(m->range_count + 1, sizeof(*tree.first));
	tree.next = alloc_zeroed(m->range_count + 1, sizeof(*tree.next));
	for (size_t i = 0; i <= m->range_count; i++)
		tree.first[i] = tree.next[i] = RANGE_NONE;
	for (size_t i = m->range_count; i-- > 0;) {
		size_t parent =
		        m->ranges[i].parent == RANGE_NONE ? m->range_count : m->ranges[i].parent;
		tree.next[i] = tree.first[parent];
		tree.first[parent] = i;
	}
	text_layout_heading(page, "NVTX ranges (launches, syncs, copies, GPU time: per range)");
	table_start(&tree.table, columns, sizeof(columns) / sizeof(columns[0]));
	walk(&tree);
	table_print(&tree.table, page);
	out_page_rest(page, tree.shown, m->range_count, "ranges");
	if (m->ranges_lost)
		text_layout_line(page, "%llu ranges were lost: in no figure here.",
		                 (unsigned long long)m->ranges_lost);
	free(tree.first);
	free(tree.next);
}
