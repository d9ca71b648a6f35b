#include "shim/record/span.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include "shim/base/collector_wait.h"
#include "shim/base/sys.h"
#include "shim/record/thread.h"

__thread struct spy_tls spy_tls
        __attribute__((tls_model(SPY_TLS_MODEL), aligned(64))) = {.generation = SPY_NO_GENERATION};
static struct tf_record no_record = {.flags = TF_NO_ARGS};
struct spy_span spy_nobody = {.rec = &no_record,
                              .mark = SPAN_MARK,
                              .call = SPY_CALLS,
                              .cls = SPY_CLASS_OTHER,
                              .mode = SPAN_PASSIVE};

/* ---- entry, the unusual ways ---- */

/* The room that there is, by the tail as it stands; as long as the ring is less than half full the
 * thread takes it for half as large, so that it comes here again when the collector has to be told:
 * then true. */
bool ring_look(struct spy_tls *t)
{
	/* Acquire: the slot was read before the drain gave it back. Pairs with drain_all(). */
	uint64_t tail = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE),
	         half = t->ring->capacity / 2;
	bool half_full = t->head - tail >= half;

	t->limit = tail + (half_full ? t->ring->capacity : half);
	return half_full;
}

/* Whether there is room for one record after a second look: at the tail, or in a larger ring. */
static bool ring_room(struct spy_tls *t)
{
	if (ring_look(t))
		collector_wait_end();
	return ring_has_room(t) || thread_grow_ring(t);
}

/* An outermost span of an attached thread: its record in the ring, or where there is no room, in
 * the spare one. */
static void enter_recorded(struct spy_span *s, uint64_t start)
{
	struct spy_tls *t = &spy_tls;

	s->mode = spy_clock_is_counter() ? SPAN_RECORDED : SPAN_SLOWLY;
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
	enum spy_answer answer = spy_ask(true);

	if (answer == SPY_ON && thread_attach()) {
		enter_recorded(s, spy_clock());
	} else {
		s->mode = SPAN_PASSIVE;
		if (answer != SPY_NOT_YET)
			s->unusual |= SPAN_SETTLED;
		s->rec = &t->spare;
		spy_record_begin(s->rec, s->call, 0, s->flags, spy_clock());
	}
	errno = saved;
}

/* An outermost span whose record is under way in the ring, or in the spare one. */
static bool is_root_recorded(const struct spy_span *o)
{
	return o->mode == SPAN_RECORDED || o->mode == SPAN_SLOWLY;
}

/* A nested module load, allocation, wait or context call: its time is not its caller's own. */
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

/* ---- calls inside calls ---- */

/*
 * Whether a span never returned: a longjmp, or an exception, led out of it. Surely so if something
 * was written over it, or if the thread is further up its stack; but a signal's handler may have a
 * stack of its own.
 */
static bool is_dead(const struct spy_span *o, const struct spy_span *s)
{
	stack_t stack;

	if (o->mark != SPAN_MARK)
		return true;
	if ((uintptr_t)s < (uintptr_t)o)
		return false;
	return syscall(SYS_sigaltstack, NULL, &stack) || !(stack.ss_flags & SS_ONSTACK);
}

