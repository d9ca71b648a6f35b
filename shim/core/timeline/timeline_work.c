/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_ops.h"

#include <math.h>

/* ---- ops ---- */

/* The place of an old op is wanted: no list may lead to it any more. */
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

/* Whether anything may still ask for an op, which is the oldest one. */
static bool is_in_use(struct timeline *t, const struct tl_op *op)
{
	const struct tl_stream *s = tl_op_stream(t, op);

	return op->flags & TL_OP_EVENT ||
	       (s && (s->head == op->id || s->book == op->id || s->tail == op->id ||
	              tl_is_back(s, op) || t->device[s->device].last == op->id));
}

/* Twice as many places: each op moves to the one that its id says now, or stays. */
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

/* A place for the next op. */
static struct tl_op *new_op(struct timeline *t)
{
	uint64_t id = ++t->last_op;
	struct tl_op *op = &t->ops[id & t->ops_mask];

	if (op->id && t->ops_mask < TL_OPS - 1 && is_in_use(t, op)) {
		double_ops(t);
		op = &t->ops[id & t->ops_mask];
	}
	if (op->id)
		forget(t, op);
	op->id = id;
	return op;
}

static void append(struct timeline *t, struct tl_stream *s, struct tl_op *op)
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

/* ---- where ---- */

/* The op of other streams that ends last of those it must wait for; 0 = none. */
static uint64_t other_wait(struct timeline *t, const struct tl_stream *s, const struct tl_op *op,
                           bool shared)
{
	uint64_t last = tl_later_op(t, s->wait, tl_legacy_wait(t, s));

	return shared ? tl_later_op(t, last, t->device[s->device].engine[op->engine]) : last;
}

/* The op, placed where it could start at once, moves behind what it waits for on the GPU. */
static void place_behind(struct timeline *t, struct tl_stream *s, struct tl_op *op, bool shared)
{
	const struct tl_op *before = tl_op(t, s->tail),
	                   *other = tl_op(t, other_wait(t, s, op, shared));
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

/* By estimate: after its call's return, and after what it waits for. */
static void place(struct timeline *t, struct tl_stream *s, struct tl_op *op,
                  const struct tf_record *r, uint64_t ticks, bool shared)
{
	op->ready = r->end + tl_start_latency(t);
	if (r->flags & TF_STALLED)
		op->ready += t->stall;
	op->start = op->ready;
	op->end = op->start + ticks;
	place_behind(t, s, op, shared);
}

/* A copy that its call waited for: it ended by the return, and all before it ended earlier. */
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

/* The copy takes as many of the driver's buffers as it needs, and is the last to have them. */
static void take_buffers(struct tl_device *d, const struct tl_op *op, struct cuda_copy copy)
{
	unsigned buffers = cuda_copy_buffers(copy);

	/* What holds its caller has taken all of them in turn. */
	for (unsigned i = buffers ? buffers : CUDA_STAGING_BUFFERS; i; i--) {
		d->staged[1] = d->staged[0];
		d->staged[0] = op->id;
	}
}

/*
 * A copy through the driver's buffers, which its call had the time from `from` on for. One to the
 * host begins then; one to the device ends a piece later than the call, or behind the work that it
 * did not wait for. False where its time is not known.
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
	if (cuda_copy_holds(tl_copy(r))) {
		s->loose = op->id;
		tl_awaited_by(t, s, op->start);
	} else {
		place_behind(t, s, op, true);
		op->flags &= (uint8_t)~TL_OP_CHAINED; /* its call tells no launch latency */
	}
	return true;
}

/* On the row of its stream. */
static void count_on(struct tf_stream *row, const struct tf_record *r, enum tf_work_kind kind)
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

struct tl_op *tl_issue(struct timeline *t, uint32_t thread, const struct tf_record *r,
                       enum tf_work_kind kind, struct tf_work *work, struct tl_delayed *exact,
                       uint64_t from)
{
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	struct tf_stream *row = tl_stream_row(t, s, t->threads[thread].device);
	struct tl_device *d = tl_device(t, s->device);
	struct tl_op *op = new_op(t);
	bool known, ends_last = false;

	op->entered = r->start;
	op->returned = r->end;
	op->booked = op->next = 0;
	op->thread = (uint16_t)thread;
	op->kind = (uint8_t)kind;
	op->engine = (uint8_t)cuda_engine(kind, tl_copy(r));
	op->flags = 0;
	op->kernel = kind == TF_WORK_KERNEL ? r->launch.kernel : 0;
	if (kind == TF_WORK_KERNEL && tl_is_comm(t, op->kernel))
		op->flags |= TL_OP_COMM;
	bool shared = kind == TF_WORK_COPY &&
	              cuda_engine_is_shared((enum cuda_engine)op->engine, r->copy.bytes);
	uint64_t ticks = tl_duration(t, work, &known);
	if (!known)
		op->flags |= TL_OP_UNKNOWN;
	if (exact && exact->gpu_end) {
		op->flags &= (uint8_t)~TL_OP_UNKNOWN;
		op->start = op->ready = exact->gpu_start;
		op->end = exact->gpu_end;
	} else if (t->mode == TF_GPU_SAMPLE && kind == TF_WORK_COPY &&
	           cuda_copy_is_staged(tl_copy(r)) && place_staged(t, s, op, r, from, work)) {
		op->flags &= (uint8_t)~TL_OP_UNKNOWN;
	} else if (kind == TF_WORK_COPY && cuda_copy_holds(tl_copy(r))) {
		place_blocking(t, s, op, r, ticks);
	} else {
		ends_last = d->last == s->tail; /* behind which it is placed */
		place(t, s, op, r, ticks, shared);
	}
	append(t, s, op);
	if (shared)
		d->engine[op->engine] = tl_later_op(t, d->engine[op->engine], op->id);
	if (kind == TF_WORK_COPY && r->copy.direction == SPY_DIR_HTOD &&
	    cuda_copy_is_staged(tl_copy(r)))
		take_buffers(d, op, tl_copy(r));
	if (known && !exact && tl_variance(t, work) > s->since_variance)
		s->since_variance = tl_variance(t, work);
	if (exact)
		exact->row = s->row;
	if (t->mode == TF_GPU_CUPTI) { /* booked from activities */
		s->book = 0;
		if (!exact || !exact->gpu_end)
			tl_exact_guess(t, op, exact);
	}
	const struct tl_op *last = ends_last ? NULL : tl_op(t, d->last);
	if (!last || tl_op_end(t, last) <= op->end)
		d->last = op->id;
	if (row)
		count_on(row, r, kind);
	return op;
}
