/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_queue.h"

#define BESIDE 16 /* ops that are looked at for a kernel */

/* The launch queues: shim/core/cuda/engines.h. The few kernels of the sampler's own that take
 * entries as well are not counted. */

/* The next op in the queue that `op` is in. */
static const struct tl_op *next_entry(struct timeline *t, const struct tl_op *op)
{
	const struct tl_op *next = tl_op(t, op->next);

	while (next && next->engine != op->engine)
		next = tl_op(t, next->next);
	return next;
}

uint64_t tl_find_back(struct timeline *t, const struct tl_queue *q, const struct tl_op *op)
{
	const struct tl_op *back = tl_op(t, q->back);

	if (!back)
		back = op;
	/* Mostly all ops are of one queue: then ids and entries run side by side. */
	const uint32_t far = tl_entries_from(q, back) - CUDA_QUEUE_ENTRIES;
	const struct tl_op *there = (int32_t)far > 0 ? tl_op(t, back->id + far) : NULL;
	if (there && there->entry == back->entry + far && there->engine == back->engine &&
	    there->stream == back->stream && there->generation == back->generation)
		return there->id;
	while (tl_entries_from(q, back) > CUDA_QUEUE_ENTRIES && back != op)
		back = next_entry(t, back);
	return back->id;
}

bool tl_is_back(const struct tl_stream *s, const struct tl_op *op)
{
	const struct tl_queue *q = &s->queues[op->engine];

	return q->back == op->id && tl_entries_from(q, op) >= CUDA_QUEUE_ENTRIES;
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

/* The first op from `op` on of which no wait showed that it had ended. Others have no place in the
 * queue, though by count they would: the sampler's own entries have it. */
static struct tl_op *first_open(struct timeline *t, const struct tl_queue *q, struct tl_op *op)
{
	while (op && (int32_t)(op->entry - q->proof) <= 0) {
		const struct tl_op *next = next_entry(t, op);
		op = next ? tl_op(t, next->id) : NULL;
	}
	return op;
}

/* A copy's bytes bound its time, and a set's: kernels beside it lasted. Where the next few are none
 * either, `op`. */
static struct tl_op *first_kernel(struct timeline *t, struct tl_op *op)
{
	struct tl_op *kernel = op;

	for (int i = 0; i < BESIDE && kernel; i++, kernel = tl_op(t, kernel->next))
		if (kernel->kind == TF_WORK_KERNEL || kernel->kind == TF_WORK_GRAPH)
			return kernel;
	return op;
}

void tl_queue_moved(struct timeline *t, struct tl_stream *s, struct tl_queue *q, uint64_t at)
{
	if (tl_op(t, q->back))
		q->back = tl_find_back(t, q, NULL);
	struct tl_op *moved_on = tl_op(t, q->back);
	if (!moved_on || tl_entries_from(q, moved_on) < CUDA_QUEUE_ENTRIES)
		return;
	moved_on = first_open(t, q, moved_on);
	if (!moved_on)
		return;
	if (s->head <= moved_on->id && s->head) { /* the estimate was too long */
		tl_finished(t, s, moved_on->id, at);
		return;
	}
	/* The estimate was too short: the work that was at the GPU lasted until now. */
	moved_on = first_kernel(t, moved_on);
	if (moved_on->end < at && (!s->head || moved_on->id < s->head))
		tl_extend(t, moved_on, at);
}

bool tl_waited_for_place(struct timeline *t, struct tl_stream *s, struct tl_queue *q, uint64_t end,
                         uint64_t ticks, uint64_t typical)
{
	bool clearly = tl_is_long(t, typical, ticks), longer = ticks > typical + typical / 4,
	     lasting = q->lasting >= TL_LASTING;
	/* With several streams busy it is not known whose estimates are wrong. */
	bool alone = t->device[s->device].actives <= 1;
	if (t->mode == TF_GPU_SAMPLE && alone && (clearly || (longer && lasting)))
		tl_queue_moved(t, s, q, end);
	return ticks > typical + typical / 8;
}

struct tl_split tl_launch(struct timeline *t, uint32_t thread, const struct tf_record *r)
{
	struct tl_split split = {r->start, TF_HOST_LAUNCH, TF_HOST_LAUNCH};
	uint32_t *typical = &t->call_typical[r->call];
	uint64_t ticks = tl_ticks_of(t, thread, r);

	if (r->flags & TF_FIRST) { /* a kernel's first launch: what it takes longer is loading */
		split.before = TF_HOST_MODULE;
		split.at = *typical && ticks > *typical ? r->end - *typical : r->start;
		return split;
	}
	if (r->result || t->mode == TF_GPU_OFF || r->flags & (TF_CAPTURED | TF_NO_ARGS))
		return split;
	return tl_plain_launch(t, thread, tl_stream(t, thread, r->stream, r->flags), r);
}

struct tl_split tl_submit(struct timeline *t, uint32_t thread, const struct tf_record *r,
                          enum tf_work_kind kind, uint32_t *typical)
{
	struct tl_split split = {r->start, TF_HOST_COPY, TF_HOST_COPY};
	uint64_t ticks = tl_ticks_of(t, thread, r);

	if (r->result || t->mode == TF_GPU_OFF || r->flags & (TF_CAPTURED | TF_NO_ARGS))
		return split;
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	struct tl_queue *q = &s->queues[cuda_engine(kind, cuda_copy_of(r))];
	tl_catch_up(t, s, q, r->start, r->end);
	bool full = tl_waited(t, s, q, r->end, ticks, *typical);
	if (full) {
		split.before = TF_HOST_SYNC_USEFUL;
		split.at = r->end - *typical;
	}
	tl_learn(typical, ticks, full || s->since_proof >= TL_QUEUE_FULL);
	return split;
}
