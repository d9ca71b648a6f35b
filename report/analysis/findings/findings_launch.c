/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/analysis/flow/flow.h"
#include "report/analysis/findings/repeats.h"
#include "report/base/units.h"
#include "report/model/framework.h"

/* A launch costs the host some 3 to 5 us: kernels below this hardly hide it. */
#define SHORT_KERNEL 10e3
/* A graph ends where the host waits, and its launch costs about as much as two of kernels: with
 * fewer of them between two waits little is saved. */
#define LAUNCHES_LEAST 4.0
/* What the program does between launches is told where they are so many times as far apart. */
#define WITH_IT 1.25

/* ---- many-short-launches ---- */

/* How many launches the host does from one wait to the next, on average. */
static double launches_between_waits(const struct finding_context *s)
{
	const struct model_totals *t = &s->m->totals;
	double launches = 0, waits = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (a->kind == TF_WORK_KERNEL)
			launches += a->items;
		waits += flow_is_wait(a);
	}
	if (!s->count) { /* nothing is kept: the whole run tells */
		launches = (double)t->launches;
		waits = (double)t->syncs + (t->implicit_known ? (double)t->implicit_syncs : 0);
	}
	return launches / (waits + 1);
}

/* " A sequence of 12 launches ...", or nothing (free it). */
static char *sequence(const struct finding_context *s)
{
	char share[UNIT_BYTES], time[UNIT_BYTES];
	struct repeats r = repeats_find(s);

	if (!r.count || !r.launches)
		return alloc_string("");
	char *others = !r.others ? alloc_string("")
	                         : alloc_format(" and %u other piece%s of work", r.others,
	                                        r.others == 1 ? "" : "s");
	char *waits = !r.waits ? alloc_string("")
	                       : alloc_format(" with %u wait%s between them", r.waits,
	                                      r.waits == 1 ? "" : "s");
	char *text = r.launches == 1 && !r.others && !r.waits
	                     ? alloc_copy("launch", 6)
	                     : alloc_format("sequence of %u launch%s%s%s", r.launches,
	                                    r.launches == 1 ? "" : "es", others, waits);
	char *all =
	        alloc_format(" The same %s comes %llu times and covers %s %% of the last %s.", text,
	                     (unsigned long long)r.count, unit_percent(share, r.covered, r.looked),
	                     unit_time_apart(time, r.looked));
	free(others);
	free(waits);
	free(text);
	return all;
}

/* Of one device, on average: all of it is held against one window. */
static double idle_between_launches(const struct model *m)
{
	const struct model_gpu_busy *b = &m->gpu.busy;

	if (!(b->window > 0))
		return 0;
	return (finding_known(b->by[TF_IDLE_LAUNCH]) + finding_known(b->by[TF_IDLE_OUTSIDE])) *
	       (m->host_window / b->window);
}

/* The share of the steady window that one graph for each step would save, where that is the better
 * way: what the host does between the launches of a step goes as well. */
static double whole_steps(const struct finding_context *s)
{
	const struct whatif_result *g = &s->graphs;

	return g->known && g->form == WHATIF_WHOLE && g->window > 0 ? g->saved / g->window : 0;
}

/* Free it. */
static char *captured_text(const struct finding_context *s)
{
	char share[UNIT_BYTES];
	const struct whatif_result *g = &s->graphs;

	return alloc_format(" %.0f of the last %.0f steps do the same work in the same order: as "
	                    "one graph each they would save %s %%.",
	                    g->repeated, g->steps, unit_percent(share, g->saved, g->window));
}

static bool runs_kernel(const struct model *m, const char *part)
{
	for (size_t i = 0; i < m->kernel_count; i++)
		if (strstr(m->kernels[i].name, part))
			return true;
	return false;
}

/* Launches that could be a few larger ones, where that gains something; else nothing (free it). */
static char *fused_text(const struct finding_context *s)
{
	static const char *const how[FRAMEWORKS] = {
	        [FRAMEWORK_PYTORCH] = " (foreach=True, fused=True)",
	        [FRAMEWORK_JAX] = " (jax.jit around the loop over them)",
	};
	char middle[UNIT_BYTES], low[UNIT_BYTES], high[UNIT_BYTES];
	const struct whatif_result *f = &s->fused;
	const char *so = how[s->framework];

	if (!f->known || !(f->speedup >= 1 + FINDING_MEDIUM))
		return alloc_string("");
	/* With foreach=True some of its kernels still go over the tensors one by one. */
	if (s->framework == FRAMEWORK_PYTORCH && runs_kernel(s->m, "multi_tensor_apply"))
		so = " (fused=True; the optimizer has foreach=True already)";
	return alloc_format(
	        " Rows of hundreds of alike small kernels, as an optimizer or the "
	        "clipping of gradients gives them, tensor by tensor: %.0f launches fewer, and %s "
	        "times as fast (%s to %s), where one launch takes many tensors%s.",
	        f->changed, unit_count(middle, f->speedup), unit_count(low, f->speedup_low),
	        unit_count(high, f->speedup_high), so ? so : "");
}

