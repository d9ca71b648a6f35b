/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/output/text/out_page.h"
#include "report/base/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What a program calls it; the symbol, where a program has both. */
static const char *call_of(const struct model *m, const struct model_api *a, enum out_names names)
{
	const char *name = name_call(a->name);

	for (size_t i = 0; i < m->api_count; i++)
		if (&m->apis[i] != a && !strcmp(m->apis[i].name, name))
			return a->name;
	return names == NAMES_MANGLED ? a->name : name;
}

/* "cudaMalloc: 3 cudaErrorMemoryAllocation, 1 code 1234" */
static void failures_of(const struct model *m, uint32_t api, struct text_layout *page)
{
	const struct model_api *a = &m->apis[api];
	char *line = alloc_format("%s failed:", name_call(a->name));
	uint64_t told = 0;
	bool any = false;

	for (size_t i = 0; i < m->failure_count; i++) {
		const struct model_failure *f = &m->failures[i];
		if (f->api != api)
			continue;
		char *error = model_error(a->level, f->result);
		alloc_append(&line, "%s %llu x %s", any ? "," : "", (unsigned long long)f->count,
		             error);
		free(error);
		told += f->count;
		any = true;
	}
	if (a->failed > told)
		text_layout_line(page, "%s%s %llu x (code not kept)", line, any ? "," : "",
		                 (unsigned long long)(a->failed - told));
	else
		text_layout_line(page, "%s", line);
	free(line);
}

void out_page_apis(const struct model *m, const struct out_options *o, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"calls", false}, {"fail", false}, {"total", false}, {"%win", false},
	        {"mean", false},  {"p50", false},  {"p90", false},   {"p99", false},
	        {"max", false},   {"call", true}};
	size_t rows = m->api_count < o->limit ? m->api_count : o->limit;
	char window[UNIT_BYTES];
	struct text_layout_table t;

	if (!m->api_count)
		return;
	if (m->thread_count > 1)
		text_layout_heading(
		        page, "CUDA API calls (%%win: %% of the window, %s, %zu threads added up)",
		        unit_time(window, m->window), m->thread_count);
	else
		text_layout_heading(page, "CUDA API calls (%%win: %% of the window, %s)",
		                    unit_time(window, m->window));
	table_start(&t, columns, COUNT(columns));
	for (size_t i = 0; i < rows; i++) {
		const struct model_api *a = &m->apis[i];
		out_page_count(&t, model_count(m, a->calls));
		out_page_count(&t, model_count(m, a->failed));
		out_page_time(&t, a->total);
		out_page_percent(&t, a->total - a->before_window, m->window);
		out_page_time(&t, a->mean);
		out_page_time(&t, a->q.p50);
		out_page_time(&t, a->q.p90);
		out_page_time(&t, a->q.p99);
		out_page_time(&t, a->max);
		table_cell(&t, "%s", call_of(m, a, o->names));
	}
	table_print(&t, page);
	for (size_t i = 0; i < rows; i++)
		if (m->apis[i].total - m->apis[i].before_window > m->window) {
			text_layout_line(page, "%%win is over 100 where several threads were in "
			                       "such calls at once.");
			break;
		}
	out_page_rest(page, rows, m->api_count, "calls");
	for (size_t i = 0; i < m->api_count; i++)
		if (m->apis[i].failed)
			failures_of(m, (uint32_t)i, page);
}

/* Bytes per ns are GB/s; of a few bytes a copy it is next to nothing. */
static void bandwidth_cell(struct text_layout_table *t, double v)
{
	if (!isfinite(v))
		table_cell(t, "n/a");
	else if (v < 0.01)
		table_cell(t, "<0.01");
	else
		table_cell(t, v < 999.5 ? "%.3g" : "%.0f", v);
}

void out_page_copies(const struct model *m, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"count", false}, {"bytes", false}, {"API", false}, {"%win", false},
	        {"mean", false},  {"GPU", false},   {"+-%", false}, {"GB/s", false},
	        {"way", true},    {"memory", true}, {"form", true}};
	char text[UNIT_BYTES];
	struct text_layout_table t;

	if (!m->copy_count)
		return;
	text_layout_heading(page, "Copies (%%win: API time, %% of the window, %s%s)",
	                    unit_time(text, m->window),
	                    m->gpu.measured && m->gpu.estimated ? "; GPU: estimated" : "");
	table_start(&t, columns, COUNT(columns));
	for (size_t i = 0; i < m->copy_count; i++) {
		const struct model_copy *c = &m->copies[i];
		out_page_count(&t, model_count(m, c->count));
		table_cell(&t, "%s", unit_bytes(text, model_count(m, c->bytes)));
		out_page_time(&t, c->total);
		out_page_percent(&t, c->total, m->window);
		out_page_time(&t, c->total / (double)c->count);
		out_page_gpu_cells(&t, &c->gpu);
		bandwidth_cell(&t, c->timed_bytes / c->gpu.total);
		table_cell(&t, "%s", model_direction_names[c->direction]);
		table_cell(&t, "%s", model_memory_names[c->memory]);
		table_cell(&t, "%s", c->async ? "async" : "blocking");
	}
	table_print(&t, page);
}

