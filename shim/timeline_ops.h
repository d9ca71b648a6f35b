/*
 * Pieces of work, streams and kernels of the timeline as every record meets them: small enough to
 * be part of their callers. For the timeline's own files.
 */
#ifndef SPY_TIMELINE_OPS_H
#define SPY_TIMELINE_OPS_H

#include "shim/timeline_parts.h"

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

/* As moved with its stream, which is `s`, since its place was found. */
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

/* Gives it its device and its row in the table: work comes. NULL where it has no row. */
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
