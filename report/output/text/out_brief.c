/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for a chat or a bug report: fixed headings in a fixed order, every figure with where
 * it came from, in OUT_BRIEF_BYTES at most. docs/FOR_ASSISTANTS.md tells how to read it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/base/units.h"
#include "report/output/text/out_screen.h"

/* Of each part but the findings, which have the rest of OUT_BRIEF_BYTES. */
#define RUN_BYTES     450u
#define VERDICT_BYTES 700u
#define FIGURES_BYTES 860u
#define HEADING_BYTES 64u /* those of what comes behind the findings */
#define UNKNOWN_BYTES 350u
#define LINE_BYTES    160u /* of what a program names: its command, a line of code */
#define GAPS          5u
#define KERNELS       2u
#define OTHER_LEAST   0.05 /* of GPU time: what is no kernel and has less is not told */

struct brief {
	struct screen_report r;
	char *text;
	size_t room; /* bytes that the part may still have */
};

/* A line, cut where the part has no room for it. */
static void __attribute__((format(printf, 2, 3))) line(struct brief *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *raw = alloc_vformat(format, args), *safe = text_safe(raw, strlen(raw));
	va_end(args);
	size_t bytes = strlen(safe);
	if (bytes + 1 > b->room) {
		bytes = b->room > 4 ? b->room - 4 : 0;
		while (bytes && (((unsigned char)safe[bytes] & 0xc0) == 0x80 ||
		                 safe[bytes - 1] == '.' || safe[bytes - 1] == ' '))
			bytes--;
		if (b->room > 4)
			alloc_append(&b->text, "%.*s...\n", (int)bytes, safe);
		b->room = 0;
	} else {
		alloc_append(&b->text, "%s\n", safe);
		b->room -= bytes + 1;
	}
	free(raw);
	free(safe);
}

static void part(struct brief *b, const char *heading, size_t bytes)
{
	alloc_append(&b->text, "%s%s\n", b->text ? "\n" : "", heading);
	b->room = bytes;
}

/* "estimated", "exact": where GPU times came from. */
static const char *source_of(const struct model *m)
{
	return m->gpu.estimated ? "estimated from samples, 95 % interval" : "exact, by CUPTI";
}

static void run(struct brief *b)
{
	const struct model *m = b->r.m;
	const struct model_process *p = &m->processes[0];
	char version[MODEL_VERSION_BYTES], wall[UNIT_BYTES];
	char *command = text_fit(p->command ? p->command : "unknown", LINE_BYTES);

	part(b, "RUN", RUN_BYTES);
	if (m->simulated)
		line(b, "simulated GPU: no kernel ran, GPU times made up");
	line(b, "command: %s", command);
	line(b, "processes: %zu; state of the first: %s%s; wall time %s", m->process_count,
	     p->damage ? "damaged, " : "", process_state_names[p->state],
	     unit_time_apart(wall, m->wall));
	line(b, "GPU: %s%s; driver %s; recorded by cudaspy %s, mode %s",
	     p->device_count && p->devices[0].name ? p->devices[0].name : "unknown",
	     p->device_count > 1 ? " and others" : "", model_version(version, p->driver_version),
	     p->cudaspy_version ? p->cudaspy_version : "unknown",
	     model_gpu_mode_name(m->gpu.mode) ? model_gpu_mode_name(m->gpu.mode) : "unknown");
	for (size_t i = 0; i < m->process_count && i < 3; i++)
		if (m->processes[i].flight_count)
			line(b, "in flight: %s for %s (exact)",
			     m->processes[i].flights[0].api
			             ? name_call(m->processes[i].flights[0].api)
			             : "a call",
			     unit_time_apart(wall, m->processes[i].flights[0].age));
	free(command);
}

