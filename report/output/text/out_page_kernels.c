/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/text/out_page.h"
#include "report/base/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Kernels with at least this share of all GPU time are worth a line about their occupancy, where it
 * is below the other. */
#define OCCUPANCY_SHARE 0.01
#define OCCUPANCY_GOOD  0.60

/* What a table of kernels has beside what it always has. */
struct kernel_columns {
	bool captured, graphs, overhead;
	bool ratio;         /* of launch and GPU time: both stand beside one another */
	const char *sorted; /* head of what it is sorted by, where nothing else has that */
	enum model_sort_key key;
};

static size_t name_columns(struct text_layout_column to[TABLE_COLUMNS], struct kernel_columns has)
{
	static const struct text_layout_column always[] = {{"p50", false},    {"queue", false},
	                                                   {"queued", false}, {"GPU", false},
	                                                   {"+-%", false},    {"mean", false}};
	size_t n = 0;

	to[n++] = (struct text_layout_column){"launches", false};
	if (has.captured)
		to[n++] = (struct text_layout_column){"captured", false};
	if (has.graphs)
		to[n++] = (struct text_layout_column){"in graphs", false};
	to[n++] = (struct text_layout_column){has.overhead ? "launch" : "API", false};
	if (has.sorted)
		to[n++] = (struct text_layout_column){has.sorted, false};
	for (size_t i = 0; i < COUNT(always); i++)
		to[n++] = always[i];
	if (has.ratio)
		to[n++] = (struct text_layout_column){"launch/GPU", false};
	to[n++] = (struct text_layout_column){"%GPU", false};
	to[n++] = (struct text_layout_column){"%win", false};
	to[n++] = (struct text_layout_column){"kernel", true};
	return n;
}

/* The figures of one kernel, of all graphs, or of all. */
struct line {
	uint64_t launches, captured, graphs;
	double launch, p50, queue;
	uint64_t queued;
	const struct model_gpu_time *gpu;
	const struct model_kernel *kernel; /* NULL: of several */
};

const char *out_page_sorted_head(enum model_sort_key key)
{
	static const char *const heads[] = {
	        [SORT_TOTAL] = "API",    [SORT_MEAN] = "call mean", [SORT_P50] = "call p50",
	        [SORT_P99] = "call p99", [SORT_MAX] = "call max",   [SORT_FAILED] = "failed"};

	return key < COUNT(heads) ? heads[key] : NULL;
}

void out_page_sorted_cell(struct text_layout_table *t, const struct model *m,
                          const struct model_kernel *k, enum model_sort_key key)
{
	if (!k)
		table_cell(t, "-");
	else if (key == SORT_FAILED)
		out_page_count(t, model_count(m, k->failed));
	else
		out_page_time(t, key == SORT_TOTAL  ? k->total
		                 : key == SORT_MEAN ? k->mean
		                 : key == SORT_P50  ? k->q.p50
		                 : key == SORT_P99  ? k->q.p99
		                                    : k->max);
}

static void ratio_cell(struct text_layout_table *t, double ratio)
{
	if (isfinite(ratio) && ratio < 1e5)
		table_cell(t, ratio < 9.995 ? "%.2f" : "%.0f", ratio);
	else
		table_cell(t, "n/a");
}

static void put_line(struct text_layout_table *t, const struct model *m, const struct line *l,
                     struct kernel_columns has)
{
	out_page_count(t, model_count(m, l->launches));
	if (has.captured)
		out_page_count(t, model_count(m, l->captured));
	if (has.graphs)
		out_page_count(t, model_count(m, l->graphs));
	out_page_time(t, l->launch);
	if (has.sorted)
		out_page_sorted_cell(t, m, l->kernel, has.key);
	out_page_time(t, l->p50);
	out_page_time(t, l->queue);
	out_page_count(t, isfinite(l->queue) ? (double)l->queued : NAN);
	out_page_gpu_cells(t, l->gpu);
	out_page_time(t, l->gpu->mean);
	if (has.ratio)
		ratio_cell(t, has.overhead ? l->launch / l->gpu->total : NAN);
	out_page_percent(t, l->gpu->total, m->gpu.all.total);
	out_page_percent(t, l->gpu->total, m->window);
}

static void kernel_row(struct text_layout_table *t, const struct model *m,
                       const struct model_kernel *k, struct kernel_columns has,
                       enum out_names names)
{
	struct line line = {
	        .launches = k->launches,
	        .captured = k->captured,
	        .graphs = k->graph_launches,
	        .launch = has.overhead ? k->overhead : k->total,
	        .p50 = k->q.p50,
	        .queue = k->queue_p50,
	        .queued = k->queued,
	        .gpu = &k->gpu,
	        .kernel = k,
	};

	put_line(t, m, &line, has);
	table_cell(t, "%s", out_page_name(k, names));
}

/* Kernels and graphs together: what the launches cost, and what they gave the GPU to do. */
static void total_row(struct text_layout_table *t, const struct model *m, struct kernel_columns has)
{
	struct line line = {
	        .launches = m->totals.launches + m->totals.graph_launches,
	        .p50 = m->gpu.launch_p50,
	        .queue = m->gpu.queue_p50,
	        .queued = m->gpu.queued,
	        .gpu = &m->gpu.launched,
	        .launch = m->gpu.overhead,
	        .graphs = m->in_graphs.kernels,
	};

	for (size_t i = 0; i < m->kernel_count; i++)
		line.captured += m->kernels[i].captured;
	if (!has.overhead)
		line.launch = m->class_ns[SPY_CLASS_LAUNCH] + m->class_ns[SPY_CLASS_GRAPH_LAUNCH];
	put_line(t, m, &line, has);
	table_cell(t, m->totals.graph_launches ? "ALL KERNELS AND GRAPHS" : "ALL KERNELS");
}

