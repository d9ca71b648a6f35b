/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_ops.h"

/* The launch queues: shim/core/cuda/engines.h. The few kernels that the sampler gives to a stream
 * are left out. */

/* Entries outstanding, by estimate, where a call that takes longer waits; where it takes clearly
 * longer, or one after the other does: estimates may be too short. */
#define QUEUE_FULL   900u
#define QUEUE_LIKELY 512u
#define GRAPHS_FULL  8u  /* graph launches outstanding where one that takes longer waits */
#define LASTING      16u /* calls that take longer, less those between that do not */

/* Entries from op `op` on. */
static uint32_t entries_from(const struct tl_queue *q, const struct tl_op *op)
{
	return q->entries + 1 - op->entry;
}

/* The next op in the queue that `op` is in. */
static const struct tl_op *next_entry(struct timeline *t, const struct tl_op *op)
{
	const struct tl_op *next = tl_op(t, op->next);

	while (next && next->engine != op->engine)
		next = tl_op(t, next->next);
	return next;
}

void tl_enqueued(struct timeline *t, struct tl_stream *s, struct tl_op *op)
{
	struct tl_queue *q = &s->queues[op->engine];

	op->entry = ++q->entries;
	q->outstanding++;
	const struct tl_op *back = tl_op(t, q->back);
	if (!back)
		back = op;
	while (entries_from(q, back) > CUDA_QUEUE_ENTRIES && back != op)
		back = next_entry(t, back);
	q->back = back->id;
}

bool tl_is_back(const struct tl_stream *s, const struct tl_op *op)
{
	const struct tl_queue *q = &s->queues[op->engine];

	return q->back == op->id && entries_from(q, op) >= CUDA_QUEUE_ENTRIES;
}

void tl_unqueued(struct timeline *t, struct tl_stream *s, const struct tl_op *op)
{
	struct tl_queue *q = &s->queues[op->engine];

	if (s->head == op->id)
		q->outstanding--;
	if (q->back == op->id) {
		const struct tl_op *next = next_entry(t, op);
		q->back = next ? next->id : 0;
	}
}

/* A call waited until tick `at` for the queue: the op CUDA_QUEUE_ENTRIES entries before it ended
 * just then.
 */
static void queue_moved(struct timeline *t, struct tl_stream *s, const struct tl_queue *q,
                        uint64_t at)
{
	struct tl_op *moved_on = tl_op(t, q->back);

	if (!moved_on || entries_from(q, moved_on) < CUDA_QUEUE_ENTRIES)
		return;
	if (s->head <= moved_on->id && s->head) { /* the estimate was too long */
		tl_finished(t, s, moved_on->id, at);
		return;
	}
	if (moved_on->end >= at)
		return;
	/* Too short. A copy's bytes bound its time: what lasted are kernels around it. */
	const struct tl_op *behind = tl_op(t, moved_on->next);
	if (behind && behind->kind == TF_WORK_KERNEL && moved_on->kind != TF_WORK_KERNEL)
		moved_on->kind = TF_WORK_GRAPH; /* several kernels as one */
	tl_extend(t, moved_on, at);
}

/* Notes whether one call after the other takes longer than it typically does. */
static bool lasts(struct tl_queue *q, bool longer)
{
	if (longer)
		q->lasting = (uint8_t)tl_min(q->lasting + 2u, 2 * LASTING);
	else if (q->lasting)
		q->lasting--;
	return q->lasting >= LASTING;
}

/*
 * Whether a call that took `ticks` waited for a place in queue `q` of its stream. Where it shows
 * that the estimate is wrong by it, the timeline is put right.
 */