/* What of the GPU's time no kernel of the list can have, where it is much. */
static void not_kernels(struct brief *b)
{
	const struct model_gpu *g = &b->r.m->gpu;
	const struct {
		const char *name;
		double total;
	} parts[] = {{"copies", g->copies.total},
	             {"memsets", g->sets.total},
	             {"CUDA graphs", g->graphs.total}};
	char share[UNIT_BYTES];

	for (size_t i = 0; g->measured && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].total >= OTHER_LEAST * g->all.total && parts[i].total > 0)
			line(b, "%s: %s %% of the run's GPU time (%s)", parts[i].name,
			     unit_percent(share, parts[i].total, g->all.total),
			     g->estimated ? "sampled" : "exact");
}

/* What recording cost the program. */
static void own_cost(struct brief *b)
{
	const struct model *m = b->r.m;
	char collector[UNIT_BYTES];
	char *own = out_page_own_share(m, b->r.a);

	line(b, "own cost of cudaspy: %s; a helper %s on another core (measured)", own,
	     unit_time_apart(collector, m->collector));
	free(own);
}

static void figures(struct brief *b)
{
	const struct model *m = b->r.m, *of = b->r.a->of;
	const struct summary *s = b->r.s;
	char step[UNIT_BYTES], time[UNIT_BYTES], share[UNIT_BYTES], one[UNIT_BYTES],
	        two[UNIT_BYTES], three[UNIT_BYTES];
	double window = of->host_window;

	part(b, "FIGURES", FIGURES_BYTES);
	if (model_is_known(m))
		line(b,
		     "calls %llu, launches %llu, graph launches %llu, copies %llu, syncs %llu (%s)",
		     (unsigned long long)m->totals.calls, (unsigned long long)m->totals.launches,
		     (unsigned long long)m->totals.graph_launches,
		     (unsigned long long)m->totals.copies, (unsigned long long)m->totals.syncs,
		     m->lost_calls ? "not all: calls were lost" : "exact");
	else
		line(b, "calls, launches, graph launches, copies, syncs: not known");
	own_cost(b);
	if (s->loop) {
		char *beside = s->loop->threads > 1 ? alloc_format(" in %zu threads side by side",
		                                                   s->loop->threads)
		                                    : alloc_string("");
		line(b,
		     "loop: %llu steps of %s on average%s, %s %% of the run (%s); start-up %s%s "
		     "(measured)",
		     (unsigned long long)s->loop->steps,
		     unit_time_apart(step, summary_step_judged(b->r.a, s->loop)), beside,
		     unit_percent(share, s->loop->time / (double)s->loop->part_count, m->wall),
		     s->loop->found ? "measured; steps found in the repeating work"
		                    : "measured; steps are NVTX ranges",
		     unit_time_apart(time, s->startup), s->before);
		free(beside);
	} else {
		line(b, "no steps found; start-up %s (measured)",
		     unit_time_apart(time, isfinite(m->startup) ? s->startup : NAN));
	}
	if (m->steps.source != STEPS_NONE && m->steps.judged)
		line(b, "a step alone: median %s, 99 of 100 at most %s, of %llu steps (measured)",
		     unit_time_apart(one, m->steps.duration.p50),
		     unit_time_apart(two, m->steps.duration.p99),
		     (unsigned long long)m->steps.judged);
	if (of->gpu.has_busy && of->gpu.busy.window > 0 && isfinite(of->gpu.busy.low)) {
		const struct model_gpu_busy *g = &of->gpu.busy;
		char *range =
		        of->gpu.estimated
		                ? summary_range_percent(g->low / g->window, g->high / g->window)
		                : alloc_format("%s %%", unit_percent(share, g->busy, g->window));
		line(b, "GPU busy: %s of %s (%s)", range, of->phase ? s->judged : "the window",
		     source_of(m));
		free(range);
	} else {
		line(b, "GPU busy: not known");
	}
	if (of->has_host && window > 0)
		line(b, "host: launching %s %%, waiting %s %%, outside CUDA %s %% of %s (measured)",
		     unit_percent(one, of->host.launch_api, window),
		     unit_percent(two, of->host.sync, window),
		     unit_percent(three, of->host.outside, window),
		     of->phase ? s->judged : "the window");
	for (size_t i = 0; m->gpu.measured && i < m->kernel_count && i < KERNELS; i++) {
		const struct model_kernel *k = &m->kernels[i];
		char *name = text_fit(k->brief, 60),
		     *launches = model_is_known(m) ? alloc_format("%llu launches (exact)",
		                                                  (unsigned long long)k->launches)
		                                   : alloc_string("launches not known");
		if (isfinite(k->gpu.total))
			line(b, "kernel %s: %s %% of the run's GPU time (%s), %s", name,
			     unit_percent(share, k->gpu.total, m->gpu.all.total),
			     m->gpu.estimated ? "sampled" : "exact", launches);
		free(name);
		free(launches);
	}
	not_kernels(b);
}

