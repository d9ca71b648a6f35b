/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/record/span_internal.h"

#include <errno.h>
#include <stddef.h>
#include "shim/base/collector_wait.h"
#include "shim/core/cuda/roles.h"
#include "shim/record/own_time.h"
#include "shim/record/thread.h"

#define RING_USUAL 8192u /* records of the ring of a thread that calls often: 512 KiB */

__thread struct spy_tls spy_tls
        __attribute__((tls_model(SPY_TLS_MODEL), aligned(64))) = {.generation = SPY_NO_GENERATION};
static struct tf_record no_record = {.flags = TF_NO_ARGS};
struct spy_span spy_nobody = {.rec = &no_record,
                              .mark = SPAN_MARK,
                              .call = SPY_CALLS,
                              .cls = SPY_CLASS_OTHER,
                              .mode = SPAN_PASSIVE};

/* ---- entry, the unusual ways ---- */

/* Reads the ring's tail and sets `limit`. While the ring is less than half full the limit is half
 * of it, so that the thread comes here once more when it is time to wake the collector: then true.
 */
bool ring_look(struct spy_tls *t)
{
	/* Acquire: the slot was read before the drain gave it back. Pairs with drain_all(). */
	uint64_t tail = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE),
	         half = t->ring->capacity / 2;
	bool half_full = t->head - tail >= half;

	t->limit = tail + (half_full ? t->ring->capacity : half);
	return half_full;
}

/* Whether there is room for one record by the tail as it is now, or in a larger ring. A small ring
 * that fills fast grows before it is full, so that the collector can sleep longer. */
static bool ring_room(struct spy_tls *t)
{
	if (ring_look(t)) {
		if (t->ring->capacity < RING_USUAL && thread_grow_ring(t))
			return true;
		collector_wait_end();
	}
	return ring_has_room(t) || thread_grow_ring(t);
}

/* An outermost call of an attached thread is recorded: in the ring, or in `spare` where that has no
 * room. */
static void enter_recorded(struct spy_span *s, uint64_t start)
{
	struct spy_tls *t = &spy_tls;

	s->mode = spy_clock_is_counter() && !spy_gate_page.gate.site_all ? SPAN_RECORDED
	                                                                 : SPAN_SLOWLY;
	s->rec = ring_room(t) ? ring_next(t) : &t->spare;
	if (s->rec == &t->spare)
		s->unusual |= SPAN_NO_ROOM;
	spy_record_begin(s->rec, s->call, t->index, s->flags, start);
	__atomic_store_n(&t->thread->in_start, start, __ATOMIC_RELAXED);
	__atomic_store_n(&t->thread->in_call, s->call + 1u, __ATOMIC_RELAXED);
	if (!t->thread->first_call)
		t->thread->first_call = start;
}

/* The first call of a thread or of a forked child; the ring seems full; or nothing is recorded, yet
 * or by CUDASPY_RANGE. */
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

/* ---- what is recorded after all ---- */

/* The recording began during the call: the call is recorded, with the time of its entry. */
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

/* The call is not recorded after all: the process was forked, or the recording ended, during it. */
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
	if (result == 0 || result == CUDA_NOT_READY || spy_too_late(result))
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

void span_count_rest(struct tf_thread *th, struct spy_span *s, int result, uint64_t ticks,
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

void spy_record_rest(struct spy_span *s, int result, uint64_t end, struct spy_caller caller)
{
	int saved = errno;
	struct spy_tls *t = &spy_tls;
	struct tf_thread *th = t->thread;
	uint64_t ticks = end - s->rec->start, ours = 0;

	s->rec->end = end;
	s->rec->result = (int16_t)result;
	if (s->unusual & SPAN_SITE)
		ours = gate_call_site(s->rec, caller);
	if (s->unusual & SPAN_NO_ROOM)
		spy_count(&th->lost, 1);
	else
		ring_publish(t, s->rec);
	own_time_behind(end, ours);
	span_count_rest(th, s, result, ticks, end);
	/* Release: as in spy_record_at(). */
	__atomic_store_n(&th->in_call, 0, __ATOMIC_RELEASE);
	errno = saved;
}

static void record_at(struct spy_span *s, int result, uint64_t end, struct spy_caller caller)
{
	if (unlikely(!spy_record_at(s, s->call, s->cls, result, end)))
		spy_record_rest(s, result, end, caller);
}

void spy_record(struct spy_span *s, int result, struct spy_caller caller)
{
	if (unlikely(spy_gate_page.gate.site_all))
		s->unusual |= SPAN_SITE;
	record_at(s, result, spy_clock(), caller);
}

static void leave_passive(struct spy_span *s, int result, struct spy_caller caller)
{
	uint64_t end = spy_clock();

	if (catch_up(s, true))
		record_at(s, result, end, caller);
	else if (!(s->unusual & SPAN_SETTLED) && spy_starting())
		spy_lose_call(); /* it takes too long */
	spy_in_order();
	spy_tls.outer = NULL;
}

void spy_leave_unusual(struct spy_span *s, int result, struct spy_caller caller)
{
	struct spy_tls *t = &spy_tls;
	int saved = errno;

	if (s->mode == SPAN_TIMED) {
		span_leave_timed(s, result);
		spy_real_goes_on();
	} else if (t->outer != s) {
		span_leave_overtaken(s, result);
	} else if (s->mode == SPAN_INSIDE || s->mode == SPAN_UNSEEN) {
		span_leave_inside(s, result);
	} else if (s->mode == SPAN_SLOWLY) {
		spy_record(s, result, caller);
		spy_in_order();
		t->outer = NULL;
	} else {
		leave_passive(s, result, caller);
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
