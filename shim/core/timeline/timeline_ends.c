/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_ops.h"

/* Moves ops line[0..n) to earlier times so that all end by tick `by`; none starts before `from`. */
static void move_ahead(struct timeline *t, uint32_t n, uint64_t from, uint64_t by)
{
	uint64_t limit = by;

	for (uint32_t i = n; i-- > 0;) {
		struct tl_op *op = &t->ops[t->line[i]];
		uint64_t ticks = op->end - op->start;
		if (op->end <= limit)
			break; /* neither it nor those before it are in the way */
		op->flags |= TL_OP_CUT;
		op->end = limit;
		op->start = tl_max(limit - tl_min(limit, ticks), tl_min(op->entered, limit));
		limit = op->start;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct tl_op *op = &t->ops[t->line[i]];
		op->start = tl_max(op->start, tl_min(from, by));
		op->end = tl_max(op->end, op->start);
		from = op->end;
	}
}

void tl_finished(struct timeline *t, struct tl_stream *s, uint64_t last, uint64_t by)
{
	const uint64_t before = s->settled;
	uint32_t n = 0;
	uint64_t was = 0;
	struct tl_op *op = tl_op(t, s->head);

	for (; op && op->id <= last && n < TL_OPS; op = tl_op(t, s->head)) {
		tl_end_first(s, op);
		was = op->end;
		t->line[n++] = (uint32_t)(op - t->ops);
	}
	if (n && was > by) {
		move_ahead(t, n, before, by);
		s->settled = tl_max(before, by);
		if (op) { /* ops behind them move to an earlier time too, none before its call */
			s->shift -= (int64_t)(was - by);
			s->loose = s->tail;
		}
	}
	if (!op) {
		s->since_ticks = s->since_proof = s->unknown = 0;
		s->since_variance = 0;
		for (int i = 0; i < CUDA_ENGINES; i++)
			s->queues[i].proof = s->queues[i].entries;
	}
}

/* Moves op `next` to tick `from`, and those behind it later as far as it pushes them. */
static void move_back(struct timeline *t, const struct tl_stream *s, struct tl_op *next,
                      uint64_t from)
{
	while (next && tl_start_on(s, next) < from) {
		const struct tl_op *moved = next;
		next->end = from + (next->end - next->start);
		next->start = from;
		next->shift = s->shift;
		next = tl_op(t, next->next);
		from = next ? moved->end + tl_space(t, moved, next->engine) : 0;
	}
}

/* `op` ends later than it was estimated: ops behind it on its stream start later, and those of them
 * that counted as ended are outstanding again. */
static void push_back(struct timeline *t, struct tl_stream *s, const struct tl_op *op)
{
	struct tl_op *next = tl_op(t, op->next);
	uint64_t from = next ? op->end + tl_space(t, op, next->engine) : 0;

	if (!next || tl_start_on(s, next) >= from)
		return;
	for (struct tl_op *done = tl_op(t, op->next); done && done->id != s->head;
	     done = tl_op(t, done->next)) {
		done->flags &= (uint8_t)~TL_OP_SETTLED;
		done->shift = s->shift;
		s->queues[done->engine].outstanding++;
	}
	s->head = op->next;
	if (s->loose > next->id)
		move_back(t, s, next, from);
	else /* no gap between them: all move by as much */
		s->shift += (int64_t)(from - tl_start_on(s, next));
}

void tl_extend(struct timeline *t, struct tl_op *op, uint64_t end)
{
	struct tl_stream *s = tl_op_stream(t, op);

	/* It and all before it. */
	for (struct tl_op *first = s ? tl_op(t, s->head) : NULL; first && first->id <= op->id;
	     first = tl_op(t, s->head))
		tl_end_first(s, first);
	if (s && !(op->flags & TL_OP_SETTLED))
		tl_settle(s, op);
	if (op->end >= end)
		return;
	if (s && (!s->book || s->book > op->id)) {
		s->book = op->id;
		op->booked = tl_max(op->booked, op->end);
		tl_activate(t, s);
	}
	op->end = end;
	op->flags |= TL_OP_CUT;
	if (s) {
		s->settled = tl_max(s->settled, end);
		push_back(t, s, op);
	}
}
