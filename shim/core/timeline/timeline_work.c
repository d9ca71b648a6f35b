/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_issue.h"

#include <math.h>

/* ---- ops ---- */

/* The op's memory is wanted for another: removes it from its stream's lists. */
static void forget(struct timeline *t, struct tl_op *op)
{
	struct tl_stream *s = tl_op_stream(t, op);

	if (!s)
		return;
	tl_unqueued(t, s, op);
	if (s->head == op->id)
		s->head = op->next;
	if (s->book == op->id) {
		s->book = op->next;
		tf_header(t->map)->anomaly[SPY_ANOMALY_TIMELINE]++;
	}
	if (s->tail == op->id)
		s->tail = 0;
}

/* Whether anything still refers to the op, which is the oldest one. */
static bool is_in_use(struct timeline *t, const struct tl_op *op)
{
	const struct tl_stream *s = tl_op_stream(t, op);

	return op->flags & TL_OP_EVENT ||
	       (s && (s->head == op->id || s->book == op->id || s->tail == op->id ||
	              tl_is_back(s, op) || t->device[s->device].last == op->id));
}

/* Doubles ops_mask + 1: the ops whose id has the new bit move up. */
static void double_ops(struct timeline *t)
{
	uint64_t places = t->ops_mask + 1;

	t->ops_mask = 2 * places - 1;
	for (uint64_t i = 0; i < places; i++) {
		struct tl_op *op = &t->ops[i];
		if (!(op->id & places))
			continue;
		t->ops[i + places] = *op;
		op->id = 0;
	}
}

struct tl_op *tl_take_place(struct timeline *t, struct tl_op *op, uint64_t id)
{
	if (t->ops_mask < TL_OPS - 1 && is_in_use(t, op)) {
		double_ops(t);
		op = &t->ops[id & t->ops_mask];
	}
	if (op->id)
		forget(t, op);
	return op;
}

/* ---- start and end ---- */

/* A copy that its call waited for: it ended by the call's return, and ops before it ended earlier.
 */
static void place_blocking(struct timeline *t, struct tl_stream *s, struct tl_op *op,
                           const struct tf_record *r, uint64_t ticks)
{
	uint64_t end = tl_max(r->start, r->end - tl_min(r->end - r->start, tl_return_latency(t)));

	op->start = end - tl_min(end - r->start, ticks);
	op->end = end;
	op->ready = r->start;
	s->loose = op->id;
	tl_awaited_by(t, s, op->start);
}

/* The copy is now the last user of as many of the driver's staging buffers as it needs. */
static void take_buffers(struct tl_device *d, const struct tl_op *op, struct cuda_copy copy)
{
	unsigned buffers = cuda_copy_buffers(copy);

	/* A copy that holds its caller went through all of them in turn. */
	for (unsigned i = buffers ? buffers : CUDA_STAGING_BUFFERS; i; i--) {
		d->staged[1] = d->staged[0];
		d->staged[0] = op->id;
	}
}

/* The call of a copy to the device that found free buffers, as it would have been on an idle
 * stream, ns. */
static double call_alone(struct timeline *t, const struct tl_stream *s, const struct tf_record *r)
{
	const struct tl_op *ahead = tl_op(t, s->tail);
	uint64_t from = ahead ? tl_min(tl_max(r->start, tl_op_end(t, ahead)), r->end) : r->start;

	return estimate_staged_ahead(&t->costs.bus[0], (double)r->copy.bytes,
	                             (double)(r->end - from) / t->ticks_per_ns,
	                             (double)(from - r->start) / t->ticks_per_ns);
}

/*
 * A copy of pageable memory, staged through the driver's buffers by its own call, which did so from
 * tick `from` on. To the host, it starts then. To the device, the GPU moves the last piece after
 * the call returned; if the call did not wait for earlier work, the copy also comes behind that.
 * False where the bus' speed is not known.
 */