void out_page_work(const struct model *m, struct text_layout *page)
{
	static const struct {
		const char *name;
		uint8_t cls;
	} rows[] = {
	        {"syncs", SPY_CLASS_SYNC},
	        {"memsets", SPY_CLASS_SET},
	        {"allocations, frees", SPY_CLASS_ALLOC},
	        {"modules", SPY_CLASS_MODULE},
	        {"streams", SPY_CLASS_STREAM},
	        {"events", SPY_CLASS_EVENT},
	        {"graph building", SPY_CLASS_GRAPH},
	        {"graph launches", SPY_CLASS_GRAPH_LAUNCH},
	        {"queries", SPY_CLASS_QUERY},
	        {"contexts", SPY_CLASS_CONTEXT},
	};
	static const struct text_layout_column columns[] = {{"calls", false},
	                                                    {"fail", false},
	                                                    {"total", false},
	                                                    {"%win", false},
	                                                    {"kind of call", true}};
	const struct model_totals *t = &m->totals;
	char text[UNIT_BYTES], freed[UNIT_BYTES];
	struct text_layout_table table;

	if (!m->api_count)
		return;
	text_layout_heading(page, "Other calls by kind (%%win: API time, %% of the window, %s)",
	                    unit_time(text, m->window));
	table_start(&table, columns, COUNT(columns));
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t calls = 0, failed = 0;
		for (size_t k = 0; k < m->api_count; k++)
			if (m->apis[k].cls == rows[i].cls) {
				calls += m->apis[k].calls;
				failed += m->apis[k].failed;
			}
		if (!calls)
			continue;
		out_page_count(&table, model_count(m, calls));
		out_page_count(&table, model_count(m, failed));
		out_page_time(&table, m->class_ns[rows[i].cls]);
		out_page_percent(&table, m->class_ns[rows[i].cls], m->window);
		table_cell(&table, "%s", rows[i].name);
	}
	table_print(&table, page);
	if (!model_is_known(m))
		return;
	text_layout_line(
	        page,
	        "Device memory of known size: %s allocated, %s freed. Captured into graphs: %llu "
	        "operations.",
	        unit_bytes(text, (double)t->allocated_bytes),
	        unit_bytes(freed, (double)t->freed_bytes), (unsigned long long)t->captured);
}

/* What ran by launches of graphs. */
static void inside_graphs(const struct model *m, struct text_layout *page)
{
	const struct model_in_graphs *in = &m->in_graphs;
	char bytes[UNIT_BYTES];

	if (!in->launches || !model_is_known(m))
		return;
	text_layout_line(page,
	                 "Inside them, by %llu of %llu launches%s: kernels %llu, copies %llu (%s), "
	                 "memsets %llu, other nodes %llu.",
	                 (unsigned long long)in->launches,
	                 (unsigned long long)m->totals.graph_launches,
	                 in->launches_in_part ? " (not all nodes are known)" : "",
	                 (unsigned long long)in->kernels, (unsigned long long)in->copies,
	                 unit_bytes(bytes, (double)in->copy_bytes), (unsigned long long)in->sets,
	                 (unsigned long long)in->others);
}

/* ---- what of a graph's GPU time its kernels have ---- */

#define SHARED_GRAPHS  3u  /* that are told */
#define SHARED_KERNELS 3u  /* of each, those with most */
#define SHARED_PARTS   96u /* graphs of more kinds of nodes are not divided here */

struct shared {
	const char *kernel;
	double share;
};

static int by_share(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return strcmp(x->kernel, y->kernel);
}

/* By kernel, in any shape; the number of them, 0 where it can't be told. */
static size_t find_shares(const struct model *m, const struct model_graph *g,
                          struct shared to[SHARED_PARTS])
{
	size_t count = 0;

