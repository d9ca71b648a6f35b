/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting a stretch of work in its device's busy and idle time: inline functions that every
 * stretch goes through. For timeline_device.c and timeline_book.c.
 */
#ifndef SPY_TIMELINE_BUSY_H
#define SPY_TIMELINE_BUSY_H

#include "shim/core/format/histogram.h"
#include "shim/core/timeline/timeline_ops.h"

/* A stretch in which the device was idle: tl_stretch; `context`: the device. */
void tl_idle(struct timeline *t, void *context, unsigned state, uint64_t start, uint64_t end);
/* Other work turned out to run in [start, end), which was counted as communication alone. */
void tl_not_alone(struct timeline *t, struct tf_device_time *time, uint64_t start, uint64_t end);
/* The kernel's histogram of queue times, made if need be. */
void tl_find_queue(struct timeline *t, struct tl_kernel *k, uint32_t kernel);

/* Adds [start, end) to a counter of a device: in its total and its slices. `offset`: in struct
 * tf_busy. */
static inline void tl_busy_add(struct timeline *t, struct tl_device *d, size_t offset,
                               uint64_t start, uint64_t end)
{
	*(uint64_t *)((uint8_t *)&d->time->total + offset) += end - start;
	if (d->slice)
		*(uint64_t *)((uint8_t *)d->slice + offset) += end - start;
	else
		slices_add(t->map, t->slices, &t->device_slice, d->time->slices.busy,
		           sizeof(d->time->slices.busy[0]), offset, start, end);
}

/* All that is added until the next call lies in [start, end]: where that is one time slice, it is
 * found once. */
static inline void tl_busy_within(struct timeline *t, struct tl_device *d, uint64_t start,
                                  uint64_t end)
{
	const struct slice_cursor *at = &t->device_slice;
	bool one = t->slices && slice_holds(t->slices, at, start, end);

	d->slice = one ? &d->time->slices.busy[at->index] : NULL;
}

static inline void tl_idle_for(struct timeline *t, struct tl_device *d, enum tf_idle cause,
                               uint64_t start, uint64_t end)
{
	if (start < end)
		tl_busy_add(t, d, offsetof(struct tf_busy, idle) + cause * sizeof(uint64_t), start,
		            end);
}

/* The device was idle in [start, end), when this piece of work began: why, by when it was
 * launched. */
static inline void tl_book_idle(struct timeline *t, struct tl_device *d, const struct tl_piece *p,
                                uint64_t start, uint64_t end)
{
	uint64_t launched = p->returned + tl_start_latency(t);

	if (p->flags & TL_OP_NODE || !p->returned) { /* the GPU is on its own within a graph */
		tl_idle_for(t, d, p->flags & TL_OP_NODE ? TF_IDLE_DEPENDENCY : TF_IDLE_UNKNOWN,
		            start, end);
		return;
	}
	if (start < p->returned)
		tl_divide(t, p->thread, start, tl_min(end, p->returned), tl_idle, d);
	tl_idle_for(t, d, TF_IDLE_LAUNCH, tl_max(start, p->returned), tl_min(end, launched));
	tl_idle_for(t, d, TF_IDLE_DEPENDENCY, tl_max(start, launched), end);
}

/* Extends a union to `end`; returns where the part of [start, end) begins that it did not hold yet,
 * or `end`. */
static inline uint64_t tl_grow(struct tl_device *d, enum tl_union u, uint64_t start, uint64_t end)
{
	start = tl_min(tl_max(start, d->until[u]), end);
	if (end > d->until[u])
		d->until[u] = end;
	return start;
}

static inline void tl_overlapped(struct tf_stream *row, uint64_t start, uint64_t end)
{
	if (row && start < end)
		row->overlapped_ticks += end - start;
}

