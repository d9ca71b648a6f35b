/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_ops.h"

#include <math.h>
#include "shim/core/work/work_class.h"

static double guess_ns(const struct tf_work *w)
{
	double bytes =
	        w->count ? (double)w->bytes / (double)w->count : (double)work_size_floor(w->size);

	return cuda_guess_ns((enum tf_work_kind)w->kind, (enum spy_direction)w->direction, bytes);
}

static double variance_of(const struct tf_work *w)
{
	double most = 0;

	for (int i = 0; i < TF_PAIRS; i++) {
		const struct tf_pairs *p = &w->pairs[i];
		double n = (double)p->count, mean = p->sum_ns / n;
		double variance = (p->sum_squares - n * mean * mean) / (n - 1);
		if (p->count > 1 && variance > most)
			most = variance;
	}
	return most;
}

uint64_t tl_find_duration(struct timeline *t, const struct tf_work *w, bool *known)
{
	struct tl_known *k = tl_known(t, w);
	double ns = NAN;

	*known = false;
	if (!k)
		return t->short_work;
	uint64_t stamp = tl_stamp(t, w);
	if (k->stamp != stamp)
		k->ns = estimate_recent_ns(&t->costs, w);
	k->stamp = stamp;
	k->rate = t->ticks_per_ns;
	k->ticks = TL_TICKS_MOST;
	if (!isnan(k->ns)) {
		*known = true;
		k->variance = variance_of(w);
		return k->ticks = tl_ticks(t, k->ns);
	}
	if (w->kind == TF_WORK_KERNEL) {
		const struct tl_mean *m = &t->means[w->id % TL_KERNELS];
		if (m->count && m->kernel == w->id)
			ns = m->sum_ns / m->count;
		*known = !isnan(ns);
	}
	if (isnan(ns))
		ns = guess_ns(w);
	return tl_ticks(t, ns);
}
