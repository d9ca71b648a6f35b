/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/drain/drain_samples.h"

#include "shim/core/gpu_time/estimate_pinned.h"
#include "shim/core/timeline/timeline.h"
#include "shim/core/work/work_class.h"

#define PAIR_MOST_NS 1e15 /* beyond it a pair is damaged */

/* The class of the work that a pseudo record is of; NULL where the record is damaged. */
static struct tf_work *class_of(struct drain *d, const struct tf_record *r, unsigned kind)
{
	struct tf_work key;

	if (kind == TF_WORK_NONE || kind >= TF_WORK_KINDS)
		return NULL;
	work_key(&key, (enum tf_work_kind)kind, r);
	return work_find(d->map, &key);
}

static void add_pair(struct tf_pairs *p, double ns)
{
	uint32_t least = ns < (double)UINT32_MAX ? (uint32_t)ns : UINT32_MAX;

	if (p->count == UINT32_MAX)
		return;
	if (!p->count || least < p->least_ns)
		p->least_ns = least;
	p->count++;
	p->sum_ns += ns;
	p->sum_squares += ns * ns;
}

/* A series has one of two neighbouring places; the one not met for longer is given up. */
static struct weights_series *series_of(struct drain_samples *all, uint32_t work, uint32_t number)
{
	uint32_t home = ((work + 1) * 0x9e3779b9u ^ number * 0x85ebca6bu) * 0xc2b2ae35u >>
	                (32 - SAMPLES_SERIES_BITS);
	struct samples_series *a = &all->series[home], *b = &all->series[home ^ 1],
	                      *s = a->work == work + 1 && a->number == number   ? a
	                           : b->work == work + 1 && b->number == number ? b
	                           : a->used <= b->used                         ? a
	                                                                        : b;

	if (s->work != work + 1 || s->number != number)
		*s = (struct samples_series){.work = work + 1, .number = number};
	s->used = ++all->fed;
	return &s->last;
}

/* What the pair stands for. Of pinned copies the shortest one counts. */
static void add_weight(struct drain *d, struct drain_samples *s, const struct tf_work *w,
                       const struct tf_record *r, double ns)
{
	uint32_t number = TF_NTH_SERIES(r->stream), index = work_index(d->map, w);

	if (!number || index == TF_WORKS || w->kind >= TF_WORK_EMPTY || estimate_is_pinned(w))
		return;
	struct tf_weights *to = weights_make(d->map, w);
	if (to)
		weights_add(to, series_of(s, index, number), TF_NTH_NTH(r->stream), w->count,
		            r->result, ns);
}

void samples_feed(struct drain *d, struct drain_samples *s, const struct tf_record *r)
{
	double ns = (double)r->end;
	struct tf_work *w = r->result >= 0 && r->result < TF_PAIRS && ns < PAIR_MOST_NS
	                            ? class_of(d, r, r->thread)
	                            : NULL;

	if (!w)
		return;
	add_pair(&w->pairs[r->result], estimate_pair_ns(w, r->copy.bytes, ns));
	add_weight(d, s, w, r, ns);
	if (d->timeline)
		timeline_sample(d->timeline, w);
}

void samples_tried(struct drain *d, const struct tf_work *w)
{
	struct tf_weights *to = weights_make(d->map, w);

	if (to && to->tries < UINT32_MAX)
		to->tries++;
}

void samples_facts(struct drain *d, const struct tf_record *r)
{
	struct tf_work *w = class_of(d, r, TF_WORK_KERNEL);

	if (!w)
		return;
	w->registers = (uint16_t)r->start;
	w->blocks_per_sm = (uint16_t)(r->start >> 16);
	w->warps_per_sm = (uint16_t)(r->start >> 32);
	w->static_shared = (uint16_t)(r->start >> 48);
}
