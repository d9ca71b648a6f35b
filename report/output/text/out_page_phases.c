/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/units.h"
#include "report/output/summary.h"
#include "report/output/text/out_page.h"

/* Of start-up: what takes a smaller share is not named, of a smaller one it is not said how it
 * would be shorter. */
#define PART_LEAST 0.02
#define HINT_LEAST 0.2
/* Of the window, phases together: more, and some run beside each other. */
#define OVERLAP_TOLD 1.005
/* Of the window: less of it in no phase has no row. */
#define BETWEEN_TOLD 0.01
/* Of the run, and in ns: a start-up below both has no section. */
#define START_SHARE 0.05
#define START_LEAST 1e9

const char *out_page_judged(const struct model_phase *phase)
{
	return phase ? model_phase_words[phase->kind] : "the window after start-up";
}

static const struct model_phase *loop_of(const struct model *m, size_t phase)
{
	return phase < m->phases.count && m->phases.rows[phase].kind == PHASE_LOOP
	               ? &m->phases.rows[phase]
	               : NULL;
}

/* A process' time in it, on average. */
static double time_of(const struct model_phase *p)
{
	return p->time / (double)p->part_count;
}

/* With what the host waits at its end: it may give its steps faster than the GPU does them. */
static double step_of(const struct model_phase *p)
{
	return p->time / (double)p->steps;
}

static void gain(const struct model *m, const struct model_phase *p, const struct analysis *a,
                 struct text_layout *page)
{
	const struct verdict *v = &a->verdict;
	char each[UNIT_BYTES], step[UNIT_BYTES], all[UNIT_BYTES], share[UNIT_BYTES],
	        wall[UNIT_BYTES];
	double saved = v->gain * a->of->host_window / (double)p->part_count,
	       per_step = summary_step_judged(a, p);

	if (v->cls == VERDICT_NONE || !(v->gain > 0) || !p->steps || !(m->wall > 0))
		return;
	text_layout_fact(page, "best change",
	                 "saves about %s of each step of %s; of this run of %s about %s, %s %%",
	                 unit_time_apart(each, v->gain * per_step), unit_time_apart(step, per_step),
	                 unit_time_apart(wall, m->wall), unit_time_apart(all, saved),
	                 unit_percent(share, saved, m->wall));
}

void out_page_loop(const struct model *m, const struct analysis *a, struct text_layout *page)
{
	char time[UNIT_BYTES], step[UNIT_BYTES], share[UNIT_BYTES], wall[UNIT_BYTES],
	        startup[UNIT_BYTES], every[UNIT_BYTES];
	bool whole = a->phase >= m->phases.count;
	const struct model_phase *p = loop_of(m, whole ? m->phases.main : a->phase);

	if (!whole && !p)
		text_layout_fact(page, "judged", "start-up alone, %s",
		                 unit_time_apart(time, m->phases.rows[a->phase].time));
	if (!p)
		return;
	char *which = m->phases.loops > 1 ? alloc_format("%u of %zu: ", p->number, m->phases.loops)
	                                  : alloc_string("");
	char *threads = p->threads > 1
	                        ? alloc_format(" in %zu threads side by side, one every %s",
	                                       p->threads, unit_time_apart(every, step_of(p)))
	                        : alloc_string("");
	char *warm = summary_warm(a, p), *parts = summary_parts(m, p, summary_step_judged(a, p));
	text_layout_fact(page, "loop",
	                 "%s%llu steps of %s%s%s%s, %s in all, %s %% of this run of %s; "
	                 "start-up %s%s",
	                 which, (unsigned long long)p->steps,
	                 unit_time_apart(step, summary_step_judged(a, p)), threads, warm, parts,
	                 unit_time_apart(time, time_of(p)),
	                 unit_percent(share, time_of(p), m->wall), unit_time_apart(wall, m->wall),
	                 unit_time_apart(startup, model_phase_startup(m)),
	                 whole ? "; judged is the whole run" : "");
	free(warm);
	free(parts);
	free(which);
	free(threads);
	if (!whole)
		gain(m, p, a, page);
}

/* ---- the section ---- */

static char *verdict_text(const struct verdict *v)
{
	char share[UNIT_BYTES];

	if (v->cls == VERDICT_NONE)
		return alloc_string("inconclusive");
	if (!(v->gain > 0))
		return alloc_format("%s (%s)", verdict_names[v->cls],
		                    verdict_confidences[v->confidence]);
	return alloc_format("%s (%s) %s %%", verdict_names[v->cls],
	                    verdict_confidences[v->confidence], unit_percent(share, v->gain, 1));
}

