#include <math.h>

#include "report/model_parts.h"

/* Threads that the timeline knows must have this share of all launch time, or nothing is said. */
#define KNOWN_LEAST 0.95

/* The share of launch time, first launches aside, that is neither back-pressure nor contention. */
static double overhead_share(const struct model *m, double first)
{
	double launch = 0, known = 0, api = 0;

	for (size_t i = 0; i < m->thread_count; i++) {
		const struct split *s = &m->threads[i].split;
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
	struct gpu *gpu = &m->gpu;
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
	double share = overhead_share(m, gpu->first);
	for (size_t i = 0; i < m->kernel_count; i++) {
		struct kernel *k = &m->kernels[i];
		double later = fmax(0, k->total - k->first);
		k->overhead = later * share;
		rest += later;
	}
	gpu->overhead = rest * share;
}
