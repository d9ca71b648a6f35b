/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of durations in ticks: buckets of 1/32 octave, so that a quantile interpolated within
 * its bucket is within 3 % of the truth. Shared by the drain, which fills them, and the reporter,
 * which asks for quantiles.
 */
#ifndef SPY_HISTOGRAM_H
#define SPY_HISTOGRAM_H

#include "shim/core/format/trace_format.h"

#define HIST_SUB_BITS 5
#define HIST_SUBS     (1u << HIST_SUB_BITS)

/* The bucket of v: 0..31 exactly, then 32 buckets for each power of two; the last one takes all
 * that is larger. */
static inline uint32_t hist_bucket(uint64_t v)
{
	if (v < HIST_SUBS)
		return (uint32_t)v;
	uint32_t exponent = 63 - (uint32_t)__builtin_clzll(v);
	uint32_t index = ((exponent - HIST_SUB_BITS + 1) << HIST_SUB_BITS) +
	                 (uint32_t)((v >> (exponent - HIST_SUB_BITS)) & (HIST_SUBS - 1));
	return index < TF_HIST_BUCKETS ? index : TF_HIST_BUCKETS - 1;
}

/* The smallest value of a bucket. */
static inline uint64_t hist_low(uint32_t index)
{
	if (index < HIST_SUBS)
		return index;
	uint32_t exponent = (index >> HIST_SUB_BITS) + HIST_SUB_BITS - 1;
	return (uint64_t)(HIST_SUBS + (index & (HIST_SUBS - 1))) << (exponent - HIST_SUB_BITS);
}

/* One more value of bucket `index`. Single writer. A bucket that would overflow halves all of them:
 * quantiles stay, exact counts stand elsewhere. */
static inline void hist_add_to(struct tf_hist *h, uint32_t index)
{
	uint32_t *bucket = &h->buckets[index];

	if (__builtin_expect(*bucket == UINT32_MAX, 0)) {
		h->count = 0;
		for (uint32_t i = 0; i < TF_HIST_BUCKETS; i++)
			h->count += h->buckets[i] /= 2;
	}
	(*bucket)++;
	h->count++;
}

static inline void hist_add(struct tf_hist *h, uint64_t v)
{
	hist_add_to(h, hist_bucket(v));
}

/* The q-quantile (0 <= q <= 1), interpolated; -1 where the histogram is empty. Trusts no count:
 * sums the buckets. */
static inline double hist_quantile(const struct tf_hist *h, double q)
{
	uint64_t total = 0, below = 0;
	for (uint32_t i = 0; i < TF_HIST_BUCKETS; i++)
		total += h->buckets[i];
	if (!total)
		return -1;
	double rank = q * (double)(total - 1) + 0.5;
	for (uint32_t i = 0; i < TF_HIST_BUCKETS; i++) {
		uint32_t n = h->buckets[i];
		if (n && rank <= (double)(below + n)) {
			double width = (double)(hist_low(i + 1) - hist_low(i));
			double part = (rank - (double)below) / n;
			/* Off the edges: where all of a bucket is one value there, a whole width is
			 * more than 3 %. */
			part = part < 1.0 / 16 ? 1.0 / 16 : part > 15.0 / 16 ? 15.0 / 16 : part;
			/* bucket 0..31 hold one integer each: nothing to interpolate */
			return (double)hist_low(i) + (i < HIST_SUBS ? 0 : width * part);
		}
		below += n;
	}
	return (double)hist_low(TF_HIST_BUCKETS - 1);
}

#endif