static void row(struct text_layout_table *t, const struct model *m, const struct analysis *a,
                size_t i)
{
	const struct model_phase *p = &m->phases.rows[i];
	char *verdict = verdict_text(&a->phases[i]);

	out_page_time(t, p->start);
	out_page_time(t, time_of(p));
	out_page_percent(t, p->share, 1);
	if (p->kind == PHASE_LOOP) {
		out_page_count(t, p->steps);
		out_page_time(t, summary_step_judged(a, p)); /* as it is told above */
		out_page_percent(t, a->phases[i].busy, 1);
		if (p->prepares && i != a->phase)
			table_cell(t, "loop %u, prepares loop %u: %s", p->number, p->prepares,
			           verdict_names[a->phases[i].cls]);
		else
			table_cell(t, "loop %u%s: %s", p->number, i == a->phase ? "*" : "",
			           verdict);
	} else {
		table_cell(t, "-");
		table_cell(t, "-");
		out_page_percent(t, p->kind == PHASE_START ? a->phases[i].busy : NAN, 1);
		table_cell(t, "%s",
		           p->kind != PHASE_START ? "end"
		           : m->startup > 0       ? "start-up, from the first CUDA call"
		                                  : "start-up");
	}
	free(verdict);
}

static void table(const struct model *m, const struct analysis *a, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"from", false}, {"time", false},  {"win %", false}, {"steps", false},
	        {"step", false}, {"GPU %", false}, {"phase", true}};
	struct text_layout_table t;
	double sum = 0;

	text_layout_heading(
	        page, "Phases (win %%: of the window; GPU: busy, of the phase; last: what the "
	              "best change saves of it; *: judged above)");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < m->phases.count; i++) {
		row(&t, m, a, i);
		sum += m->phases.rows[i].share;
	}
	if (m->phases.between_share > BETWEEN_TOLD) {
		table_cell(&t, "-");
		out_page_time(&t, m->phases.between);
		out_page_percent(&t, m->phases.between_share, 1);
		table_cell(&t, "-");
		table_cell(&t, "-");
		table_cell(&t, "-");
		table_cell(&t, "between, in no loop");
	}
	table_print(&t, page);
	if (sum > OVERLAP_TOLD)
		text_layout_line(page, "Loops of several threads run beside each other: the shares "
		                       "add up to more than 100 %%.");
	if (m->phases.loops > 1)
		text_layout_line(page, "--phase loop N judges another loop, --phase all the "
		                       "whole run.");
}

/* ", with a wait and a copy to the device in each" (free it), or "". */
static char *told_of(uint8_t anchors)
{
	static const struct {
		uint8_t anchor;
		const char *what;
	} rows[] = {{MODEL_ANCHOR_WAIT, "a wait"},
	            {MODEL_ANCHOR_UPLOAD, "a copy to the device"},
	            {MODEL_ANCHOR_GAP, "a long gap between calls"}};
	const char *there[3];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (anchors & rows[i].anchor)
			there[n++] = rows[i].what;
	char *text = alloc_string(n ? ", with " : "");
	for (size_t i = 0; i < n; i++)
		alloc_append(&text, "%s%s", !i ? "" : i + 1 < n ? ", " : " and ", there[i]);
	if (n)
		alloc_append(&text, " in each");
	return text;
}

/* The tree of what repeats, the largest pieces first. */
static void levels(const struct model *m, const struct model_phase *p, const struct out_options *o,
                   struct text_layout *page)
{
	const struct model_loop *l = p && p->found ? &m->loops[p->source] : NULL;

	if (!l || l->level_count < 2)
		return;
	text_layout_line(page, "What repeats in loop %u, the longest first:", p->number);
	for (unsigned i = l->level_count; i-- > 0;) {
		const struct model_level *v = &l->levels[i];
		unsigned depth = l->level_count - 1 - i;
		char *told = told_of(v->anchors);
		text_layout_line(page, "%*sabout %.*f pieces of work, told apart by %s%s%s",
		                 2 * (int)depth, "", v->events < 10, v->events,
		                 v->marker ? out_page_name_of(m, v->marker, o->names) : "n/a", told,
		                 i == l->step_level ? ": the step" : "");
		free(told);
	}
}

/* ---- start-up ---- */

