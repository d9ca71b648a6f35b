/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a launch waited for room in the launch queue: inline functions that every launch goes
 * through. For timeline_queue.c and timeline_launch.c.
 */
#ifndef SPY_TIMELINE_QUEUE_H
#define SPY_TIMELINE_QUEUE_H

#include "shim/core/timeline/timeline_ops.h"

/* With so many entries outstanding, by estimate, a call that takes longer than usual waited for
 * room. CUDA_QUEUE_ENTRIES less what estimates are off by. */
#define TL_QUEUE_FULL 900u

/* `lasting` of a queue from which on calls are taken to wait one after the other. */
#define TL_LASTING 16u

/*
 * Whether a call that took `ticks` found room in queue `q` of its stream at once, as nearly all do.
 * `*lasting`: the queue's next value.
 */
static inline bool tl_had_place(const struct timeline *t, const struct tl_stream *s,
                                const struct tl_queue *q, uint64_t ticks, uint64_t typical,
                                uint8_t *lasting)
{
	*lasting = 0;
	if (q->outstanding < TL_QUEUE_FULL && q->entries - q->proof < TL_QUEUE_FULL)
		return true;
	bool clearly = tl_is_long(t, typical, ticks);
	/* Work of unknown duration may be long. */
	if (q->outstanding < CUDA_QUEUE_LIKELY && !(clearly && s->unknown > s->since_proof / 8))
		return true;
	if (ticks > typical + typical / 4)
		*lasting = (uint8_t)tl_min(q->lasting + 2u, 2 * TL_LASTING);
	else if (q->lasting)
		*lasting = q->lasting - 1;
	return q->outstanding < TL_QUEUE_FULL && !clearly && *lasting < TL_LASTING;
}

/* tl_waited_for_place(), asked only where the call may have waited. */
static inline bool tl_waited(struct timeline *t, struct tl_stream *s, struct tl_queue *q,
                             uint64_t end, uint64_t ticks, uint64_t typical)
{
	uint8_t lasting;

	if (!typical)
		return false;
	bool had = tl_had_place(t, s, q, ticks, typical, &lasting);
	q->lasting = lasting;
	return !had && tl_waited_for_place(t, s, q, end, ticks, typical);
}

static inline uint64_t tl_ticks_of(const struct timeline *t, uint32_t thread,
                                   const struct tf_record *r)
{
	uint64_t nested = tl_nested_ticks(t, thread, r->start), ticks = r->end - r->start;

	return ticks - tl_min(nested, ticks);
}

/* Brings the queue up to date for a call from `start` to `end`: more entries than the driver allows
 * mean that estimates were too long. */
static inline void tl_catch_up(struct timeline *t, struct tl_stream *s, struct tl_queue *q,
                               uint64_t start, uint64_t end)
{
	tl_retire(t, s, start);
	if (t->mode == TF_GPU_SAMPLE &&
	    q->outstanding > CUDA_QUEUE_ENTRIES + CUDA_QUEUE_ENTRIES / 16)
		tl_queue_moved(t, s, q, end);
}

/* Whether a call of another thread returned since tick `start`: it may have held the driver's
 * lock. */
static inline bool tl_others_called(const struct timeline *t, uint32_t thread, uint64_t start)
{
	return (thread == t->last_thread ? t->others_end : t->last_end) > start;
}

/* A launch on this stream, of a kernel or a graph, which succeeded and is not its thread's first
 * one of the kernel. */
static inline struct tl_split tl_plain_launch(struct timeline *t, uint32_t thread,
                                              struct tl_stream *s, const struct tf_record *r)
{
	struct tl_split split = {r->start, TF_HOST_LAUNCH, TF_HOST_LAUNCH};
	struct tl_queue *q = &s->queues[CUDA_ENGINE_COMPUTE];
	uint32_t *typical = &t->call_typical[r->call];
	uint64_t ticks = tl_ticks_of(t, thread, r);

	tl_catch_up(t, s, q, r->start, r->end);
	bool full = tl_waited(t, s, q, r->end, ticks, *typical);
	/* A thread has no contention with itself: what takes long then is the launch. */
	if (full || (tl_is_long(t, *typical, ticks) && tl_others_called(t, thread, r->start))) {
		split.before = full ? TF_HOST_BACK_PRESSURE : TF_HOST_CONTENTION;
		split.at = r->end - *typical;
	}
	tl_learn(typical, ticks, full || s->since_proof >= TL_QUEUE_FULL);
	return split;
}

#endif
