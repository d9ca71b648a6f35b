/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/analysis/replay/replay_fit.h"

/*
 * XLA waits without a call that waits: it gives a stream a host function, and a thread goes on when
 * that was called. Such a wait is seen from when the next call comes: not before the stream's work
 * must have ended, time after time. Where that is so the time until then is a wait, as a call's
 * would be; what comes behind it, but for the usual time to wake up, is the host's own.
 */

#define TOLD_LEAST   8u    /* that tell */
#define TOLD_WAIT    0.9   /* a share of them */
#define NAMED_WITHIN 4u    /* calls of its thread before the host function: its stream */
#define TOLD_WITHIN  6u    /* calls of its thread behind it */
#define LEFT_LEAST   20e3  /* ns of work left: less tells nothing */
#define ENDS_OFF     0.1   /* of that: its end is estimated */
#define WAKES        300e3 /* ns: a thread is awake by then; one of XLA took 0.25 ms on average */

bool replay_fit_told_waits(const struct replay_fit *n)
{
	return n->told_count >= TOLD_LEAST &&
	       (double)n->told_waited >= TOLD_WAIT * (double)n->told_count;
}

static bool is_host_function(const struct call_event *a)
{
	return a->role == CUDA_ROLE_HOST_FUNCTION && a->cls != SPY_CLASS_GRAPH && !a->result &&
	       !(a->flags & CALL_EVENT_CAPTURED);
}

/* A copy of a result: replay_reads.c knows who waits for it. */
static bool is_read(const struct replay_fit *n, uint32_t i)
{
	return n->resumes && n->resumes[i] != CALL_LOG_NONE;
}

void replay_fit_tell(struct replay_fit *n, size_t i)
{
	const struct call_event *given = &n->replay->given[i];
	struct replay_thread_state *t = &n->threads[given->thread];

	t->named_ago++;
	t->told_ago++;
	if (given->stream != CALL_LOG_NONE) {
		t->named = (uint32_t)i;
		t->named_ago = 0;
	} else if (is_host_function(given) && t->named != CALL_LOG_NONE &&
	           t->named_ago <= NAMED_WITHIN && !is_read(n, t->named)) {
		/* Which stream it is on is not recorded: that of the call before it. */
		n->replay->call_events[i].event = t->named;
		t->told = (uint32_t)i;
		t->told_ago = 0;
	}
}

/* It does not wait by itself. */
static bool may_be_told(const struct call_event *given, const struct replay_act *a)
{
	return a->event == CALL_LOG_NONE && given->cls != SPY_CLASS_SYNC &&
	       (given->kind != TF_WORK_COPY || given->memory != SPY_MEM_PAGEABLE);
}

uint32_t replay_fit_told(struct replay_fit *n, size_t i, double start)
{
	const struct replay *r = n->replay;
	const struct replay_act *a = &r->call_events[i];
	uint32_t after = a->before;

	if (after == CALL_LOG_NONE)
		after = n->threads[r->given[i].thread].last;
	if (after == CALL_LOG_NONE)
		return CALL_LOG_NONE;
	struct replay_thread_state *t = &n->threads[r->given[after].thread];
	uint32_t told = t->told;
	if (told == CALL_LOG_NONE || t->told_ago > TOLD_WITHIN || told > after)
		return CALL_LOG_NONE;
	double returned = r->given[after].end, left = gpu_marked(&n->gpu, told) - returned;
	if (!(left > LEFT_LEAST) || start < returned)
		return CALL_LOG_NONE;
	/* The calls of its own thread go on meanwhile, of which none waits. */
	if (a->before == CALL_LOG_NONE && start - returned < LEFT_LEAST)
		return CALL_LOG_NONE;
	t->told = CALL_LOG_NONE;
	n->told_count++;
	bool waited = start - returned >= (1 - ENDS_OFF) * left;
	n->told_waited += waited;
	return waited && n->told_wait && may_be_told(&r->given[i], a) ? told : CALL_LOG_NONE;
}

void replay_fit_wait_told(struct replay_fit *n, size_t i, uint32_t told, double start, double end)
{
	struct replay_act *a = &n->replay->call_events[i];
	double done = gpu_marked(&n->gpu, told), behind = start - done;

	a->flags |= REPLAY_TOLD;
	a->wait = REPLAY_EVENT;
	a->event = told;
	a->own = end - start;
	a->late = fmin(behind, WAKES) + a->own;
	a->gap = 0;
	/* The host's own, which its next call has before it. */
	n->threads[n->replay->given[i].thread].carried = fmax(0, behind - WAKES);
	gpu_clip(&n->gpu, i, start);
}
