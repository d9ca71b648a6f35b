#include "shim/span.h"

#include <errno.h>
#include "shim/doze.h"
#include "shim/lifecycle.h"
#include "shim/thread.h"

__thread struct spy_tls spy_tls __attribute__((tls_model("initial-exec")));
union spy_gate_page spy_gate_page __attribute__((aligned(4096)));

/* ---- entry, the unusual ways ---- */

/*
 * Whether there is room for one record after a second look: at the tail, or in a larger ring. As
 * long as the ring is less than half full the thread takes it for half as large, so that it comes
 * here again when the collector has to be told.
 */
static bool ring_room(struct spy_tls *t)
{
	/* Acquire: the slot was read before the drain gave it back. Pairs with drain_all(). */
	uint64_t tail = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE), half = t->capacity / 2;

	if (t->head - tail < half) {
		t->tail_seen = tail - half;
		return true;
	}
	doze_end();
	t->tail_seen = tail;
	return ring_has_room(t) || thread_grow_ring(t);
}

/* An outermost span of an attached thread: its record in the ring, or where there is no room, in
 * the spare one. */
static void enter_recorded(struct spy_span *s, uint64_t start)
{
	struct spy_tls *t = &spy_tls;

	s->mode = SPAN_RECORDED;
	s->rec = ring_room(t) ? ring_next(t) : &t->spare;
	if (s->rec == &t->spare)
		s->unusual |= SPAN_NO_ROOM;
	spy_record_begin(s->rec, s->call, t->index, s->flags, start);
	__atomic_store_n(&t->thread->in_start, start, __ATOMIC_RELAXED);
	__atomic_store_n(&t->thread->in_call, s->call + 1u, __ATOMIC_RELAXED);
	if (!t->thread->first_call)
		t->thread->first_call = start;
}

/* No recording yet, a thread's first call, a forked child's first call, the ring full, or out of
 * the range asked for. */
void spy_enter_outermost(struct spy_span *s)
{
	int saved = errno;
	struct spy_tls *t = &spy_tls;
	bool on = spy_ready();

	if (on && (!t->thread || t->generation != spy_generation))
		on = thread_attach();
	if (on) {
		enter_recorded(s, spy_clock());
	} else {
		s->mode = SPAN_PASSIVE;
		s->rec = &t->spare;
		spy_record_begin(s->rec, s->call, 0, s->flags, spy_clock());
	}
	errno = saved;
}

/* A nested module load, allocation, wait or context call: its time is not its caller's own. */
void spy_enter_timed(struct spy_span *s)
{
	struct spy_tls *t = &spy_tls;

	if (t->timing_nested || t->outer->class == s->class || t->outer->mode != SPAN_RECORDED)
		return;
	t->timing_nested = true;
	s->mode = SPAN_TIMED;
	s->rec = &t->nested;
	spy_record_begin(s->rec, s->call, t->index, s->flags | TF_NESTED, spy_clock());
}

/* ---- return ---- */

static void count_failure(struct tf_thread *th, const struct spy_span *s, uint64_t end, int result)
{
	spy_count(&th->calls[s->call].failed, 1);
	for (unsigned i = 0; i < TF_FAILURES; i++) {
		struct tf_failure *f = &th->failures[i];
		if (f->count && (f->call != s->call || f->result != result))
			continue;
		if (!f->count) {
			f->call = s->call;
			f->result = result;
			f->first_tick = end;
		}
		spy_count(&f->count, 1);
		return;
	}
	spy_count_trouble(SPY_TROUBLE_FAILURES_FULL);
}