static bool place_staged(struct timeline *t, struct tl_stream *s, struct tl_op *op,
                         const struct tf_record *r, uint64_t from, struct tf_work *work)
{
	bool to_host = r->copy.direction == SPY_DIR_DTOH;
	const struct estimate_bus *bus = &t->costs.bus[to_host];
	double items = r->copy.items ? r->copy.items : 1, bytes = (double)r->copy.bytes / items;

	tl_look_at_bus(t);
	if (r->flags & TF_STALLED)
		from += t->stall;
	from = tl_min(tl_max(from, r->start), r->end);
	double call = (double)(r->end - from) / t->ticks_per_ns;
	if (!to_host && items == 1 && from == r->start)
		call = call_alone(t, s, r);
	double ns = estimate_staged(bus, to_host, bytes, call / items).ns * items;
	if (work)
		work->staged_ns += call;
	if (isnan(ns))
		return false;
	uint64_t ticks = tl_ticks(t, ns);
	if (to_host) {
		uint64_t spare = r->end - from - tl_min(ticks, r->end - from);
		op->start = from + tl_min(tl_start_latency(t), spare);
		op->end = tl_min(op->start + ticks, r->end);
	} else {
		op->end = r->end + tl_ticks(t, estimate_last_piece(bus, bytes, call / items));
		op->start = tl_max(from, op->end - tl_min(ticks, op->end));
	}
	op->ready = op->start;
	if (cuda_copy_holds(cuda_copy_of(r))) {
		s->loose = op->id;
		tl_awaited_by(t, s, op->start);
	} else {
		tl_place_behind(t, s, op, true);
		op->flags &= (uint8_t)~TL_OP_CHAINED; /* a wait for it tells no launch latency */
	}
	return true;
}

struct tl_op *tl_issue(struct timeline *t, uint32_t thread, const struct tf_record *r,
                       enum tf_work_kind kind, struct tf_work *work, struct tl_delayed *exact,
                       uint64_t from)
{
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	struct tf_stream *row = tl_stream_row(t, s, t->threads[thread].device);
	struct tl_device *d = tl_device(t, s->device);
	struct tl_op *op = tl_begin_op(t, thread, r, kind, cuda_engine(kind, cuda_copy_of(r)));
	bool known, ends_last = false;

	bool shared = kind == TF_WORK_COPY &&
	              cuda_engine_is_shared((enum cuda_engine)op->engine, r->copy.bytes);
	uint64_t ticks = tl_duration(t, work, &known);
	if (t->watch)
		ticks = t->watch->duration(t->watch->to, thread, r, work, ticks, &known);
	if (!known)
		op->flags |= TL_OP_UNKNOWN;
	if (exact && exact->gpu_end) {
		op->flags &= (uint8_t)~TL_OP_UNKNOWN;
		op->start = op->ready = exact->gpu_start;
		op->end = exact->gpu_end;
	} else if (t->mode == TF_GPU_SAMPLE && kind == TF_WORK_COPY &&
	           cuda_copy_is_staged(cuda_copy_of(r)) && place_staged(t, s, op, r, from, work)) {
		op->flags &= (uint8_t)~TL_OP_UNKNOWN;
	} else if (tl_holds(r, kind)) {
		place_blocking(t, s, op, r, ticks);
	} else {
		ends_last = d->last == s->tail; /* the op that it is placed behind */
		tl_put(t, s, op, r, ticks, shared);
	}
	tl_append(t, s, op);
	if (shared)
		d->engine[op->engine] = tl_later_op(t, d->engine[op->engine], op->id);
	if (kind == TF_WORK_COPY && r->copy.direction == SPY_DIR_HTOD &&
	    cuda_copy_is_staged(cuda_copy_of(r)))
		take_buffers(d, op, cuda_copy_of(r));
	if (known && !exact)
		tl_note_variance(t, s, work);
	if (exact)
		exact->row = s->row;
	if (t->mode == TF_GPU_CUPTI) { /* booked from activities */
		s->book = 0;
		if (!exact || !exact->gpu_end)
			tl_exact_guess(t, op, exact);
	}
	tl_note_last(t, d, op, ends_last);
	if (row)
		tl_count_on(row, r, kind);
	return op;
}