/*
 * From a launch to the thread's next one without a wait between them, median of all threads, less
 * what cudaspy took: the call, and what the program does until the next. NaN = not known.
 */
static double from_launch_to_launch(const struct finding_context *s)
{
	double *apart = alloc_zeroed(s->count + 1, sizeof(*apart));
	const struct call_event **last = alloc_zeroed(s->h->thread_count + 1, sizeof(*last));
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i], **before = &last[a->thread];
		if (a->kind == TF_WORK_KERNEL) {
			if (*before)
				apart[count++] = fmax(0, a->start - a->ours - (*before)->start);
			*before = a;
		} else if (flow_is_wait(a)) {
			*before = NULL;
		}
	}
	stats_sort(apart, count);
	double middle = count ? stats_quantile(apart, count, 0.5) : NAN;
	free(apart);
	free(last);
	return middle;
}

/* What launching takes, with what comes with it where that is more (free it). */
static char *launch_text(const struct finding_context *s)
{
	char launch[UNIT_BYTES], apart[UNIT_BYTES];
	double one = s->m->gpu.launch_p50, all = from_launch_to_launch(s);

	unit_time_apart(launch, one);
	if (!(all > WITH_IT * one))
		return alloc_format("launching takes the host %s each", launch);
	return alloc_format("launching takes the host %s each, with what the program does between "
	                    "the calls %s (median),",
	                    launch, unit_time_apart(apart, all));
}

bool detect_many_short_launches(const struct finding_context *s, struct finding *f)
{
	const struct model *m = s->m;
	char each[UNIT_BYTES], share[UNIT_BYTES];
	bool longer = m->gpu.launch_p50 > m->gpu.launched.mean;
	double idle = idle_between_launches(m), spent = fmin(finding_known(m->host.launch), idle);
	double captured = whole_steps(s), stake = fmax(fmin(1, spent / s->window), captured);

	if (!m->gpu.has_busy || !m->totals.launches || !finding_is_long(s) ||
	    !(m->gpu.launched.mean > 0))
		return false;
	bool are_short = m->gpu.launched.mean < SHORT_KERNEL;
	if (s->blamed != VERDICT_LAUNCH &&
	    (!are_short || launches_between_waits(s) < LAUNCHES_LEAST || stake < FINDING_MEDIUM))
		return false;
	char *rate = finding_rate(s, (double)s->classes[SPY_CLASS_LAUNCH].count),
	     *repeats = captured > 0 ? alloc_string("") : sequence(s),
	     *steps = captured > 0 ? captured_text(s) : alloc_string(""), *fused = fused_text(s),
	     *launch = launch_text(s);
	if (!longer)
		f->title = are_short ? "The GPU runs dry between the launches of short kernels"
		                     : "The GPU runs dry between launches";
	char *text = alloc_format("%llu launches, %s; %s and the GPU runs %s%s each; "
	                          "the GPU idled for %s %% of %s while the host launched or was "
	                          "between two launches.%s%s%s",
	                          (unsigned long long)m->totals.launches, rate, launch,
	                          finding_estimated(s), unit_time_apart(each, m->gpu.launched.mean),
	                          unit_percent(share, fmin(idle, s->window), s->window),
	                          steady_base(s), repeats, steps, fused);
	free(rate);
	free(launch);
	free(repeats);
	free(steps);
	free(fused);
	finding_tell(f, stake, text);
	return true;
}

/* ---- launch-queue-full ---- */

bool detect_launch_queue_full(const struct finding_context *s, struct finding *f)
{
	char share[UNIT_BYTES], time[UNIT_BYTES];
	double full = fmin(finding_known(s->m->host.back_pressure), s->window);

	if (!(s->window > 0) || full < FINDING_MEDIUM * s->window)
		return false;
	char *text = alloc_format(
	        "%s of launch calls, %s %% of %s, were spent waiting for a place in the launch "
	        "queue (some 1000 entries): the host is ahead of the GPU.",
	        unit_time_apart(time, full), unit_percent(share, full, s->window), steady_base(s));
	return finding_is(f, SEVERITY_INFO, full / s->window, text);
}
