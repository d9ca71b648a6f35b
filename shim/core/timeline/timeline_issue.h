/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making an op and giving it a start and an end: inline functions that every piece of work goes
 * through. For timeline_work.c and timeline_launch.c.
 */
#ifndef SPY_TIMELINE_ISSUE_H
#define SPY_TIMELINE_ISSUE_H

#include "shim/core/timeline/timeline_ops.h"

#define TL_OPS_AHEAD 4u /* ops ahead whose memory is prefetched */

/* ---- ops ---- */

/* Frees the place of an older op, which may be in use, for op `id`; returns where that goes. */
struct tl_op *tl_take_place(struct timeline *t, struct tl_op *op, uint64_t id);

/* Whether nothing refers to the op any more; false negatives are possible. */
static inline bool tl_is_free(struct timeline *t, const struct tl_op *op)
{
	const struct tl_stream *s = tl_op_stream(t, op);
	const uint64_t id = op->id;

	return !(op->flags & TL_OP_EVENT) &&
	       (!s || (s->head != id && s->book != id && s->tail != id &&
	               s->queues[op->engine].back != id && t->device[s->device].last != id));
}

/* Prefetches the places of the next ops: since they were used last, all others were. */
static inline void tl_fetch_ops(const struct timeline *t, uint64_t id)
{
	const char *ahead = (const char *)&t->ops[(id + TL_OPS_AHEAD) & t->ops_mask];

	__builtin_prefetch(ahead, 1);
	__builtin_prefetch(ahead + 64, 1);
}

/* A place for the next op. */
static inline struct tl_op *tl_new_op(struct timeline *t)
{
	uint64_t id = ++t->last_op;
	struct tl_op *op = &t->ops[id & t->ops_mask];

	if (op->id && !tl_is_free(t, op))
		op = tl_take_place(t, op, id);
	op->id = id;
	tl_fetch_ops(t, id);
	return op;
}

static inline void tl_append(struct timeline *t, struct tl_stream *s, struct tl_op *op)
{
	struct tl_op *tail = tl_op(t, s->tail);

	op->shift = s->shift;
	op->stream = tl_place(t, s);
	op->generation = s->generation;
	if (tail)
		tail->next = op->id;
	s->tail = op->id;
	if (!s->head)
		s->head = op->id;
	if (!s->book)
		s->book = op->id;
	s->since_proof++;
	s->since_ticks += op->end - op->start;
	if (op->flags & TL_OP_UNKNOWN)
		s->unknown++;
	tl_enqueued(t, s, op);
	tl_activate(t, s);
}

/* ---- start and end ---- */

/* The op of another stream that this one must wait for; of several the one that ends last. 0 =
 * none. `shared`: its engine serves all streams, one copy after the other. */
static inline uint64_t tl_other_wait(struct timeline *t, const struct tl_stream *s,
                                     const struct tl_op *op, bool shared)
{
	if (!s->wait && !shared && !t->device[s->device].legacy)
		return 0;
	uint64_t last = tl_later_op(t, s->wait, tl_legacy_wait(t, s));

	return shared ? tl_later_op(t, last, t->device[s->device].engine[op->engine]) : last;
}

/* Moves the op, which has the times it would have on an idle GPU, behind the ops it waits for. */
static inline void tl_place_behind(struct timeline *t, struct tl_stream *s, struct tl_op *op,
                                   bool shared)
{
	const struct tl_op *before = tl_op(t, s->tail),
	                   *other = tl_op(t, tl_other_wait(t, s, op, shared));
	uint64_t from = before ? tl_end_on(s, before) + tl_space(t, before, op->engine) : 0,
	         ticks = op->end - op->start;

	op->start = tl_max(op->ready, other ? tl_op_end(t, other) : 0);
	bool free = op->start == op->ready;
	if (from > op->start) {
		op->start = from;
		free = before->flags & TL_OP_CHAINED;
	} else {
		s->loose = op->id;
	}
	if (free)
		op->flags |= TL_OP_CHAINED;
	op->end = op->start + ticks;
}

/* Estimated times: it starts after its call's return, and after what it waits for. */
static inline void tl_put(struct timeline *t, struct tl_stream *s, struct tl_op *op,
                          const struct tf_record *r, uint64_t ticks, bool shared)
{
	op->ready = r->end + tl_start_latency(t);
	if (r->flags & TF_STALLED)
		op->ready += t->stall;
	op->start = op->ready;
	op->end = op->start + ticks;
	tl_place_behind(t, s, op, shared);
}

/* ---- counts ---- */

/* Counts the work in its stream's row. */
static inline void tl_count_on(struct tf_stream *row, const struct tf_record *r,
                               enum tf_work_kind kind)
{
	if (kind == TF_WORK_KERNEL)
		row->kernels += r->launch.items ? r->launch.items : 1;
	else if (kind == TF_WORK_GRAPH)
		row->graphs++;
	else if (kind == TF_WORK_COPY)
		row->copies += r->copy.items ? r->copy.items : 1;
	else if (kind == TF_WORK_SET)
		row->sets += r->copy.items ? r->copy.items : 1;
}

/* A new op with what its call's record says. */
static inline struct tl_op *tl_begin_op(struct timeline *t, uint32_t thread,
                                        const struct tf_record *r, enum tf_work_kind kind,
                                        enum cuda_engine engine)
{
	struct tl_op *op = tl_new_op(t);

	op->entered = r->start;
	op->returned = r->end;
	op->booked = op->next = 0;
	op->thread = (uint16_t)thread;
	op->kind = (uint8_t)kind;
	op->engine = (uint8_t)engine;
	op->flags = op->functions = 0;
	op->kernel = kind == TF_WORK_KERNEL ? r->launch.kernel : 0;
	if (kind == TF_WORK_KERNEL && tl_is_comm(t, op->kernel))
		op->flags |= TL_OP_COMM;
	return op;
}

/* Keeps the largest variance of the classes of work given to the stream since it was empty. */
static inline void tl_note_variance(struct timeline *t, struct tl_stream *s,
                                    const struct tf_work *w)
{
	if (tl_variance(t, w) > s->since_variance)
		s->since_variance = tl_variance(t, w);
}

/* Keeps the device's op that ends last. `ends_last`: it is behind that one on the same stream. */
static inline void tl_note_last(struct timeline *t, struct tl_device *d, const struct tl_op *op,
                                bool ends_last)
{
	const struct tl_op *last = ends_last ? NULL : tl_op(t, d->last);

	if (!last || tl_op_end(t, last) <= op->end)
		d->last = op->id;
}

#endif
