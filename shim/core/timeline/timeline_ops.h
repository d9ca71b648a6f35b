/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops, streams and kernels of the timeline: inline functions that every record goes through. For
 * the timeline's own files.
 */
#ifndef SPY_TIMELINE_OPS_H
#define SPY_TIMELINE_OPS_H

#include "shim/core/timeline/timeline_internal.h"

/* ---- ops ---- */

/* NULL: none, or forgotten. */
static inline struct tl_op *tl_op(struct timeline *t, uint64_t id)
{
	struct tl_op *op = &t->ops[id & t->ops_mask];

	return id && op->id == id ? op : NULL;
}

static inline struct tl_stream *tl_op_stream(struct timeline *t, const struct tl_op *op)
{
	struct tl_stream *s = op->stream ? &t->streams[op->stream - 1] : NULL;

	return s && s->generation == op->generation ? s : NULL;
}

/* When the op starts, its stream's shift counted in; `s`: its stream. */
static inline uint64_t tl_start_on(const struct tl_stream *s, const struct tl_op *op)
{
	int64_t start = (int64_t)op->start + (s->shift - op->shift);

	if (op->flags & TL_OP_SETTLED)
		return op->start;
	return start > (int64_t)op->ready ? (uint64_t)start : op->ready;
}

static inline uint64_t tl_end_on(const struct tl_stream *s, const struct tl_op *op)
{
	return tl_start_on(s, op) + (op->end - op->start);
}

/* The same of an op whose stream may be forgotten. */
static inline uint64_t tl_op_end(struct timeline *t, const struct tl_op *op)
{
	const struct tl_stream *s = op->flags & TL_OP_SETTLED ? NULL : tl_op_stream(t, op);

	if (s)
		return tl_end_on(s, op);
	return op->flags & TL_OP_SETTLED ? op->end
	                                 : tl_max(op->start, op->ready) + (op->end - op->start);
}

/* From the end of the work before it on its stream to the start of work of that engine. */
static inline uint64_t tl_space(const struct timeline *t, const struct tl_op *before,
                                unsigned engine)
{
	return t->space[before->engine][engine] + (before->functions ? t->function : 0);
}

/* It has ended: its times are corrected no more. */
static inline void tl_settle(struct tl_stream *s, struct tl_op *op)
{
	uint64_t start = tl_start_on(s, op), end = start + (op->end - op->start);

	op->start = start;
	op->end = end;
	op->flags |= TL_OP_SETTLED;
	s->settled = tl_max(s->settled, end);
}

/* The stream's first outstanding op has ended. */
static inline void tl_end_first(struct tl_stream *s, struct tl_op *op)
{
	tl_settle(s, op);
	s->head = op->next;
	s->queues[op->engine].outstanding--;
}

/* Ends the stream's ops that by estimate ended by tick `until`. */
static inline void tl_retire(struct timeline *t, struct tl_stream *s, uint64_t until)
{
	for (struct tl_op *op = tl_op(t, s->head); op && tl_end_on(s, op) <= until;
	     op = tl_op(t, s->head))
		tl_end_first(s, op);
}

/* Entries of its queue from op `op` on. */
static inline uint32_t tl_entries_from(const struct tl_queue *q, const struct tl_op *op)
{
	return q->entries + 1 - op->entry;
}

#define TL_BACK_LAGS                                                                               \
	64u /* entries that a queue's `back` may lag: it is looked for now and then                \
	     */

/* Adds the op, its stream's last, to the launch queue of its engine. */
static inline void tl_enqueued(struct timeline *t, struct tl_stream *s, struct tl_op *op)
{
	struct tl_queue *q = &s->queues[op->engine];
	const struct tl_op *back = tl_op(t, q->back);

	op->entry = ++q->entries;
	q->outstanding++;
	if (!back || tl_entries_from(q, back) > CUDA_QUEUE_ENTRIES + TL_BACK_LAGS)
		q->back = tl_find_back(t, q, op);
}

/* The call returns only when its copy or set is done. */
static inline bool tl_holds(const struct tf_record *r, enum tf_work_kind kind)
{
	return (kind == TF_WORK_COPY && cuda_copy_holds(cuda_copy_of(r))) ||
	       (kind == TF_WORK_SET && cuda_set_holds(cuda_copy_of(r)));
}

/* ---- streams ---- */

struct tl_stream *tl_find_stream(struct timeline *t, uint32_t thread, uint64_t handle,
                                 unsigned flags);

/* The stream that a record names, made if need be. Never NULL. */
static inline struct tl_stream *tl_stream(struct timeline *t, uint32_t thread, uint64_t handle,
                                          unsigned flags)
{
	struct tl_stream *s = &t->streams[t->recent.place];

	if (t->recent.handle == handle && t->recent.thread == thread &&
	    t->recent.flags == (flags & TF_PTDS) && t->recent.device == t->threads[thread].device &&
	    s->generation && s->generation == t->recent.generation)
		return s;
	return tl_find_stream(t, thread, handle, flags);
}