	for (size_t i = 0; i < g->part_count && g->part_count <= SHARED_PARTS; i++) {
		const struct model_graph_part *part = &m->graph_parts[g->parts + i];
		double share = model_graph_share(m, g, part);
		size_t k = 0;
		if (!isfinite(share))
			return 0;
		if (part->kind != TF_NODES_KERNEL)
			continue;
		while (k < count && strcmp(to[k].kernel, part->kernel) != 0)
			k++;
		if (k == count)
			to[count++] = (struct shared){part->kernel, 0};
		to[k].share += share;
	}
	if (count)
		qsort(to, count, sizeof(*to), by_share);
	return count;
}

static const char *name_of(const struct model *m, const char *kernel, enum out_names names)
{
	for (size_t i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].name && !strcmp(m->kernels[i].name, kernel))
			return out_page_name(&m->kernels[i], names);
	return kernel;
}

static void shares(const struct model *m, const struct model_graph *g, enum out_names names,
                   struct text_layout *page)
{
	struct shared all[SHARED_PARTS];
	size_t count = g->gpu.total > 0 ? find_shares(m, g, all) : 0;

	if (!count)
		return;
	char *line = alloc_format("Of the GPU time of %#llx, estimated by what they take outside "
	                          "of graphs:",
	                          (unsigned long long)g->handle);
	for (size_t i = 0; i < count && i < SHARED_KERNELS; i++) {
		char *longer = alloc_format("%s%s %s %.1f %%", line, i ? "," : "",
		                            name_of(m, all[i].kernel, names), 100 * all[i].share);
		free(line);
		line = longer;
	}
	text_layout_line(page, "%s%s.", line, count > SHARED_KERNELS ? ", ..." : "");
	free(line);
}

void out_page_graphs(const struct model *m, const struct out_options *o, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"launches", false}, {"API", false},  {"%win", false},  {"mean", false},
	        {"GPU", false},      {"+-%", false},  {"nodes", false}, {"updates", false},
	        {"made in", false},  {"state", true}, {"graph", true}};
	size_t rows = m->graph_count < o->limit ? m->graph_count : o->limit;
	char text[UNIT_BYTES];
	struct text_layout_table t;

	if (!m->graph_count)
		return;
	text_layout_heading(page, "Graphs (%%win: API time of launches, %% of the window, %s)",
	                    unit_time(text, m->window));
	table_start(&t, columns, COUNT(columns));
	for (size_t i = 0; i < rows; i++) {
		const struct model_graph *g = &m->graphs[i];
		out_page_count(&t, model_count(m, g->launches));
		out_page_time(&t, g->total);
		out_page_percent(&t, g->total, m->window);
		out_page_time(&t, g->launches ? g->total / (double)g->launches : NAN);
		out_page_gpu_cells(&t, &g->gpu);
		if (g->nodes_known)
			out_page_count(&t, g->nodes);
		else
			table_cell(&t, "n/a");
		out_page_count(&t, model_count(m, g->updates));
		out_page_time(&t, g->instantiate);
		table_cell(&t, "%s", g->alive ? "alive" : "destroyed");
		table_cell(&t, "%#llx", (unsigned long long)g->handle);
	}
	table_print(&t, page);
	out_page_rest(page, rows, m->graph_count, "graphs");
	inside_graphs(m, page);
	for (size_t i = 0; i < rows && i < SHARED_GRAPHS; i++)
		shares(m, &m->graphs[i], o->names, page);
}

void out_page_gaps(const struct model *m, struct text_layout *page)
{
	static const char *const what[] = {
	        [TF_GAP_NEW_ENTRY] = "driver entry unknown to this cudaspy",
	        [TF_GAP_DEEPBIND] = "loaded with RTLD_DEEPBIND",
	        [TF_GAP_DLMOPEN] = "loaded with dlmopen",
	        [TF_GAP_UNSEEN_DRIVER] = "driver reached unseen",
	};
	static const struct text_layout_column columns[] = {
	        {"count", false}, {"version", false}, {"why", true}, {"name", true}};
	struct text_layout_table t;

	if (!m->gap_count)
		return;
	text_layout_heading(page, "Seen, but not recorded");
	table_start(&t, columns, COUNT(columns));
	for (size_t i = 0; i < m->gap_count; i++) {
		const struct model_uncovered *g = &m->gaps[i];
		out_page_count(&t, g->count);
		if (g->version)
			table_cell(&t, "%u", g->version);
		else
			table_cell(&t, "-");
		table_cell(&t, "%s",
		           g->kind < COUNT(what) && what[g->kind] ? what[g->kind] : "unknown kind");
		table_cell(&t, "%s", g->name ? g->name : "");
	}
	table_print(&t, page);
}