void spy_record_rest(struct spy_span *s, int result, uint64_t end)
{
	int saved = errno;
	struct spy_tls *t = &spy_tls;
	struct tf_thread *th = t->thread;
	uint64_t ticks = end - s->rec->start;

	s->rec->end = end;
	s->rec->result = (int16_t)result;
	if (s->unusual & SPAN_NO_ROOM)
		spy_count(&th->lost, 1);
	else
		ring_publish(t, s->rec);
	if (result == 0)
		spy_count_kind(th, s->class);
	if (result != 0 && result != SPY_NOT_READY && !spy_too_late(result))
		count_failure(th, s, end, result);
	if ((s->unusual & SPAN_FIRST_LAUNCH) && s->kernel)
		__atomic_store_n(&s->kernel->first_ticks, ticks, __ATOMIC_RELAXED);
	if (s->unusual & SPAN_STARTED_HERE)
		spy_window_begins(s->call, ticks, end);
	/* Release: as in spy_record_at(). */
	__atomic_store_n(&th->in_call, 0, __ATOMIC_RELEASE);
	errno = saved;
}

void spy_record(struct spy_span *s, int result)
{
	spy_record_at(s, s->call, s->class, result, spy_clock());
}

/* Where a call is under way its record is in the ring already, unseen: it moves on by a slot. */
void span_push_aside(const struct tf_record *r)
{
	struct spy_tls *t = &spy_tls;
	struct spy_span *o = t->depth && t->outer->mode == SPAN_RECORDED ? t->outer : NULL;

	if (!t->thread || (t->depth && !o))
		return;
	t->tail_seen = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE);
	if (o && o->rec != ring_next(t)) { /* it found no room itself */
		spy_count(&t->thread->lost, 1);
		return;
	}
	struct tf_record outer = o ? *o->rec : (struct tf_record){0};
	/* Room for two, if need be in a larger ring, where both go on. */
	if (t->head + 1 - t->tail_seen >= t->capacity && !thread_grow_ring(t)) {
		spy_count(&t->thread->lost, 1);
		return;
	}
	struct tf_record *slot = ring_next(t);
	*slot = *r;
	ring_publish(t, slot);
	if (!o)
		return;
	o->rec = ring_next(t);
	*o->rec = outer;
}

void spy_leave_timed(struct spy_span *s, int result)
{
	int saved = errno;
	struct spy_tls *t = &spy_tls;
	uint64_t end = spy_clock(), ticks = end - s->rec->start;

	t->timing_nested = false;
	if (t->outer->mode == SPAN_RECORDED && t->thread) {
		spy_count((uint64_t *)&t->thread->self_adjust[s->class], ticks);
		spy_count((uint64_t *)&t->thread->self_adjust[t->outer->class], -ticks);
		s->rec->end = end;
		s->rec->result = (int16_t)result;
		span_push_aside(&t->nested);
	}
	errno = saved;
}

/*
 * CUDA is up, inside the call `s`: from here on it counts, and what it launches, as the first of
 * all; its time and that of what it contains is start-up.
 */
void spy_first_call(struct spy_span *s)
{
	if (s->mode != SPAN_PASSIVE || !spy_in_range() || !thread_attach())
		return;
	enter_recorded(s, s->rec->start);
	s->unusual |= SPAN_STARTED_HERE;
}

/* ---- what it costs ---- */

uint64_t span_cost_x1024(struct tf_thread *scratch, struct tf_ring *ring)
{
	enum { ROUNDS = 24, CALLS = 64 };
	struct spy_tls saved = spy_tls;
	uint64_t best = UINT64_MAX;

	spy_tls = (struct spy_tls){.thread = scratch,
	                           .ring = ring,
	                           .slots = ring->slots,
	                           .capacity = ring->capacity,
	                           .generation = spy_generation};
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = spy_clock();
		for (int i = 0; i < CALLS; i++) {
			struct spy_span s;
			ring->tail = spy_tls.head;
			spy_enter(&s, 0, SPY_CLASS_OTHER, 0);
			if (s.mode !=
			    SPAN_RECORDED) /* the gate is shut just now: nothing to measure */
				s.mode = SPAN_NESTED;
			spy_leave(&s, 0, SPY_CLASS_OTHER, 0);
		}
		uint64_t ticks = spy_clock() - start;
		if (ticks < best)
			best = ticks;
	}
	spy_tls = saved;
	return best * 1024 / CALLS;
}