void tl_find_row(struct timeline *t, struct tl_stream *s, unsigned device);

/* Its row in the table of streams, made at its first work; NULL where there is no room. */
static inline struct tf_stream *tl_stream_row(struct timeline *t, struct tl_stream *s,
                                              unsigned device)
{
	if (!s->has_device || !s->row)
		tl_find_row(t, s, device);
	return s->row;
}

/* ---- classes and kernels ---- */

/* Table `works` of the recording; NULL where it has none. */
static inline struct tf_work *tl_works(struct timeline *t)
{
	if (!t->works)
		t->works = tf_at(t->map, tf_header(t->map)->works, TF_WORKS * sizeof(*t->works));
	return t->works;
}

void tl_find_kernel(struct timeline *t, uint32_t kernel);

/* A kernel of a communication library. */
static inline bool tl_is_comm(struct timeline *t, uint32_t kernel)
{
	if (kernel >= TF_KERNELS_MAX)
		return false;
	if (!t->kernels[kernel].named)
		tl_find_kernel(t, kernel);
	return t->kernels[kernel].comm;
}

/* ---- how long ---- */

/* What is known of a class of the recording's; NULL where it is none of these. */
static inline struct tl_known *tl_known(struct timeline *t, const struct tf_work *w)
{
	const struct tf_work *all = tl_works(t);

	return w && all && w >= all && w < all + TF_WORKS ? &t->known[w - all] : NULL;
}

/* Changes with each sample of a class; never 0. */
static inline uint64_t tl_stamp(const struct timeline *t, const struct tf_work *w)
{
	uint64_t pairs = (uint64_t)w->pairs[0].count + w->pairs[1].count + w->exact_count;

	return (pairs << 16 | (t->costs_version & 0xffff)) + 1;
}

uint64_t tl_find_duration(struct timeline *t, const struct tf_work *w, bool *known);

/* Mean duration of a class, ticks; *known false: it was never timed, this is a guess. */
static inline uint64_t tl_duration(struct timeline *t, const struct tf_work *w, bool *known)
{
	const struct tl_known *k = tl_known(t, w);

	if (!k || k->ticks == TL_TICKS_MOST || k->rate != t->ticks_per_ns ||
	    k->stamp != tl_stamp(t, w))
		return tl_find_duration(t, w, known);
	*known = true;
	return k->ticks;
}

/* Between the pieces of a class of known duration, ns squared. */
static inline double tl_variance(struct timeline *t, const struct tf_work *w)
{
	const struct tl_known *k = tl_known(t, w);

	return k && k->ticks != TL_TICKS_MOST ? k->variance : 0;
}

/* tl_duration() and tl_variance() of a class of kernels: kept until another sample is learned
 * from, as a kernel's duration does not depend on how many there were (a copy's mean bytes do). */
static inline __attribute__((always_inline)) uint64_t
tl_kernel_duration(struct timeline *t, const struct tf_work *w, bool *known, double *variance)
{
	struct tl_known *k = tl_known(t, w);

	if (!k || k->version != t->version) {
		uint64_t ticks = tl_duration(t, w, known);
		*variance = 0;
		if (!k)
			return ticks;
		k->version = t->version;
		k->kernel_ticks = ticks;
		k->is_known = *known;
	}
	*known = k->is_known;
	*variance = k->ticks != TL_TICKS_MOST ? k->variance : 0;
	return k->kernel_ticks;
}

/* Whether a call took clearly longer than it typically does. */
static inline bool tl_is_long(const struct timeline *t, uint64_t typical, uint64_t ticks)
{
	return typical && ticks > 2 * typical + t->noise / 3;
}

/*
 * Follows a low quantile of what a call takes: down fast, up slowly. `doubtful`: the call may have
 * waited for room in the launch queue, so it does not rise; else a program that waits in nearly
 * every call would make waiting typical.
 */
static inline void tl_learn(uint32_t *typical, uint64_t ticks, bool doubtful)
{
	uint32_t q = *typical, v = ticks < UINT32_MAX / 4 ? (uint32_t)ticks : UINT32_MAX / 4;

	if (!q)
		*typical = v ? v : 1;
	else if (v < q)
		*typical = q - (q - v) / 4;
	else if (doubtful || v == q)
		return;
	else if (v <= 2 * q)
		*typical = q + q / 256 + 1;
	else
		*typical = q + q / 4096 + 1;
}

/* ---- devices ---- */

static inline void tl_activate(struct timeline *t, struct tl_stream *s)
{
	struct tl_device *d = &t->device[s->device];

	if (s->active || d->actives == TL_STREAMS)
		return;
	d->active[d->actives++] = tl_place(t, s);
	s->active = d->actives;
}

#endif
