/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event pairs of one class of work, on idle and on busy streams together: their mean, and how
 * far they are apart. For model_gpu_pairs.c.
 */
#ifndef REPORT_MODEL_GPU_POOL_H
#define REPORT_MODEL_GPU_POOL_H

#include "report/model/model_gpu_pairs.h"

#define PAIR_NS_MOST 1e15 /* eleven days: no event pair, no work lasts longer */

/* How the times of a class are come by, beside the path of estimate.h. */
enum pool_method {
	POOL_AS_ITS_PATH,
	POOL_SET_BETWEEN,
	POOL_COPY_ENGINE,
	POOL_PEER,
	POOL_BOUND,
	POOL_STAGED,
	POOL_HOST_ONLY
};
enum pool_method pool_method(const struct tf_work *w);

/* Both regimes together, the cost of each pair taken off. `n`: so many pairs of equal weight would
 * tell as much. */
struct pool {
	double n, mean, deviation, shared; /* deviation, of a pair, NaN: one pair */
	double division;                   /* variance of the mean: struct weights_mean */
	double degrees;
	uint64_t samples;
};
/* False: the class has no pair. `map`: where the pairs' weights are; or NULL. */
bool pool_pairs(struct pool *to, const struct tf_work *w,
                const struct model_pair_cost cost[TF_PAIRS], const struct tf_map *map);

#endif
