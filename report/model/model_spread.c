/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"

static void bucket_add(struct tf_hist *to, uint32_t bucket, uint32_t n)
{
	if (__builtin_add_overflow(to->buckets[bucket], n, &to->buckets[bucket]))
		to->buckets[bucket] = UINT32_MAX;
}

/*
 * The first recording's histogram is taken as it is. One of the same rate (machines of one kind
 * differ by some millionths) adds bucket by bucket; of another rate, each bucket goes where its
 * middle belongs.
 */
void spread_add(struct model_spread *s, const struct tf_hist *h, double ns_per_tick)
{
	if (!(ns_per_tick > 0))
		return;
	if (!s->hist) {
		s->hist = alloc_zeroed(1, sizeof(*s->hist));
		memcpy(s->hist, h, sizeof(*h));
		s->ns_per_tick = ns_per_tick;
		return;
	}
	double ratio = ns_per_tick / s->ns_per_tick;
	bool same = fabs(ratio - 1) < 1e-3;
	for (uint32_t i = 0; i < TF_HIST_BUCKETS; i++) {
		if (!h->buckets[i])
			continue;
		if (same) {
			bucket_add(s->hist, i, h->buckets[i]);
			continue;
		}
		double low = (double)hist_low(i), high = (double)hist_low(i + 1);
		double middle = (i < HIST_SUBS ? low : (low + high) / 2) * ratio;
		bucket_add(s->hist,
		           hist_bucket(middle < 1e18 ? (uint64_t)(middle + 0.5) : (uint64_t)1e18),
		           h->buckets[i]);
	}
}

static double quantile(const struct model_spread *s, double q, double max_ns)
{
	double ticks = s->hist ? hist_quantile(s->hist, q) : -1;

	/* A bucket reaches beyond its largest value; no quantile is beyond the maximum, which is
	 * exact. */
	return ticks < 0 ? NAN : fmin(ticks * s->ns_per_tick, max_ns);
}

struct model_quantiles spread_quantiles(const struct model_spread *s, double max_ns)
{
	return (struct model_quantiles){
	        .p50 = quantile(s, 0.50, max_ns),
	        .p90 = quantile(s, 0.90, max_ns),
	        .p99 = quantile(s, 0.99, max_ns),
	};
}
