/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/base/alloc.h"
#include "report/model/model_gpu_pairs.h"
#include "report/model/model_internal.h"

#define MIXED_SAMPLES 8
#define LOSSY_SHARE   0.2
#define LOSSY_TRIES   10

static double both_ways(const struct model_work_time *t)
{
	return sqrt(t->random * t->random + t->shared * t->shared + t->systematic * t->systematic);
}

double model_work_below(const struct model_work_time *t)
{
	return hypot(both_ways(t), t->below);
}

double model_work_above(const struct model_work_time *t)
{
	return hypot(both_ways(t), t->above);
}

/* Pairs of which the host was late to queue the second event, or that found no event free. */
static bool is_lossy(const struct tf_work *w, const struct model_work_time *t)
{
	uint64_t kept = (uint64_t)w->pairs[TF_PAIR_IDLE].count + w->pairs[TF_PAIR_BUSY].count;

	return !t->exact && !t->by_calls && t->tries >= LOSSY_TRIES && kept < t->tries &&
	       t->tries - kept >= LOSSY_SHARE * (double)t->tries;
}

void model_add_class(const struct model_part *p, const struct tf_work *w,
                     const struct model_work_time *t)
{
	struct model_gpu *gpu = &p->model->gpu;
	struct model_gpu_class c = {
	        .name = w->kind == TF_WORK_KERNEL ? p->model->kernels[p->kernel_row[w->id]].name
	                                          : NULL,
	        .kind = w->kind,
	        .grid = {w->grid_x, w->grid_y, w->grid_z},
	        .block = {w->block_x, w->block_y, w->block_z},
	        .shared_bytes = w->shared_bytes,
	        .direction = w->direction,
	        .memory = w->memory,
	        .bytes = w->bytes,
	        .count = t->exact && w->exact_count > w->count ? w->exact_count : w->count,
	        .samples = t->exact ? w->exact_count : t->samples,
	        .mean = NAN,
	        .low = NAN,
	        .high = NAN,
	        .deviation = NAN,
	        .tries = t->tries,
	        .api_mean = w->count ? clock_ns(&p->clock, w->ticks) / (double)w->count : NAN,
	};

	if (t->known) {
		c.mean = t->mean;
		c.low = fmax(0, t->mean - model_work_below(t));
		c.high = t->mean + model_work_above(t);
		c.deviation = t->deviation;
		c.mixed = t->samples >= MIXED_SAMPLES && t->deviation > MODEL_MIXED_SHARE * t->mean;
	}
	c.lossy = is_lossy(w, t);
	ALLOC_ROOM(gpu->classes, gpu->class_count);
	gpu->classes[gpu->class_count++] = c;
}