static bool waited(struct timeline *t, struct tl_stream *s, struct tl_queue *q, uint64_t end,
                   uint64_t ticks, uint64_t typical)
{
	uint32_t queued = q->outstanding, since = q->entries - q->proof;
	bool clearly = tl_is_long(t, typical, ticks), longer = ticks > typical + typical / 4;

	if (!typical)
		return false;
	bool unknown = clearly && s->unknown > s->since_proof / 8; /* which may be long */
	if (queued < QUEUE_FULL && (since < QUEUE_FULL || (queued < QUEUE_LIKELY && !unknown))) {
		q->lasting = 0;
		return false;
	}
	bool lasting = lasts(q, longer);
	if (queued < QUEUE_FULL && !clearly && !lasting)
		return false;
	/* Work of other streams may have held it up as well: whose was too long is not known. */
	bool alone = t->device[s->device].actives <= 1;
	if (t->mode == TF_GPU_SAMPLE && alone && (clearly || (longer && lasting)))
		queue_moved(t, s, q, end);
	return ticks > typical + typical / 8;
}

static uint64_t ticks_of(const struct timeline *t, uint32_t thread, const struct tf_record *r)
{
	uint64_t nested = tl_nested_ticks(t, thread, r->start), ticks = r->end - r->start;

	return ticks - tl_min(nested, ticks);
}

/* Up to date for a call from `start` to `end`: no more is queued than there can be. */
static void catch_up(struct timeline *t, struct tl_stream *s, const struct tl_queue *q,
                     uint64_t start, uint64_t end)
{
	tl_retire(t, s, start);
	if (t->mode == TF_GPU_SAMPLE &&
	    q->outstanding > CUDA_QUEUE_ENTRIES + CUDA_QUEUE_ENTRIES / 16)
		queue_moved(t, s, q, end);
}

/* Whether a call of another thread returned since tick `start`: what a call may have waited for. */
static bool others_called(const struct timeline *t, uint32_t thread, uint64_t start)
{
	return (thread == t->last_thread ? t->others_end : t->last_end) > start;
}

struct tl_split tl_launch(struct timeline *t, uint32_t thread, const struct tf_record *r,
                          unsigned cls)
{
	struct tl_split split = {r->start, TF_HOST_LAUNCH, TF_HOST_LAUNCH};
	uint32_t *typical = &t->call_typical[r->call];
	uint64_t ticks = ticks_of(t, thread, r);

	if (r->flags & TF_FIRST) { /* what it takes longer is loading */
		split.before = TF_HOST_MODULE;
		split.at = *typical && ticks > *typical ? r->end - *typical : r->start;
		return split;
	}
	if (r->result || t->mode == TF_GPU_OFF || r->flags & (TF_CAPTURED | TF_NO_ARGS))
		return split;
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	struct tl_queue *q = &s->queues[CUDA_ENGINE_COMPUTE];
	bool clearly = tl_is_long(t, *typical, ticks), full;
	if (cls == SPY_CLASS_GRAPH_LAUNCH) {
		tl_retire(t, s, r->start);
		full = clearly && q->outstanding >= GRAPHS_FULL;
	} else {
		catch_up(t, s, q, r->start, r->end);
		full = waited(t, s, q, r->end, ticks, *typical);
	}
	/* A thread has no contention with itself: what takes long then is the launch. */
	if (full || (clearly && others_called(t, thread, r->start))) {
		split.before = full ? TF_HOST_BACK_PRESSURE : TF_HOST_CONTENTION;
		split.at = r->end - *typical;
	}
	tl_learn(typical, ticks, full || s->since_proof >= QUEUE_FULL);
	return split;
}

struct tl_split tl_submit(struct timeline *t, uint32_t thread, const struct tf_record *r,
                          enum tf_work_kind kind, uint32_t *typical)
{
	struct tl_split split = {r->start, TF_HOST_COPY, TF_HOST_COPY};
	uint64_t ticks = ticks_of(t, thread, r);

	if (r->result || t->mode == TF_GPU_OFF || r->flags & (TF_CAPTURED | TF_NO_ARGS))
		return split;
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	struct tl_queue *q = &s->queues[cuda_engine(kind, tl_copy(r))];
	catch_up(t, s, q, r->start, r->end);
	bool full = waited(t, s, q, r->end, ticks, *typical);
	if (full) {
		split.before = TF_HOST_SYNC_USEFUL;
		split.at = r->end - *typical;
	}
	tl_learn(typical, ticks, full || s->since_proof >= QUEUE_FULL);
	return split;
}
