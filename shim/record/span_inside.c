/* SPDX-License-Identifier: Apache-2.0 */
/* Calls inside calls: those by which the runtime carries out a call, and those that the program
 * makes in a signal handler or a callback. */
#include "shim/record/span_internal.h"

#include <errno.h>
#include <signal.h>
#include "shim/base/sys.h"
#include "shim/record/thread.h"

/* ---- entry ---- */

/* A nested module load, allocation, wait or context call: its time is told apart from its caller's.
 */
void spy_enter_timed(struct spy_span *s)
{
	struct spy_tls *t = &spy_tls;

	if (t->timing_nested || t->outer->cls == s->cls || !is_root_recorded(t->outer) ||
	    spy_gate_page.gate.live != t->generation)
		return;
	t->timing_nested = true;
	s->mode = SPAN_TIMED;
	s->below = t->outer;
	s->rec = &t->nested;
	spy_record_begin(s->rec, s->call, t->index, s->flags | TF_NESTED, spy_clock());
}

/* Functions that read spans which may be dead: their stack memory may have been used again, which
 * AddressSanitizer would report. */
#define LOOKS_AT_DEAD __attribute__((no_sanitize_address))

/*
 * Whether a span is dead: a longjmp or an exception left it, so it never returns. It is if its mark
 * was overwritten, or if the stack pointer is above it now, unless this is a signal handler on a
 * stack of its own.
 */
LOOKS_AT_DEAD static bool is_dead(const struct spy_span *o, const struct spy_span *s)
{
	stack_t stack;

	if (o->mark != SPAN_MARK)
		return true;
	if ((uintptr_t)s < (uintptr_t)o)
		return false;
	return syscall(SYS_sigaltstack, NULL, &stack) || !(stack.ss_flags & SS_ONSTACK);
}

LOOKS_AT_DEAD static void forget(struct spy_tls *t)
{
	struct spy_span *o = t->outer;

	/* Of an overwritten span `below` is unknown, so spans around it are forgotten too; one that
	 * returns all the same is counted by span_leave_overtaken(). */
	if (o->mark == SPAN_MARK && !spy_is_outermost(o)) {
		t->outer = o->below;
		return;
	}
	t->outer = NULL;
	t->timing_nested = false;
	if (spy_gate_page.gate.live != t->generation)
		return;
	__atomic_store_n(&t->thread->in_call, 0, __ATOMIC_RELAXED);
	spy_count_anomaly(SPY_ANOMALY_LEFT);
}

/* The outermost span under way. */
static struct spy_span *root_of(const struct spy_tls *t)
{
	struct spy_span *o = t->outer;

	while (!spy_is_outermost(o))
		o = o->below;
	return o;
}

static bool is_steady(const struct spy_tls *t)
{
	const struct spy_span *o = t->outer;

	return o->real && (spy_is_outermost(o) || (o->unusual & SPAN_STEADY));
}

static void enter_in(struct spy_tls *t, struct spy_span *s)
{
	s->mode = spy_gate_page.gate.live == t->generation ? SPAN_INSIDE : SPAN_UNSEEN;
	s->below = t->outer;
	if (is_steady(t))
		s->unusual |= SPAN_STEADY;
	s->rec = &s->own;
	spy_record_begin(s->rec, s->call, t->index, s->flags | TF_NESTED | TF_OWN, spy_clock());
	spy_in_order();
	t->outer = s;
}

LOOKS_AT_DEAD void spy_enter_inside(struct spy_span *s)
{
	struct spy_tls *t = &spy_tls;
	int saved = errno;

	while (t->outer && t->outer->mode != SPAN_OURS && is_dead(t->outer, s))
		forget(t);
	errno = saved;
	if (!t->outer) {
		t->outer = s;
		spy_enter_outermost(s);
	} else if (t->outer->mode == SPAN_OURS ||
	           (s->call < SPY_DRIVER_CALLS && spy_is_nested(t, s, s->cls))) {
		t->outer->real = 0;
		s->mode = SPAN_NESTED;
	} else {
		enter_in(t, s);
	}
}

/* ---- return ---- */

/* Puts a record into the ring. The outermost call's record, which is being written in the next
 * slot, moves on by one. */
static void push(const struct tf_record *r, struct spy_span *root)
{
	struct spy_tls *t = &spy_tls;

	if (root && root->rec != ring_next(t)) { /* it found no room itself */
		spy_count(&t->thread->lost, 1);
		return;
	}
	/* Room for both, if need be in a larger ring. */
	struct tf_record outer = root ? *root->rec : (struct tf_record){0};
	t->limit = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE) + t->ring->capacity;
	if (t->limit - t->head < 2 && !thread_grow_ring(t)) {
		spy_count(&t->thread->lost, 1);
		return;
	}
	struct tf_record *slot = ring_next(t);
	*slot = *r;
	ring_publish(t, slot);
	if (!root)
		return;
	root->rec = ring_next(t);
	*root->rec = outer;
}