static bool in_part(const struct model *m)
{
	for (size_t i = 0; i < m->kernel_count; i++)
		if (isfinite(m->kernels[i].gpu.total) && m->kernels[i].gpu.known < OUT_KNOWN_ENOUGH)
			return true;
	return m->gpu.launched.known < OUT_KNOWN_ENOUGH;
}

static void explain(const struct model *m, struct kernel_columns has, struct text_layout *page)
{
	char text[UNIT_BYTES];

	if (has.overhead)
		text_layout_line(
		        page,
		        "launch: API time without back-pressure, contention and first launches. "
		        "p50: API time of one call, whatever it waited for. queue: p50 of the "
		        "wait between a launch and its "
		        "start, over the launches queued.%s",
		        has.ratio ? " launch/GPU: the one over the other." : "");
	else
		text_layout_line(page, "API: time of the launch calls, whatever they waited for.");
	if (has.graphs)
		text_layout_line(page,
		                 "in graphs: runs by launches of graphs, which are in no other "
		                 "figure of the row.");
	if (m->gpu.measured && m->gpu.estimated)
		text_layout_line(
		        page, "+-%%: half of the 95 %% interval, %% of the figure%s.",
		        in_part(m) ? ". >: of more than 5 % of the launches the GPU time is not "
		                     "known"
		                   : "");
	if (m->gpu.measured && m->gpu.launched.total > m->window)
		text_layout_line(page, "%%win may be over 100: kernels ran beside one another, on "
		                       "several streams or devices.");
	if (model_is_known(m))
		text_layout_line(page, "First launches (lazy loading), apart: %llu, %s.",
		                 (unsigned long long)m->gpu.firsts, unit_time(text, m->gpu.first));
}

void out_page_kernels(const struct model *m, const struct out_options *o, struct text_layout *page)
{
	size_t rows = m->kernel_count < o->limit ? m->kernel_count : o->limit;
	struct kernel_columns has = {.overhead = isfinite(m->gpu.overhead),
	                             .ratio = page->markdown || page->width >= TEXT_LAYOUT_WIDE,
	                             .key = o->sort};
	struct text_layout_column columns[TABLE_COLUMNS];
	char window[UNIT_BYTES], gpu[UNIT_BYTES];
	struct text_layout_table t;

	if (!m->kernel_count)
		return;
	if (o->sort != SORT_P50 && (o->sort != SORT_TOTAL || has.overhead))
		has.sorted = out_page_sorted_head(o->sort);
	/* How often graphs ran them says more than how often they were put into one. */
	has.graphs = m->in_graphs.kernels != 0;
	for (size_t i = 0; i < m->kernel_count; i++)
		has.captured |= m->kernels[i].captured != 0 && !has.graphs;
	if (m->gpu.measured)
		text_layout_heading(
		        page,
		        "Kernels (GPU time: %s; %%GPU: of all GPU time, %s; %%win: GPU time, %% of "
		        "the window, %s)",
		        m->gpu.estimated ? "estimated" : "exact", unit_time(gpu, m->gpu.all.total),
		        unit_time(window, m->window));
	else
		text_layout_heading(page, "Kernels (GPU time is not known)");
	table_start(&t, columns, name_columns(columns, has));
	t.names_above = true;
	for (size_t i = 0; i < rows; i++)
		kernel_row(&t, m, &m->kernels[i], has, o->names);
	total_row(&t, m, has);
	table_print(&t, page);
	out_page_rest(page, rows, m->kernel_count, "kernels");
	explain(m, has, page);
}

static bool matters(const struct model *m, const struct model_kernel *k)
{
	return shape_occupancy(&k->most) < OCCUPANCY_GOOD &&
	       k->gpu.total >= OCCUPANCY_SHARE * m->gpu.all.total;
}

void out_page_occupancy(const struct model *m, const struct out_options *o,
                        struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"occup.%", false}, {"%GPU", false},        {"regs", false}, {"shared", false},
	        {"blocks", false},  {"grid x block", true}, {"kernel", true}};
	char text[UNIT_BYTES];
	struct text_layout_table t;
	size_t rows = 0;

	for (size_t i = 0; i < m->kernel_count; i++)
		rows += matters(m, &m->kernels[i]);
	if (!rows)
		return;
	text_layout_heading(
	        page, "Low occupancy (theoretical, under %.0f %%, of the shape launched most)",
	        100 * OCCUPANCY_GOOD);
	table_start(&t, columns, COUNT(columns));
	t.names_above = true;
	for (size_t i = 0; i < m->kernel_count; i++) {
		const struct model_kernel *k = &m->kernels[i];
		const struct model_shape *s = &k->most;
		if (!matters(m, k))
			continue;
		out_page_percent(&t, shape_occupancy(s), 1);
		out_page_percent(&t, k->gpu.total, m->gpu.all.total);
		table_cell(&t, "%u", s->registers);
		table_cell(&t, "%s", unit_bytes(text, (double)s->shared_bytes + s->static_shared));
		table_cell(&t, "%u", s->blocks_per_sm);
		table_cell(&t, "%u,%u,%u x %u,%u,%u", s->grid[0], s->grid[1], s->grid[2],
		           s->block[0], s->block[1], s->block[2]);
		table_cell(&t, "%s", out_page_name(k, o->names));
	}
	table_print(&t, page);
	text_layout_line(
	        page,
	        "regs: registers a thread. shared: memory a block. blocks: that fit on an SM.");
}
