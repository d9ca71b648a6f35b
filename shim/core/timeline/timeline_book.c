/* SPDX-License-Identifier: Apache-2.0 */
/* Booking: the ops of all streams of a device are counted in its busy time, in the order of their
 * start. */
#include "shim/core/timeline/timeline_busy.h"

static inline uint64_t next_start(struct timeline *t, const struct tl_stream *s)
{
	const struct tl_op *op = tl_op(t, s->book);

	return op ? tl_max(tl_start_on(s, op), op->booked) : UINT64_MAX;
}

static void deactivate(struct timeline *t, struct tl_stream *s)
{
	struct tl_device *d = &t->device[s->device];
	uint32_t place = s->active - 1;

	d->active[place] = d->active[--d->actives];
	t->streams[d->active[place] - 1].active = place + 1;
	s->active = 0;
}

static void sift_down(struct tl_turn *turns, uint32_t n, uint32_t at)
{
	struct tl_turn turn = turns[at];

	for (uint32_t child = 2 * at + 1; child < n; at = child, child = 2 * at + 1) {
		if (child + 1 < n && turns[child + 1].start < turns[child].start)
			child++;
		if (turns[child].start >= turn.start)
			break;
		turns[at] = turns[child];
	}
	turns[at] = turn;
}

/* Books the stream's next op, up to tick `until`; returns when the op after it starts, or
 * UINT64_MAX where there is none or this one is not done. */
static inline uint64_t book_next(struct timeline *t, struct tl_device *d, struct tl_stream *s,
                                 uint64_t until)
{
	struct tl_op *op = tl_op(t, s->book);
	uint64_t from = tl_start_on(s, op), end = from + (op->end - op->start);
	uint64_t start = tl_max(from, op->booked);
	const struct tl_piece piece = {.start = start,
	                               .end = tl_max(start, tl_min(end, until)),
	                               .returned = op->returned,
	                               .row = s->row,
	                               .thread = op->thread,
	                               .device = s->device,
	                               .kind = op->kind,
	                               .flags = op->flags};

	if (!(op->flags & TL_OP_COUNTED))
		tl_count_piece(t, d->time, &piece, op->kernel, !(op->flags & TL_OP_UNKNOWN));
	op->flags |= TL_OP_COUNTED;
	if (op->kind == TF_WORK_KERNEL && !(op->flags & TL_OP_COMM))
		tl_book_piece(t, d, &piece, false, false);
	else
		tl_book(t, &piece);
	if (t->watch)
		tl_tell_op(t, op, &piece, end <= until);
	op->booked = piece.end;
	if (end > until)
		return UINT64_MAX;
	s->book = op->next;
	return next_start(t, s);
}

/* Whether the device last ran kernels alone, none of communication. */
static bool ran_kernels(const struct tl_device *d)
{
	return d->until[TL_OWN] == d->until[TL_ANY] && d->until[TL_KERNEL] == d->until[TL_ANY];
}

/*
 * book_next() for several ops at once: for the stream's next kernels that start before `limit`, on
 * a device that ran nothing but kernels, sums are added once. Returns when the next op starts, as
 * book_next() does.
 */
static uint64_t book_kernels(struct timeline *t, struct tl_device *d, struct tl_stream *s,
                             uint64_t until, uint64_t limit)
{
	struct tf_device_time *time = d->time;
	const uint64_t latency = tl_start_latency(t);
	uint64_t at = d->until[TL_ANY], ticks = 0, guessed = 0, next = next_start(t, s);
	bool some = false;

	if (!time || t->watch || !ran_kernels(d))
		return next;
	while (next < limit) {
		struct tl_op *op = &t->ops[s->book & t->ops_mask];
		const uint64_t start = next, end = tl_end_on(s, op),
		               to = tl_max(start, tl_min(end, until));
		const struct tl_piece piece = {.start = start,
		                               .end = to,
		                               .returned = op->returned,
		                               .thread = op->thread,
		                               .kind = TF_WORK_KERNEL};
		if (op->kind != TF_WORK_KERNEL || op->flags & (TL_OP_COMM | TL_OP_NODE) ||
		    !op->returned)
			break;
		if (!(op->flags & TL_OP_COUNTED))
			tl_count_piece(t, time, &piece, op->kernel, !(op->flags & TL_OP_UNKNOWN));
		op->flags |= TL_OP_COUNTED;
		tl_busy_within(t, d, tl_min(start, at), to);
		if (start > at) {
			if (at >= op->returned + latency) /* as most do, one behind the other */
				tl_idle_for(t, d, TF_IDLE_DEPENDENCY, at, start);
			else
				tl_book_idle(t, d, &piece, at, start);
			at = d->begun = start;
		}
		const uint64_t from = tl_min(tl_max(tl_max(start, d->begun), at), to);
		if (from < to) {
			tl_busy_add(t, d, offsetof(struct tf_busy, busy), from, to);
			tl_busy_add(t, d, offsetof(struct tf_busy, kernels), from, to);
		}
		at = tl_max(at, to);
		ticks += to - start;
		guessed += op->flags & TL_OP_UNKNOWN ? to - start : 0;
		op->booked = to;
		some = true;
		if (end > until) {
			next = UINT64_MAX;
			break;
		}
		s->book = op->next;
		next = next_start(t, s);
	}
	time->work_ticks += ticks;
	time->guessed_ticks += guessed;
	if (s->row)
		s->row->kernel_ticks += ticks;
	if (some)
		time->until = d->until[TL_ANY] = d->until[TL_OWN] = d->until[TL_KERNEL] = at;
	return next;
}

void tl_book_streams(struct timeline *t, unsigned device, uint64_t until)
{
	struct tl_device *d = tl_device(t, device);
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->actives; i++) {
		uint64_t start = next_start(t, &t->streams[d->active[i] - 1]);
		if (start < until)
			t->turns[n++] = (struct tl_turn){start, d->active[i]};
	}
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(t->turns, n, i);
	while (n) {
		struct tl_stream *s = &t->streams[t->turns[0].stream - 1];
		uint64_t limit = until;
		for (uint32_t next = 1; next < n && next <= 2; next++)
			limit = tl_min(limit, t->turns[next].start + 1);
		/* The stream goes on as long as no other has an op that starts earlier. */
		uint64_t start = book_kernels(t, d, s, until, limit);
		while (start < limit && (start = book_next(t, d, s, until)) < limit)
			start = book_kernels(t, d, s, until, limit);
		if (start < until)
			t->turns[0].start = start;
		else
			t->turns[0] = t->turns[--n];
		sift_down(t->turns, n, 0);
	}
	for (uint32_t i = d->actives; i-- > 0;) {
		struct tl_stream *s = &t->streams[d->active[i] - 1];
		tl_retire(t, s, until);
		if (!s->head && !s->book)
			deactivate(t, s);
	}
}