static void forget(struct spy_tls *t)
{
	struct spy_span *o = t->outer;

	/* What was written over says nothing of what it lay in: one that comes back all the same is
	 * counted by leave_overtaken(). */
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

void spy_enter_inside(struct spy_span *s)
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

/* ---- what is recorded after all ---- */

/* The recording began during the call: it counts, from its own entry on. */
static bool catch_up(struct spy_span *s, bool may_wait)
{
	if ((s->unusual & SPAN_SETTLED) || spy_ask(may_wait) != SPY_ON)
		return false;
	if (!thread_attach()) {
		s->unusual |= SPAN_SETTLED;
		return false;
	}
	if (s->mode == SPAN_PASSIVE)
		enter_recorded(s, s->rec->start);
	return true;
}

/* The parent's, or cut short. */
static void give_up(struct spy_span *o)
{
	o->unusual |= SPAN_SETTLED;
	o->kernel = NULL;
	o->copy = NULL;
	if (o->mode == SPAN_INSIDE) {
		o->mode = SPAN_UNSEEN;
	} else if (is_root_recorded(o)) {
		o->mode = SPAN_PASSIVE;
		o->rec = &spy_tls.spare;
	}
}

void spy_look_again(void)
{
	struct spy_span *o = spy_tls.outer;
	int saved = errno;

	if (!o) /* it was taken for dead */
		return;
	if (o->mode == SPAN_PASSIVE)
		catch_up(o, false);
	else if (o->mode == SPAN_UNSEEN && catch_up(o, false))
		o->mode = SPAN_INSIDE;
	else if (spy_recording(o) && !spy_still_open())
		give_up(o);
	errno = saved;
}

void spans_after_fork(void)
{
	struct spy_tls *t = &spy_tls;

	for (struct spy_span *o = t->outer; o; o = spy_is_outermost(o) ? NULL : o->below)
		if (o->mode != SPAN_BEGINS) /* which may be the call that brought us here */
			give_up(o);
	t->timing_nested = false;
}

/* ---- return ---- */

static void count_failure(struct tf_thread *th, const struct spy_span *s, uint64_t end, int result)
{
	if (result == 0 || result == SPY_NOT_READY || spy_too_late(result))
		return;
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
	spy_count_anomaly(SPY_ANOMALY_FAILURES_FULL);
}

/* What a call's figures have beside its count and its time. */
static void count_rest(struct tf_thread *th, struct spy_span *s, int result, uint64_t ticks,
                       uint64_t end)
{
	if (result == 0)
		spy_count_kind(th, s->cls);
	count_failure(th, s, end, result);
	if ((s->unusual & SPAN_FIRST_LAUNCH) && s->kernel)
		__atomic_store_n(&s->kernel->first_ticks, ticks, __ATOMIC_RELAXED);
	if (s->unusual & SPAN_STARTED_HERE)
		spy_window_begins(s->call, s->cls, ticks, end);
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
	count_rest(th, s, result, ticks, end);
	/* Release: as in spy_record_at(). */
	__atomic_store_n(&th->in_call, 0, __ATOMIC_RELEASE);
	errno = saved;
}

void spy_record(struct spy_span *s, int result)
{
	spy_record_at(s, s->call, s->cls, result, spy_clock());
}

/* The root's record, where it is under way in the ring, moves on by a slot. */
static void push(const struct tf_record *r, struct spy_span *root)
{
	struct spy_tls *t = &spy_tls;

	if (root && root->rec != ring_next(t)) { /* it found no room itself */
		spy_count(&t->thread->lost, 1);
		return;
	}
	/* Room for two, if need be in a larger ring, where both go on. */
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
		if (root->mode == SPAN_OURS && spy_still_open()) /* nobody comes between */
			push(r, NULL);
		else if (is_root_recorded(root) && spy_still_open())
			push(r, root);
		return;
	}
	if (t->generation != spy_generation)
		return;
	/* A signal's handler that calls CUDA meanwhile must not take the slot. */
	here.unusual = SPAN_SETTLED;
	t->outer = &here;
	spy_in_order();
	if (spy_still_open())
		push(r, NULL);
	spy_in_order();
	t->outer = NULL;
}

static void leave_timed(struct spy_span *s, int result)
{
	struct spy_tls *t = &spy_tls;
	uint64_t end = spy_clock(), ticks = end - s->rec->start;

	/* Else what it was part of was taken for dead, and `nested` may be another's by now. */
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

/* Counted as any call; its time is none of the one that it lies in. Its record finds a place only
 * where nothing of ours was interrupted. */
static void leave_inside(struct spy_span *s, int result)
{
	struct spy_tls *t = &spy_tls;
	struct spy_span *o = s->below, *root = root_of(t);
	uint64_t end = spy_clock(), ticks = end - s->rec->start;

	if (spy_recording(s)) {
		struct tf_thread *th = t->thread;
		bool recorded = is_root_recorded(root);
		spy_count_call(th, s, s->call, s->cls, ticks, end);
		count_rest(th, s, result, ticks, end);
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
		spy_lose_call(); /* for want of a slot */
	}
	t->outer = o;
}

static void leave_passive(struct spy_span *s, int result)
{
	uint64_t end = spy_clock();

	if (catch_up(s, true))
		spy_record_at(s, s->call, s->cls, result, end);
	else if (!(s->unusual & SPAN_SETTLED) && spy_starting())
		spy_lose_call(); /* it takes too long */
	spy_in_order();
	spy_tls.outer = NULL;
}

/* It was taken for dead, and was not: a stack of the program's own making. */
static void leave_overtaken(struct spy_span *s)
{
	struct spy_tls *t = &spy_tls;

	if (!is_root_recorded(s) || spy_gate_page.gate.live != t->generation)
		return;
	spy_count(&t->thread->calls[s->call].calls, 1);
	spy_count(&t->thread->lost, 1);
}

void spy_leave_unusual(struct spy_span *s, int result)
{
	struct spy_tls *t = &spy_tls;
	int saved = errno;

	if (s->mode == SPAN_TIMED) {
		leave_timed(s, result);
		spy_real_goes_on();
	} else if (t->outer != s) {
		leave_overtaken(s);
	} else if (s->mode == SPAN_INSIDE || s->mode == SPAN_UNSEEN) {
		leave_inside(s, result);
	} else if (s->mode == SPAN_SLOWLY) {
		spy_record(s, result);
		spy_in_order();
		t->outer = NULL;
	} else {
		leave_passive(s, result);
	}
	errno = saved;
}

/*
 * CUDA is up, inside the call `s`: from here on it counts, and what it launches, as the first of
 * all; its time and that of what it contains is start-up.
 */
void spy_first_call(struct spy_span *s)
{
	if (catch_up(s, false))
		s->unusual |= SPAN_STARTED_HERE;
}
