/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/text/out_page_shares.h"
#include "report/base/units.h"

/* A thread with less than this share of all API time, and that gives the GPU no work, is in the
 * last row. */
#define SHARE_LEAST 0.01

static void split_add(struct model_split *to, const struct model_split *s)
{
	to->launch_api += s->launch_api;
	to->sampling += s->sampling;
	to->sync += s->sync;
	to->copy += s->copy;
	to->alloc += s->alloc;
	to->module += s->module;
	to->other += s->other;
	to->outside += s->outside;
	to->absent += s->absent;
	to->alive += s->alive;
}

static void split_cells(struct text_layout_table *t, const struct model_split *s, double window)
{
	const double parts[] = {s->launch_api,
	                        s->sync,
	                        s->copy,
	                        s->alloc,
	                        s->module,
	                        s->other,
	                        s->outside + s->sampling,
	                        s->absent};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		out_page_percent(t, parts[i], window);
}

static void thread_row(struct text_layout_table *t, const struct model_thread *thread)
{
	split_cells(t, &thread->split, thread->window);
	out_page_time(t, thread->api);
	table_cell(t, "%llu %s%s", (unsigned long long)thread->tid,
	           thread->name ? thread->name : "", thread->adopted ? " (and earlier ones)" : "");
}

/* The rows of the threads that matter, and one for the rest of them. */
static void thread_rows(const struct model *m, const struct out_options *o,
                        struct text_layout_table *t)
{
	struct model_split rest = {0};
	double api = 0, rest_window = 0, rest_api = 0;
	size_t rest_threads = 0;
	const struct model_thread *one = NULL;

	for (size_t i = 0; i < m->thread_count; i++)
		api += m->threads[i].api;
	for (size_t i = 0; i < m->thread_count; i++) {
		const struct model_thread *thread = &m->threads[i];
		bool matters = thread->issues || !(thread->api < SHARE_LEAST * api);
		if (o->all_threads || (matters && i < o->limit)) {
			thread_row(t, thread);
			continue;
		}
		one = thread;
		split_add(&rest, &thread->split);
		rest_window += thread->window;
		rest_api += thread->api;
		rest_threads++;
	}
	if (rest_threads == 1) {
		thread_row(t, one);
	} else if (rest_threads) {
		split_cells(t, &rest, rest_window);
		out_page_time(t, rest_api);
		table_cell(t, "%zu others", rest_threads);
	}
}

#define PARTS 13

struct figures_part {
	double ns;
	const char *what;
};

static void parts_of(const struct model_split *s, struct figures_part to[PARTS])
{
	const struct figures_part parts[PARTS] = {
	        {s->launch_api, "launching kernels and graphs"},
	        {s->launch, "  launch overhead"},
	        {s->back_pressure, "  back-pressure: the queue was full"},
	        {s->contention, "  contention: a lock, lazy loading, no CPU"},
	        {s->sync, "waiting for the GPU"},
	        {s->sync_useful, "  useful: it had work"},
	        {s->sync_wasted, "  wasted: it had none left"},
	        {s->copy, "copying and memsets"},
	        {s->alloc, "allocating and freeing"},
	        {s->module, "loading code"},
	        {s->other, "other CUDA calls"},
	        {s->outside, "outside CUDA"},
	        {s->sampling, "taking samples, stacks (cudaspy)"},
	};

	memcpy(to, parts, sizeof(parts));
}

/* Where the host's time went; what the timeline tells apart stands under its sum. */
static void merged_table(const struct model *m, const struct analysis *a, struct text_layout *page)
{
	const struct model_split *s = &m->host;
	struct figures_part parts[PARTS], judged[PARTS];
	char text[UNIT_BYTES];
	struct out_shares shares;
	struct text_layout_table t;

	out_shares_start(&shares, m, a, m->host_window, a->of->host_window);
	char *base = out_shares_base(&shares);
	text_layout_heading(page, "Host time%s (%%win: %% of the window%s, %s%s)",
	                    m->thread_count > 1 ? " of the thread that feeds the GPU" : "",
	                    m->process_count > 1 ? "s of all processes, added up" : "",
	                    unit_time(text, m->host_window), base);
	free(base);
	parts_of(s, parts);
	parts_of(&a->of->host, judged);
	out_shares_table(&shares, "the host was", &t);
	for (size_t i = 0; i < PARTS; i++)
		if (parts[i].ns > 0 || judged[i].ns > 0)
			out_shares_row(&shares, &t, parts[i].ns, judged[i].ns, parts[i].what);
	table_print(&t, page);
	if (isnan(s->launch))
		text_layout_line(page,
		                 "What of the launches was waiting for a full queue is not known "
		                 "without GPU time.");
	if (m->totals.implicit_known && model_is_known(m))
		text_layout_line(
		        page,
		        "Implicit syncs (copies, frees and other calls that waited for the GPU): "
		        "%llu.",
		        (unsigned long long)m->totals.implicit_syncs);
}

void out_page_host(const struct model *m, const struct analysis *a, const struct out_options *o,
                   struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"launch", false},   {"sync", false},  {"copy", false},    {"alloc", false},
	        {"module", false},   {"other", false}, {"outside", false}, {"absent", false},
	        {"API time", false}, {"thread", true}};
	struct text_layout_table t;

	if (!m->thread_count)
		return;
	if (m->has_host)
		merged_table(m, a, page);
	if (m->has_host && m->thread_count == 1)
		return;
	text_layout_heading(page, "Host time of each thread (%% of the window)");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	thread_rows(m, o, &t);
	table_print(&t, page);
	text_layout_line(
	        page, "launch: all API time of kernel and graph launches. outside: alive, not in "
	              "CUDA. absent: not yet born or dead.");
}
