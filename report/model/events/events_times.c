/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/events/events_internal.h"
#include "report/model/model_gpu_pairs.h"
#include "shim/core/gpu_time/estimate_pinned.h"
#include "shim/core/work/work_class.h"

/* The classes that are used, as the calibration wants them. */
static void calibrate_from(struct model_calibration *c, const struct tf_map *map,
                           const struct tf_work *works)
{
	struct tf_work *used = alloc_zeroed(TF_WORKS, sizeof(*used));
	uint32_t count = 0;

	for (uint32_t i = 0; i < TF_WORKS; i++)
		if (works[i].kind)
			used[count++] = works[i];
	model_calibrate(c, map, used, count);
	free(used);
}

static void find_classes(struct events_times *t, const struct tf_work *works,
                         const struct model_calibration *c)
{
	for (uint32_t i = 0; i < TF_WORKS; i++) {
		struct events_class *to = &t->classes[i];
		*to = (struct events_class){NAN, NAN, NAN, 0};
		struct model_work_time time = works && works[i].kind ? model_work_time(&works[i], c)
		                                                     : (struct model_work_time){0};
		if (!time.known || !isfinite(time.mean))
			continue;
		to->mean = time.mean;
		to->low = fmax(0, time.mean - model_work_below(&time));
		to->high = time.mean + model_work_above(&time);
		to->samples = time.samples;
	}
}

/* ---- single pieces ---- */

/* What names the class of a sample's work, or of a call's. */
static uint64_t class_hash(unsigned kind, const struct tf_record *r)
{
	struct tf_work key;
	uint64_t words[4];

	work_key(&key, (enum tf_work_kind)kind, r);
	memcpy(words, &key, sizeof(words));
	return words[0] * 0x9e3779b97f4a7c15u ^ words[1] * 0xc2b2ae3d27d4eb4fu ^
	       words[2] * 0xff51afd7ed558ccdu ^ words[3];
}

/*
 * The entry of a call that events stood around is moved behind what they took, once more after its
 * sample was written: the sample has an entry that is a little older.
 */
double times_measured(const struct events_times *t, unsigned kind, const struct tf_record *r)
{
	size_t low = 0, high = t->measured_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->measured[middle].start <= r->start)
			low = middle + 1;
		else
			high = middle;
	}
	const uint64_t cls = low ? class_hash(kind, r) : 0;
	for (; low && r->start - t->measured[low - 1].start < t->measured_most; low--) {
		struct events_measured *m = &t->measured[low - 1];
		if (m->cls == cls && !m->used) {
			m->used = true;
			return m->ns;
		}
	}
	return NAN;
}

static int by_start(const void *a, const void *b)
{
	const struct events_measured *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_sample(const struct tf_record *r)
{
	return r->call == TF_CALL_SAMPLE && r->thread >= TF_WORK_KERNEL &&
	       r->thread <= TF_WORK_SET && r->result >= 0 && r->result < TF_PAIRS && r->start;
}

/* What one pair tells of its piece; NaN where one alone tells too little: the engine of a pinned
 * copy may have slept. */
static double piece_ns(const struct recording *r, const struct tf_record *sample,
                       const struct estimate_costs *costs)
{
	struct tf_work key;

	work_key(&key, (enum tf_work_kind)sample->thread, sample);
	const struct tf_work *w = work_known(&r->map, &key);
	if (!w || estimate_is_pinned(w) || estimate_is_staged(w))
		return NAN;
	double ns = (double)sample->end - costs->cost[estimate_path(w)][sample->result].ns;
	return ns > 0 && ns < 1e13 ? ns : NAN;
}

static void find_measured(struct events_times *t, const struct recording *r, struct events_store *s)
{
	struct estimate_costs costs;
	struct tf_record sample;
	size_t count = 0;

	while (count < MEASURED_MOST && events_store_next(s, &sample))
		count += is_sample(&sample);
	events_store_rewind(s);
	if (!count)
		return;
	t->measured = alloc_zeroed(count, sizeof(*t->measured));
	estimate_costs(&r->map, &costs);
	while (count && events_store_next(s, &sample)) {
		if (!is_sample(&sample))
			continue;
		double ns = piece_ns(r, &sample, &costs);
		if (!isnan(ns))
			t->measured[t->measured_count++] = (struct events_measured){
			        sample.start, class_hash(sample.thread, &sample), ns, false};
		count--;
	}
	events_store_rewind(s);
	if (t->measured_count)
		qsort(t->measured, t->measured_count, sizeof(*t->measured), by_start);
}

void times_find(struct events_times *t, struct recording *r, const struct clock *clock,
                struct events_store *s)
{
	const struct tf_header *h = tf_header(&r->map);
	const struct tf_work *works = tf_at(&r->map, h->works, TF_WORKS * sizeof(*works));
	struct model_calibration *c = alloc_zeroed(1, sizeof(*c));

	*t = (struct events_times){.classes = alloc_zeroed(TF_WORKS, sizeof(*t->classes)),
	                           .measured_most = (uint64_t)(MEASURED_NS / clock->ns_per_tick)};
	if (works && h->gpu_mode != TF_GPU_OFF) {
		calibrate_from(c, &r->map, works);
		find_classes(t, works, c);
	} else {
		find_classes(t, NULL, c);
	}
	if (h->gpu_mode == TF_GPU_SAMPLE)
		find_measured(t, r, s);
	free(c);
}

void times_end(struct events_times *t)
{
	free(t->classes);
	free(t->measured);
}
