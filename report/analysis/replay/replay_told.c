/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/analysis/replay/replay_fit.h"

/*
 * XLA waits without a CUDA call that waits: it adds a host function to a stream (cuLaunchHostFunc),
 * and a thread sleeps until that has run. Such a wait shows in when the thread's next call comes:
 * time after time, not before the stream's work must have ended. Behind some work nobody waits (the
 * copy of a batch), behind other work somebody does (the graph of a step): so it is decided for
 * each kind, the class of work that the thread gave last before the host function. The time until
 * the work's end is the wait; what always comes on top is waking up; the rest is the host's own
 * time.
 *
 * A host that always comes back long after the end may not have waited at all, but been busy: then
 * it is not known (REPLAY_UNSURE).
 */

#define TOLD_LEAST 8u  /* host functions of a kind: with fewer nothing is decided */
#define TOLD_WAIT  0.9 /* share of them after which the next call came late enough: a wait */
#define TOLD_SOON  0.1 /* quantile of the time behind the end that is taken for waking up */
#define NAMED_WITHIN                                                                               \
	4u /* so many calls before a host function at most, its thread names its stream */
#define LEFT_LEAST 20e3 /* ns of work left: less tells nothing */

static int by_kind(const void *a, const void *b)
{
	const struct replay_told *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->behind != y->behind ? x->behind < y->behind ? -1 : 1 : 0;
}

/* Whether calls wait behind a kind; `t`: its host functions, sorted by how late the call came. */
static struct replay_told_kind judge(const struct replay_told *t, size_t count)
{
	struct replay_told_kind k = {0};
	double left = 0;
	size_t waited = 0;

	for (size_t i = 0; i < count; i++) {
		left += t[i].left / (double)count;
		waited += t[i].behind >= -REPLAY_ENDS_OFF * t[i].left;
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

/* A call that waits for the GPU by itself need not be told. */
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
	if (told == CALL_LOG_NONE || t->told_ago > REPLAY_TOLD_WITHIN || told > after)
		return CALL_LOG_NONE;
	double returned = r->given[after].end, left = replay_gpu_marked(&n->gpu, told) - returned;
	if (!(left > LEFT_LEAST) || start < returned)
		return CALL_LOG_NONE;
	/* Calls that follow at once, of the same thread, did not wait. */
	if (a->before == CALL_LOG_NONE && start - returned < LEFT_LEAST)
		return CALL_LOG_NONE;
	t->told = CALL_LOG_NONE;
	double behind = start - returned - left;
	if (!n->told_wait) {
		n->tolds[n->told_count++] =
		        (struct replay_told){.kind = t->told_kind, .left = left, .behind = behind};
		return CALL_LOG_NONE;
	}
	bool waited = n->told_kinds[t->told_kind].waits && behind >= -REPLAY_ENDS_OFF * left;
	return waited && may_be_told(&r->given[i], a) ? told : CALL_LOG_NONE;
}

void replay_fit_wait_told(struct replay_fit *n, size_t i, uint32_t told, double start, double end)
{
	struct replay_act *a = &n->replay->call_events[i];
	uint16_t by = n->replay->given[told].thread;
	const struct replay_told_kind *k = &n->told_kinds[n->threads[by].told_kind];
	double done = replay_gpu_marked(&n->gpu, told), behind = start - done;

	a->flags |= REPLAY_TOLD | (k->unsure ? REPLAY_UNSURE : 0);
	a->wait = REPLAY_EVENT;
	a->event = told;
	a->own = end - start;
	a->late = fmin(behind, k->wakes) + a->own;
	a->gap = 0;
	/* Time of the host's own goes into the gap ahead of its next call. */
	n->threads[n->replay->given[i].thread].carried = fmax(0, behind - k->wakes);
	replay_gpu_clip(&n->gpu, i, start);
}