/* Time with a kernel, time with a copy, and time with both. */
static inline void tl_book_kind(struct timeline *t, struct tl_device *d, const struct tl_piece *p,
                                uint64_t from, bool copy)
{
	enum tl_union mine = copy ? TL_COPY : TL_KERNEL;
	bool longest = p->end > d->until[mine];
	uint64_t start = tl_grow(d, mine, from, p->end);

	if (copy && longest)
		d->copy_row = p->row;
	if (start == p->end)
		return;
	tl_busy_add(t, d,
	            copy ? offsetof(struct tf_busy, copies) : offsetof(struct tf_busy, kernels),
	            start, p->end);
	if (copy)
		tl_overlapped(p->row, start, tl_min(p->end, d->until[TL_KERNEL]));
	else
		tl_overlapped(d->copy_row, start, tl_min(p->end, d->until[TL_COPY]));
}

/* Adds a piece to its device's figures. Of one that starts before what is booked already, only the
 * part since the device was last idle counts. */
static inline __attribute__((always_inline)) void tl_book_piece(struct timeline *t,
                                                                struct tl_device *d,
                                                                const struct tl_piece *p, bool copy,
                                                                bool comm)
{
	struct tf_device_time *time = d->time;

	if (!time || p->end < p->start)
		return;
	time->work_ticks += p->end - p->start;
	if (p->flags & TL_OP_UNKNOWN)
		time->guessed_ticks += p->end - p->start;
	if (p->row)
		*(copy ? &p->row->copy_ticks : &p->row->kernel_ticks) += p->end - p->start;
	/* No communication runs: TL_OWN grows as TL_ANY does. */
	bool simple =
	        !comm && (d->until[TL_OWN] == d->until[TL_ANY] || p->start >= d->until[TL_ANY]);
	tl_busy_within(t, d, tl_min(p->start, d->until[TL_ANY]), p->end);
	if (p->start > d->until[TL_ANY]) {
		tl_book_idle(t, d, p, d->until[TL_ANY], p->start);
		d->until[TL_ANY] = d->begun = p->start;
	}
	uint64_t from = tl_min(tl_max(p->start, d->begun), p->end);
	uint64_t start = tl_grow(d, TL_ANY, from, p->end);
	if (start < p->end) {
		tl_busy_add(t, d, offsetof(struct tf_busy, busy), start, p->end);
		if (!simple)
			tl_busy_add(t, d, offsetof(struct tf_busy, comm), start, p->end);
	}
	time->until = d->until[TL_ANY];
	if (simple) {
		d->until[TL_OWN] = d->until[TL_ANY];
	} else if (!comm) {
		start = tl_grow(d, TL_OWN, from, p->end);
		if (start < p->end)
			tl_not_alone(t, time, start, p->end);
	}
	tl_book_kind(t, d, p, from, copy);
}

/* A kernel's figures, found once; NULL where it has none. */
static inline struct tl_kernel *tl_kernel_of(struct timeline *t, uint32_t kernel)
{
	struct tl_kernel *k = kernel < TF_KERNELS_MAX ? &t->kernels[kernel] : NULL;

	if (k && !k->figures)
		k->figures =
		        tf_entry(t->map, &tf_header(t->map)->kernels, kernel, sizeof(*k->figures));
	return k && k->figures ? k : NULL;
}

static inline __attribute__((always_inline)) void tl_count_piece(struct timeline *t,
                                                                 struct tf_device_time *time,
                                                                 const struct tl_piece *p,
                                                                 uint32_t kernel, bool known)
{
	struct tl_kernel *k;

	if (time) {
		time->work++;
		time->work_unknown += !known;
	}
	if (p->kind != TF_WORK_KERNEL || !p->returned || p->start <= p->returned)
		return;
	k = tl_kernel_of(t, kernel);
	if (!k)
		return;
	k->figures->queue_count++;
	k->figures->queue_ticks += p->start - p->returned;
	if (!k->queue)
		tl_find_queue(t, k, kernel);
	if (k->queue)
		hist_add(k->queue, p->start - p->returned);
}

#endif
