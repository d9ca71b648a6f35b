#include <math.h>

#include "report/model_parts.h"

/*
 * Launch overhead. The timeline tells for each thread how much of its launches was back-pressure
 * and contention, but not of which kernel: every kernel's API time is taken to hold the same share,
 * first launches aside, which are shown apart (lazy loading).
 */
void model_finish_overheads(struct model *m)
{
	struct gpu *gpu = &m->gpu;
	double launch = 0, api = 0;

	for (size_t i = 0; i < m->thread_count; i++) {
		const struct split *s = &m->threads[i].split;
		if (!(s->launch_api > 0))
			continue;
		launch += s->launch;
		api += s->launch_api;
	}
	for (size_t i = 0; i < m->kernel_count; i++) {
		gpu->first += m->kernels[i].first;
		CLAMP_ADD(gpu->firsts, m->kernels[i].firsts);
		CLAMP_ADD(gpu->queued, m->kernels[i].queued);
		if (isfinite(m->kernels[i].queue))
			gpu->queue += m->kernels[i].queue;
	}
	if (isnan(gpu->queue_p50))
		gpu->queue = NAN;
	double rest = api - gpu->first;
	double share = rest > 0 && isfinite(launch) ? fmin(1, launch / rest) : NAN;
	m->has_host &= !m->scratch || !m->scratch->host_unknown;
	for (size_t i = 0; i < m->kernel_count; i++) {
		struct kernel *k = &m->kernels[i];
		k->overhead = fmax(0, k->total - k->first) * share;
	}
	gpu->overhead = fmax(0, rest) * share;
}
