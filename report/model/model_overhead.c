/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"
#include "report/base/units.h"

/* Threads that the timeline knows must have this share of all launch time, or nothing is said. */
#define KNOWN_LEAST 0.95

/* The share of launch time, first launches aside, that is neither back-pressure nor contention. */
static double overhead_share(const struct model *m, double first)
{
	double launch = 0, known = 0, api = 0;

	for (size_t i = 0; i < m->thread_count; i++) {
		const struct model_split *s = &m->threads[i].split;
		if (!(s->launch_api > 0))
			continue;
		api += s->launch_api;
		if (isnan(s->launch))
			continue;
		launch += s->launch;
		known += s->launch_api;
	}
	if (!(known > 0) || known < KNOWN_LEAST * api || !(api > first))
		return NAN;
	return fmin(1, launch * (api / known) / (api - first));
}

/*
 * Launch overhead. The timeline tells for each thread how much of its launches was back-pressure
 * and contention, but not of which kernel: every kernel's API time is taken to hold the same share,
 * first launches aside, which are shown apart (lazy loading).
 */
void model_finish_overheads(struct model *m)
{
	struct model_gpu *gpu = &m->gpu;
	double rest = m->class_ns[SPY_CLASS_GRAPH_LAUNCH];

	m->has_host &= !m->scratch || !m->scratch->host_unknown;
	for (size_t i = 0; i < m->kernel_count; i++) {
		gpu->first += m->kernels[i].first;
		CLAMP_ADD(gpu->firsts, m->kernels[i].firsts);
		CLAMP_ADD(gpu->queued, m->kernels[i].queued);
		if (isfinite(m->kernels[i].queue))
			gpu->queue += m->kernels[i].queue;
	}
	if (isnan(gpu->queue_p50))
		gpu->queue = NAN;
	/* Of so many launches: where these are not known, neither is what they took. */
	double share = model_is_known(m) ? overhead_share(m, gpu->first) : NAN;
	for (size_t i = 0; i < m->kernel_count; i++) {
		struct model_kernel *k = &m->kernels[i];
		double later = fmax(0, k->total - k->first);
		k->overhead = later * share;
		rest += later;
	}
	gpu->overhead = rest * share;
}

/* ---- own cost ---- */

static char *own_warning(const struct model *m, const struct model_thread *t)
{
	char share[UNIT_BYTES], budget[UNIT_BYTES], time[UNIT_BYTES], samples[UNIT_BYTES],
	        stacks[UNIT_BYTES];
	double timing = fmax(0, t->split.sampling - t->stacks);
	const char *less = t->stacks > timing ? "CUDASPY_SITES=off takes the call sites' part away"
	                                      : "CUDASPY_BUDGET and CUDASPY_GPU=off make it less";

	return alloc_format(
	        "cudaspy itself took %s %% of the wall time of thread %s (%llu), where %s %% is "
	        "the "
	        "most that it should: %s, timing GPU work %s of it and taking call sites %s. "
	        "Figures leave that out, but the program may wait less for it or overlap more "
	        "without: the verdict's confidence is one step lower. %s.",
	        unit_percent(share, m->own_share, 1), t->name ? t->name : "unknown",
	        (unsigned long long)t->tid, unit_percent(budget, OWN_SHARE_BUDGET, 1),
	        unit_time_apart(time, t->own), unit_time_apart(samples, timing),
	        unit_time_apart(stacks, t->stacks), less);
}

/* What the collector does it does in a thread of its own, beside the program's. */
void model_finish_own(struct model *m)
{
	const struct model_thread *most = NULL;

	m->own_share = NAN;
	for (size_t i = 0; i < m->thread_count; i++) {
		const struct model_thread *t = &m->threads[i];
		double share = t->own / m->processes[t->process].wall;
		if (!(share >= 0) || share <= m->own_share)
			continue;
		m->own_share = share;
		most = t;
	}
	if (m->own_share > OWN_SHARE_BUDGET)
		m->own_warning = own_warning(m, most);
}

static double calls_of(const struct model *m)
{
	double sum = 0;

	for (size_t i = 0; i < m->api_count; i++)
		sum += (double)m->apis[i].calls;
	return sum;
}

/* The share of all calls that threads which give the GPU work make. */
static double calls_that_feed(const struct model *m)
{
	double feed = 0, all = 0;

	for (size_t i = 0; i < m->thread_count; i++) {
		all += (double)m->threads[i].calls;
		feed += m->threads[i].issues ? (double)m->threads[i].calls : 0;
	}
	return all > 0 ? feed / all : 0;
}

double model_own_judged(const struct model *m, const struct model *of)
{
	double all = calls_of(m), part = 1;

	if (!of->has_host || !(of->host_window > 0) || !(of->host.sampling >= 0))
		return NAN;
	/* A view has a table of calls of its own where the phase's are kept. */
	if (of->apis != m->apis)
		part = all > 0 ? fmin(1, calls_of(of) / all) : 0;
	else if (of->phase && m->host_window > 0)
		part = fmin(1, of->host_window / m->host_window);
	double calls = m->calls_cost > 0 ? m->calls_cost * calls_that_feed(m) * part : 0;
	return fmin(1, (of->host.sampling + calls) / of->host_window);
}

const char *model_own_less(const struct model *m)
{
	double calls = fmax(0, m->calls_cost), samples = fmax(0, m->samples_cost),
	       sites = fmax(0, m->sites_cost);

	return calls > fmax(samples, sites) ? "most of it is a record for each call"
	       : sites > samples            ? "CUDASPY_SITES=off lowers it"
	                                    : "CUDASPY_BUDGET lowers it";
}

char *model_own_judged_warning(const struct model *m, const struct model *of)
{
	double own = model_own_judged(m, of);
	char share[UNIT_BYTES], budget[UNIT_BYTES];

	if (!(own > OWN_SHARE_BUDGET) || m->own_warning)
		return NULL;
	return alloc_format(
	        "cudaspy itself took %s %% of %s, where %s %% is the most that it "
	        "should: samples, call sites and calls. Figures leave that out, but the "
	        "program may wait less for it or overlap more without. "
	        "CUDASPY_BUDGET, CUDASPY_SITES=off and CUDASPY_GPU=off make it less.",
	        unit_percent(share, own, 1),
	        of->phase ? model_phase_words[of->phase->kind] : "the window",
	        unit_percent(budget, OWN_SHARE_BUDGET, 1));
}
