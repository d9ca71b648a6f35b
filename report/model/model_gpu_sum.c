/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/model/model_gpu_pairs.h"
#include "report/model/model_internal.h"

static void sum_add(struct model_gpu_sum *to, const struct model_gpu_sum *s)
{
	to->total += s->total;
	to->random += s->random;
	to->shared += s->shared;
	to->systematic += s->systematic;
	to->below += s->below;
	to->above += s->above;
	to->pieces += s->pieces;
	to->known += s->known;
	CLAMP_ADD(to->samples, s->samples);
}

void model_gpu_sum_share(struct model_gpu_sum *to, const struct model_work_time *t,
                         const struct model_work_share *s, double part)
{
	const double pieces = s->known * part, rest = s->rest * part;

	to->pieces += s->pieces * part;
	if (!t->known)
		return;
	to->total += pieces * t->mean;
	to->random += pieces * t->random * pieces * t->random;
	to->shared += pieces * t->shared;
	to->systematic += pieces * t->systematic;
	to->below += pieces * t->below + rest * t->mean;
	to->above += pieces * t->above + rest * t->mean;
	to->known += pieces;
	CLAMP_ADD(to->samples, t->samples);
}

static void gpu_time_finish(struct model_gpu_time *t)
{
	const struct model_gpu_sum *s = &t->sum;

	t->total = t->low = t->high = t->mean = t->known = NAN;
	t->samples = s->samples;
	if (s->pieces > 0)
		t->known = fmin(1, s->known / s->pieces);
	if (!(s->known > 0) || !isfinite(s->total))
		return;
	double both = s->random + s->shared * s->shared + s->systematic * s->systematic;
	t->total = s->total;
	t->mean = s->total / s->known;
	t->low = fmax(0, s->total - sqrt(both + s->below * s->below));
	t->high = s->total + sqrt(both + s->above * s->above);
}

void model_finish_works(struct model *m)
{
	struct model_gpu *gpu = &m->gpu;

	for (size_t i = 0; i < m->kernel_count; i++) {
		gpu_time_finish(&m->kernels[i].gpu);
		sum_add(&gpu->kernels.sum, &m->kernels[i].gpu.sum);
	}
	for (size_t i = 0; i < m->graph_count; i++) /* summed by class */
		gpu_time_finish(&m->graphs[i].gpu);
	for (size_t i = 0; i < m->copy_count; i++) {
		gpu_time_finish(&m->copies[i].gpu);
		sum_add(&gpu->copies.sum, &m->copies[i].gpu.sum);
	}
	struct model_gpu_time *kinds[] = {&gpu->kernels, &gpu->graphs, &gpu->copies, &gpu->sets};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		gpu_time_finish(kinds[i]);
		sum_add(&gpu->all.sum, &kinds[i]->sum);
	}
	gpu_time_finish(&gpu->all);
	sum_add(&gpu->launched.sum, &gpu->kernels.sum);
	sum_add(&gpu->launched.sum, &gpu->graphs.sum);
	gpu_time_finish(&gpu->launched);
	for (int i = 0; i < TF_PAIRS; i++) {
		gpu->empty[i] = model_pair_line_of(&gpu->empty_sum[i]);
		gpu->null[i] = model_pair_line_of(&gpu->null_sum[i]);
		gpu->crowded |= gpu->null[i].deviation > ESTIMATE_CROWDED_SD_NS;
	}
}
