/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/analysis/replay/replay_fit.h"

/*
 * XLA waits without a call that waits: it gives a stream a host function, and a thread goes on when
 * that was called. Such a wait is seen from when the next call comes: not before the stream's work
 * must have ended, time after time. Behind some work nobody waits (a batch's copy), behind other
 * work somebody does (the step's graph): that is told by kinds of work, what the thread gave last
 * before the host function. The time until the work's end is a wait, as a call's would be; what
 * always comes behind it too is the waking up, and the rest the host's own.
 *
 * A host that comes back long after the end each time may not have waited at all: it had that much
 * to do. Then it is not known.
 */

#define TOLD_LEAST   8u   /* that tell, of a kind */
#define TOLD_WAIT    0.9  /* a share of them */
#define TOLD_SOON    0.1  /* so many come no later behind the end than it takes to wake up */
#define NAMED_WITHIN 4u   /* calls of its thread before the host function: its stream */
#define TOLD_WITHIN  6u   /* calls of its thread behind it */
#define LEFT_LEAST   20e3 /* ns of work left: less tells nothing */
#define ENDS_OFF     0.1  /* of that: its end is estimated */

static int by_kind(const void *a, const void *b)
{
	const struct replay_told *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->behind != y->behind ? x->behind < y->behind ? -1 : 1 : 0;
}

/* Of one kind, by how late they came. */
static struct replay_told_kind judge(const struct replay_told *t, size_t count)
{
	struct replay_told_kind k = {0};
	double left = 0;
	size_t waited = 0;

	for (size_t i = 0; i < count; i++) {
		left += t[i].left / (double)count;
		waited += t[i].behind >= -ENDS_OFF * t[i].left;
	}
	k.waits = count >= TOLD_LEAST && (double)waited >= TOLD_WAIT * (double)count;
	k.wakes = fmax(0, t[(size_t)(TOLD_SOON * (double)(count - 1))].behind);
	k.unsure = k.wakes > left;
	if (k.unsure)
		k.wakes = 0;
	return k;
}

bool replay_fit_told_waits(struct replay_fit *n)
{
	bool any = false;

	if (n->told_count)
		qsort(n->tolds, n->told_count, sizeof(*n->tolds), by_kind);
	for (size_t i = 0, end; i < n->told_count; i = end) {
		for (end = i; end < n->told_count && n->tolds[end].kind == n->tolds[i].kind; end++)
			;
		struct replay_told_kind k = judge(&n->tolds[i], end - i);
		n->told_kinds[n->tolds[i].kind] = k;
		any |= k.waits;
	}
	return any;
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
	if (given->kind != TF_WORK_NONE) {
		t->gave = given->work != CALL_LOG_NONE ? given->work + 1 : 0;
		t->reads = is_read(n, (uint32_t)i);
	}
	if (is_host_function(given)) {
		/* Older recordings do not say on which stream it is: that of the call before it. */
		bool near = t->named != CALL_LOG_NONE && t->named_ago <= NAMED_WITHIN;
		if (given->stream == CALL_LOG_NONE && near)
			n->replay->call_events[i].event = t->named;
		if ((given->stream != CALL_LOG_NONE || near) && !t->reads) {
			t->told = (uint32_t)i;
			t->told_kind = t->gave;
			t->told_ago = 0;
		}
	}
	if (given->stream != CALL_LOG_NONE) {
		t->named = (uint32_t)i;
		t->named_ago = 0;
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
	double behind = start - returned - left;
	if (!n->told_wait) {
		n->tolds[n->told_count++] =
		        (struct replay_told){.kind = t->told_kind, .left = left, .behind = behind};
		return CALL_LOG_NONE;
	}
	bool waited = n->told_kinds[t->told_kind].waits && behind >= -ENDS_OFF * left;
	return waited && may_be_told(&r->given[i], a) ? told : CALL_LOG_NONE;
}

void replay_fit_wait_told(struct replay_fit *n, size_t i, uint32_t told, double start, double end)
{
	struct replay_act *a = &n->replay->call_events[i];
	uint16_t by = n->replay->given[told].thread;
	const struct replay_told_kind *k = &n->told_kinds[n->threads[by].told_kind];
	double done = gpu_marked(&n->gpu, told), behind = start - done;

	a->flags |= REPLAY_TOLD | (k->unsure ? REPLAY_UNSURE : 0);
	a->wait = REPLAY_EVENT;
	a->event = told;
	a->own = end - start;
	a->late = fmin(behind, k->wakes) + a->own;
	a->gap = 0;
	/* The host's own, which its next call has before it. */
	n->threads[n->replay->given[i].thread].carried = fmax(0, behind - k->wakes);
	gpu_clip(&n->gpu, i, start);
}
