/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/model_gpu_pool.h"

#include <math.h>
#include "shim/core/gpu_time/weights.h"
#include "shim/core/work/work_class.h"

static enum pool_method copy_method(const struct tf_work *w)
{
	if (w->direction == SPY_DIR_HTOH)
		return POOL_HOST_ONLY;
	if (w->direction == SPY_DIR_PTOP)
		return POOL_PEER;
	if (estimate_is_staged(w))
		return POOL_STAGED;
	if (estimate_path(w) != ESTIMATE_ENGINE)
		return POOL_AS_ITS_PATH;
	return w->memory == SPY_MEM_PINNED &&
	                       (w->direction == SPY_DIR_HTOD || w->direction == SPY_DIR_DTOH)
	               ? POOL_COPY_ENGINE
	               : POOL_BOUND;
}

enum pool_method pool_method(const struct tf_work *w)
{
	uint64_t bytes = work_size_floor(w->size);

	if (w->kind == TF_WORK_COPY)
		return copy_method(w);
	return w->kind == TF_WORK_SET && bytes > CUDA_SET_FRONT_BYTES &&
	                       bytes < CUDA_SET_KERNEL_BYTES
	               ? POOL_SET_BETWEEN
	               : POOL_AS_ITS_PATH;
}

bool model_pairs_good(const struct tf_pairs *p)
{
	return p->count && p->sum_ns >= 0 && p->sum_squares >= 0 &&
	       p->sum_ns <= (double)p->count * PAIR_NS_MOST &&
	       p->sum_squares <= (double)p->count * PAIR_NS_MOST * PAIR_NS_MOST;
}

struct model_pair_line model_pair_line_of(const struct tf_pairs *p)
{
	struct model_pair_line line = {.mean = NAN, .deviation = NAN};

	if (!model_pairs_good(p))
		return line;
	double n = (double)p->count;
	line.count = p->count;
	line.mean = p->sum_ns / n;
	if (p->count > 1)
		line.deviation =
		        sqrt(fmax(0, p->sum_squares - n * line.mean * line.mean) / (n - 1));
	return line;
}

/* By what each pair stands for, where that is known. */
static void weigh(struct pool *p, const struct tf_work *w,
                  const struct model_pair_cost cost[TF_PAIRS], const struct tf_map *map)
{
	const struct tf_weights *weights = map ? weights_of(map, w) : NULL;
	struct weights_mean m;

	if (!weights || !weights_mean(weights, w->count, &m))
		return;
	p->n = m.degrees;
	p->mean = m.ns;
	p->shared = 0;
	for (int i = 0; i < TF_PAIRS; i++) {
		p->mean -= m.share[i] * cost[i].mean;
		p->shared += m.share[i] * cost[i].half;
	}
	p->deviation = sqrt(m.piece);
	p->division = m.division;
	p->degrees = fmin(m.degrees, (double)weights->pairs - 1);
}

bool pool_pairs(struct pool *to, const struct tf_work *w,
                const struct model_pair_cost cost[TF_PAIRS], const struct tf_map *map)
{
	double sum = 0, squares = 0;

	*to = (struct pool){.deviation = NAN};
	for (int i = 0; i < TF_PAIRS; i++) {
		const struct tf_pairs *p = &w->pairs[i];
		if (!model_pairs_good(p))
			continue;
		double n = (double)p->count, c = cost[i].mean;
		to->n += n;
		sum += p->sum_ns - n * c;
		squares += p->sum_squares - 2 * c * p->sum_ns + n * c * c;
		to->shared += n * cost[i].half;
		if (__builtin_add_overflow(to->samples, p->count, &to->samples))
			to->samples = UINT64_MAX;
	}
	if (!(to->n > 0))
		return false;
	to->mean = sum / to->n;
	to->shared /= to->n;
	if (to->n > 1)
		to->deviation = sqrt(fmax(0, squares - to->n * to->mean * to->mean) / (to->n - 1));
	to->degrees = to->n - 1;
	weigh(to, w, cost, map);
	return true;
}