enum spent {
	SPENT_BEFORE,
	SPENT_FIRST,
	SPENT_OUTSIDE,
	SPENT_MODULE,
	SPENT_ALLOC,
	SPENT_OTHER,
	SPENT_COPY,
	SPENT_LAUNCH,
	SPENT_WAIT,
	SPENT
};
static const struct {
	const char *what, *shorter;
} spent[SPENT] = {
        [SPENT_BEFORE] = {"before the first CUDA call (imports, reading)",
                          "Import less, or later: python -X importtime tells what takes long."},
        [SPENT_FIRST] = {"the first CUDA call",
                         "The driver's start: nvidia-persistenced keeps it awake; "
                         "CUDA_VISIBLE_DEVICES with the one device that is used."},
        [SPENT_OUTSIDE] = {"outside CUDA between calls (imports, reading, making the model)",
                           "Import and read less before the loop, or beside it in another "
                           "thread."},
        [SPENT_MODULE] = {"loading code, and compiling it where it has none for this GPU",
                          "CUDA_MODULE_LOADING=LAZY, code for this GPU in the binary (no JIT), a "
                          "CUDA_CACHE_PATH that stays; of torch.compile a cache that stays "
                          "(TORCHINDUCTOR_CACHE_DIR)."},
        [SPENT_ALLOC] = {"allocating and pinning memory",
                         "Allocate and pin once, and no more than is used."},
        [SPENT_OTHER] = {"other CUDA calls (contexts, libraries, graphs)",
                         "A context on one device only; handles of libraries when they are used."},
        [SPENT_COPY] = {"copying", "Copy weights from pinned memory, in large pieces."},
        [SPENT_LAUNCH] = {"launching", "Fewer warm-up steps."},
        [SPENT_WAIT] = {"waiting for the GPU (warm-up, autotuning)",
                        "Fewer warm-up steps; keep what autotuning found "
                        "(torch.backends.cudnn.benchmark=False, a Triton cache that stays)."},
};

/* ns, of one process. */
static void take_spent(const struct model *m, const struct model_phase *p, double to[SPENT])
{
	const struct model_process *first = &m->processes[0];
	double n = p && p->part_count ? (double)p->part_count : 1;

	to[SPENT_FIRST] = m->process_count == 1 && first->first_call_ns > 0
	                          ? fmin(first->first_call_ns, m->startup)
	                          : 0;
	to[SPENT_BEFORE] = m->startup > 0 ? m->startup - to[SPENT_FIRST] : 0;
	if (!p)
		return;
	to[SPENT_OUTSIDE] = p->host[TF_HOST_OUTSIDE] / n;
	to[SPENT_MODULE] = p->host[TF_HOST_MODULE] / n;
	to[SPENT_ALLOC] = p->host[TF_HOST_ALLOC] / n;
	to[SPENT_OTHER] = (p->host[TF_HOST_OTHER] + p->host[TF_HOST_OWN]) / n;
	to[SPENT_COPY] = p->host[TF_HOST_COPY] / n;
	to[SPENT_LAUNCH] = (p->host[TF_HOST_LAUNCH] + p->host[TF_HOST_BACK_PRESSURE] +
	                    p->host[TF_HOST_CONTENTION]) /
	                   n;
	to[SPENT_WAIT] = (p->host[TF_HOST_SYNC_USEFUL] + p->host[TF_HOST_SYNC_WASTED]) / n;
}

static void startup(const struct model *m, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"time", false}, {"%", false}, {"spent", true}};
	size_t start = model_phase_find(m, 0);
	const struct model_phase *p = start == PHASE_NONE ? NULL : &m->phases.rows[start];
	double all = model_phase_startup(m), of[SPENT] = {0};
	char time[UNIT_BYTES], share[UNIT_BYTES];
	struct text_layout_table t;

	if (!m->phases.loops || (p && !p->has_host) || !(m->wall > 0) ||
	    (all < START_SHARE * m->wall && all < START_LEAST))
		return;
	take_spent(m, p, of);
	text_layout_heading(page, "Start-up (%s before the first step, %s %% of this run)",
	                    unit_time(time, all), unit_percent(share, all, m->wall));
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (int i = 0; i < SPENT; i++) {
		if (of[i] < PART_LEAST * all)
			continue;
		out_page_time(&t, of[i]);
		out_page_percent(&t, of[i], all);
		table_cell(&t, "%s", spent[i].what);
	}
	table_print(&t, page);
	for (int i = 0; i < SPENT; i++)
		if (of[i] >= HINT_LEAST * all)
			text_layout_line(page, "Shorter: %s", spent[i].shorter);
}

void out_page_phases(const struct model *m, const struct analysis *a, const struct out_options *o,
                     struct text_layout *page)
{
	size_t shown = a->phase < m->phases.count ? a->phase : m->phases.main;
	const struct model_phase *p = loop_of(m, shown);
	bool nested = p && p->found && m->loops[p->source].level_count > 1;

	if (m->phases.loops > 1 || a->phase != m->phases.main)
		table(m, a, page);
	else if (nested)
		text_layout_heading(page, "Loop");
	levels(m, p, o, page);
	startup(m, page);
}