static void finding(struct brief *b, size_t number, size_t room)
{
	const struct summary *s = b->r.s;
	const struct summary_change *c = &s->changes[number];
	double whole = s->step > 0 ? s->step : s->judged_ns;

	b->room = room;
	if (isfinite(c->high)) {
		char of[UNIT_BYTES],
		        *range = summary_range(c->mean * whole, c->low * whole, c->high * whole);
		line(b, "%zu. %s: saves %s of %s%s (estimated by a replay)", number + 1,
		     c->finding ? c->finding->id : "verdict", range,
		     s->step > 0 ? "each step of " : "the judged ", unit_time_apart(of, whole));
		free(range);
	} else {
		line(b, "%zu. %s: gain not predicted", number + 1,
		     c->finding ? c->finding->id : "verdict");
	}
	line(b, "   do: %s", c->what);
	if (c->line && c->line->place) {
		const struct finding *at = c->line;
		char *where = at->ahead ? site_ahead(at->site, at->since, at->until, true, true)
		                        : site_where(at->site, true),
		     *fit = text_fit(where, LINE_BYTES * 3 / 4);
		line(b, "   %s%s, %s (sampled)", at->ahead ? "" : "at: ", fit,
		     name_call(at->site->api));
		free(where);
		free(fit);
	}
	if (!c->finding)
		return;
	line(b, "   seen: %s", c->finding->evidence);
}

static void findings(struct brief *b)
{
	size_t count = b->r.s->change_count;

	part(b, "FINDINGS", LINE_BYTES);
	if (!count)
		line(b, "none that would save 1 %% of %s", b->r.s->judged);
	/* They have what the parts before left, and those behind do not need. */
	size_t used = strlen(b->text) + 2 * UNKNOWN_BYTES + HEADING_BYTES;
	for (size_t i = 0; i < count; i++)
		finding(b, i, (OUT_BRIEF_BYTES - used) / count);
}

static void unknown(struct brief *b)
{
	const struct summary *s = b->r.s;

	part(b, "UNKNOWN", UNKNOWN_BYTES);
	if (!s->gap_count)
		line(b, "nothing that matters");
	for (size_t i = 0; i < s->gap_count && i < GAPS; i++)
		line(b, "- %s", s->gaps[i].what);
	part(b, "HOW TO GET IT", UNKNOWN_BYTES);
	for (size_t i = 0; i < s->gap_count && i < GAPS; i++)
		line(b, "- %s", s->gaps[i].how);
	line(b, "- all of this recording: cudaspy report --all, or --format json");
	line(b, "- exact GPU times: record again with CUDASPY_GPU=cupti");
}

void out_brief(const struct model *m, const struct analysis *a, const struct out_options *o)
{
	struct summary summary;
	struct brief b = {.r = {.m = m, .a = a, .o = o, .s = &summary}};

	if (!m->process_count)
		return;
	summary_make(&summary, m, a);
	part(&b, "cudaspy brief 1", 0);
	part(&b, "VERDICT", VERDICT_BYTES);
	line(&b, "%s", summary.sentence);
	if (a->verdict.cls != VERDICT_NONE && a->verdict.reason)
		line(&b, "decided by: %s", a->verdict.reason);
	run(&b);
	figures(&b);
	findings(&b);
	unknown(&b);
	fputs(b.text, o->to);
	free(b.text);
	summary_free(&summary);
}