void span_push_aside(const struct tf_record *r)
{
	struct spy_tls *t = &spy_tls;
	struct spy_span here = {.mode = SPAN_PASSIVE, .mark = SPAN_MARK, .rec = &t->spare};

	if (t->outer) {
		struct spy_span *root = root_of(t);
		if (root->mode == SPAN_OURS && spy_still_open()) /* no record is being written */
			push(r, NULL);
		else if (is_root_recorded(root) && spy_still_open())
			push(r, root);
		return;
	}
	if (t->generation != spy_generation)
		return;
	/* A signal handler that calls CUDA meanwhile must not write to the same slot. */
	here.unusual = SPAN_SETTLED;
	t->outer = &here;
	spy_in_order();
	if (spy_still_open())
		push(r, NULL);
	spy_in_order();
	t->outer = NULL;
}

void span_leave_timed(struct spy_span *s, int result)
{
	struct spy_tls *t = &spy_tls;
	uint64_t end = spy_clock(), ticks = end - s->rec->start;

	/* Else its caller was taken for dead, and `nested` may be in use by another call. */
	if (t->outer != s->below || !t->timing_nested)
		return;
	t->timing_nested = false;
	if (!is_root_recorded(t->outer))
		return;
	spy_count((uint64_t *)&t->thread->self_adjust[s->cls], ticks);
	spy_count((uint64_t *)&t->thread->self_adjust[t->outer->cls], -ticks);
	s->rec->end = end;
	s->rec->result = (int16_t)result;
	span_push_aside(&t->nested);
}

void span_leave_inside(struct spy_span *s, int result)
{
	struct spy_tls *t = &spy_tls;
	struct spy_span *o = s->below, *root = root_of(t);
	uint64_t end = spy_clock(), ticks = end - s->rec->start;

	if (spy_recording(s)) {
		struct tf_thread *th = t->thread;
		bool recorded = is_root_recorded(root);
		spy_count_call(th, s, s->call, s->cls, ticks, end);
		span_count_rest(th, s, result, ticks, end);
		if (spy_recording(o))
			spy_count((uint64_t *)&th->self_adjust[o->cls], -ticks);
		s->own.end = end;
		s->own.result = (int16_t)result;
		s->own.thread = t->index;
		if (!recorded)
			s->own.flags &= (uint16_t) ~(TF_NESTED | TF_OWN);
		if (s->unusual & SPAN_STEADY)
			push(&s->own, recorded ? root : NULL);
		else
			spy_count(&th->lost, 1);
	} else if (!(s->unusual & SPAN_SETTLED) && spy_ask(false) == SPY_ON) {
		spy_lose_call(); /* there was no slot for this thread */
	}
	t->outer = o;
}

/*
 * The real function of `s` returned, though `s` was taken for dead: as happens to coroutines that
 * are switched during their calls. It continues as a call of its own. The slot of its record was
 * used again, and with it the time of its entry is lost, except of SPAN_INSIDE, whose record is its
 * own.
 */
void span_comes_back(struct spy_span *s)
{
	struct spy_tls *t = &spy_tls;
	int saved = errno;

	if (!spy_recording(s) || t->generation != spy_generation ||
	    spy_gate_page.gate.live != t->generation)
		return;
	uint64_t start = s->mode == SPAN_INSIDE ? s->own.start : spy_clock();
	s->mode = SPAN_SLOWLY;
	s->unusual |= SPAN_NO_ROOM;
	s->rec = &t->spare;
	spy_record_begin(s->rec, s->call, t->index, s->flags, start);
	t->outer = s;
	errno = saved;
}

/* As span_comes_back(): its entry's time is known only of SPAN_INSIDE. */
static void count_overtaken(struct spy_span *s, int result, uint64_t end)
{
	struct tf_thread *th = spy_tls.thread;
	uint64_t ticks = 0;

	if (s->mode == SPAN_INSIDE) {
		ticks = end - s->own.start;
		spy_count_call(th, s, s->call, s->cls, ticks, end);
	} else {
		spy_count(&th->calls[s->call].calls, 1);
		s->unusual &= (uint8_t)~SPAN_FIRST_LAUNCH; /* nobody knows how long it took */
	}
	span_count_rest(th, s, result, ticks, end);
	spy_count(&th->lost, 1);
}

void span_leave_overtaken(struct spy_span *s, int result)
{
	struct spy_tls *t = &spy_tls;

	if (t->generation == spy_generation && spy_gate_page.gate.live == t->generation &&
	    spy_recording(s))
		count_overtaken(s, result, spy_clock());
	else if (!(s->unusual & SPAN_SETTLED) && spy_ask(false) == SPY_ON)
		spy_lose_call();
	/* Spans may have this one as `below`: each of them is on its own now. */
	spy_in_order();
	t->outer = NULL;
	t->timing_nested = false;
}
