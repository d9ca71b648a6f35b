/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/replay/replay_fit.h"

/* A gap between calls of a thread so long may mean that it waited for another thread's call. */
#define LONG_GAP  REPLAY_LONG
#define LOOK_BACK 64u /* calls before it among which the other thread's is looked for */

/*
 * An engine without work sleeps, and takes time to wake up: an H200 began a copy 8 us after the
 * kernel before it where the host waited for each, and 1 us after it where it did not. Work that
 * started at least so long after its call did not find its engine asleep, ns.
 */
#define WAKING 20e3

/* Whether the call is a query that said "not ready", which the thread's next call repeats. */
static bool asks_again(const struct replay *r, size_t i)
{
	const struct call_event *a = &r->given[i],
	                        *b = r->next[i] != CALL_LOG_NONE ? &r->given[r->next[i]] : NULL;

	return b && replay_fit_is_query(a) && a->result == CUDA_NOT_READY && b->role == a->role &&
	       b->stream == a->stream && b->event == a->event;
}

/* ---- which call it follows ---- */

/* The call of another thread that the thread waited for before call i, or CALL_LOG_NONE. */
static uint32_t taken_over(const struct replay_fit *n, size_t i, double start)
{
	const struct replay *r = n->replay;
	const struct replay_thread_state *own = &n->threads[r->given[i].thread];
	double gap = start - own->end;
	uint32_t found = CALL_LOG_NONE;

	if (own->last != CALL_LOG_NONE && gap < LONG_GAP)
		return CALL_LOG_NONE;
	for (size_t k = i; k-- > 0 && i - k <= LOOK_BACK;) {
		const struct call_event *a = &r->given[k];
		if (a->thread != r->given[i].thread && a->end <= start &&
		    (found == CALL_LOG_NONE || a->end > r->given[found].end))
			found = (uint32_t)k;
	}
	if (found == CALL_LOG_NONE || own->last == CALL_LOG_NONE)
		return found;
	const struct call_event *q = &r->given[found];
	/* A host function may run any time later. */
	bool soon = start - q->end < gap / 2 || q->role == CUDA_ROLE_HOST_FUNCTION;
	return n->threads[q->thread].burst >= own->end && soon ? found : CALL_LOG_NONE;
}

static void link_up(struct replay_fit *n, size_t i, double entry)
{
	struct replay *r = n->replay;
	struct replay_act *a = &r->call_events[i];
	struct replay_thread_state *t = &n->threads[r->given[i].thread];

	double carried = t->carried;
	t->carried = 0;
	if (t->last == CALL_LOG_NONE) /* the replay begins with the first entry */
		a->ours = fmin(a->ours, entry - r->given[0].start);
	double start = entry - a->ours;
	a->before = taken_over(n, i, start);
	if (a->before != CALL_LOG_NONE) {
		const struct replay_thread_state *from = &n->threads[r->given[a->before].thread];
		a->gap = fmax(0, start - r->given[a->before].end);
		if (from->last == a->before)
			a->gap += from->carried;
		t->burst = start;
	} else if (t->last == CALL_LOG_NONE) {
		a->gap = fmax(0, start - r->given[0].start);
		t->burst = start;
	} else {
		a->gap = fmax(0, start - t->end);
		/* Else one gap that no other thread explains would keep the two apart for ever. */
		if (a->gap >= LONG_GAP)
			t->burst = start;
		a->gap += carried;
	}
}

/* ---- one call ---- */

static void set_event(struct replay_fit *n, size_t i)
{
	const struct call_event *given = &n->replay->given[i];

	if (given->event == CALL_LOG_NONE)
		return;
	if (given->role == CUDA_ROLE_EVENT_RECORD) {
		if (!given->result && !(given->flags & CALL_EVENT_CAPTURED) &&
		    given->stream != CALL_LOG_NONE)
			n->event_record[given->event] = (uint32_t)i;
	} else {
		n->replay->call_events[i].event = n->event_record[given->event];
	}
}

/* CUPTI tells when the work started. Of its two causes, the launch and the work before it, the
 * later one gets the measured time (`lead` or `space`); the other keeps the usual one. Time that an
 * engine needed to wake up is not put into `space`: without the wait it would not have slept. */
static void place_exactly(struct replay_fit *n, size_t i, double end)
{
	const struct call_event *given = &n->replay->given[i];
	struct replay_act *a = &n->replay->call_events[i];
	double before = replay_gpu_before(&n->gpu, i) + replay_gpu_switch(&n->gpu, i);

	if (isnan(given->gpu_start))
		return;
	if (before + a->space > end + a->lead)
		a->space = given->gpu_start - before;
	else
		a->lead = given->gpu_start - end;
	a->lead = fmin(a->lead, given->gpu_start - end);
	if (isfinite(before))
		a->space = fmin(a->space, given->gpu_start - before);
	if (replay_gpu_switch(&n->gpu, i) > 0 && given->gpu_start - end < WAKING)
		a->space = fmin(a->space, CUDA_GAP_NS);
}

static void walk(struct replay_fit *n, size_t i)
{
	struct replay *r = n->replay;
	const struct call_event *given = &r->given[i];
	struct replay_act *a = &r->call_events[i];
	struct replay_thread_state *t = &n->threads[given->thread];
	double start = given->start;

	*a = (struct replay_act){
	        .ours = given->ours,
	        .lead = CUDA_START_NS,
	        .space = CUDA_GAP_NS,
	        .before = CALL_LOG_NONE,
	        .event = CALL_LOG_NONE,
	        .held = CALL_LOG_NONE,
	};
	set_event(n, i);
	if (asks_again(r, i)) {
		a->flags = REPLAY_SKIP;
		if (isnan(t->polling))
			t->polling = start;
		return;
	}
	if (!isnan(t->polling)) {
		start = t->polling;
		a->flags = REPLAY_POLLS;
		t->polling = NAN;
	}
	link_up(n, i, start);
	replay_fit_resume(n, i, start);
	replay_fit_duration(n, i);
	uint32_t told = replay_fit_told(n, i, start);
	if (told != CALL_LOG_NONE)
		replay_fit_wait_told(n, i, told, start, given->end);
	else
		replay_fit_divide(n, i, start, given->end);
	replay_fit_held(n, i, start, given->end);
	place_exactly(n, i, given->end);
	replay_fit_tell(n, i);
	replay_fit_read(n, i, replay_gpu_issue(&n->gpu, i, start, given->end));
	replay_fit_pend(n, i);
	t->last = (uint32_t)i;
	t->end = given->end;
	if (given->end - start >= REPLAY_LONG) {
		t->last_long = (uint32_t)i;
		if (a->wait != REPLAY_NO_WAIT)
			t->burst = given->end;
	}
}

/* ---- the whole ---- */

/* The usual `late`; waits that found nothing to wait for get that too. */
static void finish_lates(struct replay_fit *n)
{
	struct replay *r = n->replay;

	r->late = CUDA_RETURN_NS;
	if (n->late_count) {
		r->late = stats_select(n->lates, n->late_count, 0.5);
	}
	for (size_t i = 0; i < n->late_count; i++)
		r->waiting += fabs(n->lates[i] - r->late);
	for (size_t i = 0; i < r->count; i++)
		if (isnan(r->call_events[i].late))
			r->call_events[i].late = fmax(0, fmin(r->late, CUDA_RETURN_NS));
}

static void find_next(struct replay *r)
{
	uint32_t *after = alloc_zeroed(r->call_log->thread_count, sizeof(*after));

	for (size_t i = r->count; i-- > 0;) {
		uint32_t *at = &after[r->given[i].thread];
		r->next[i] = *at ? *at - 1 : CALL_LOG_NONE;
		*at = (uint32_t)i + 1;
	}
	free(after);
}

/* Walks all calls as they were recorded; returns when the last one returned. */
static double walk_all(struct replay_fit *n)
{
	struct replay *r = n->replay;
	const struct call_log *h = r->call_log;
	double last = -INFINITY;

	replay_gpu_start(&n->gpu, r, r->call_events);
	r->pieces = r->unknown = r->gpu = 0;
	n->usual = CUDA_RETURN_NS;
	n->late_count = n->told_count = 0;
	for (unsigned k = 0; k < REPLAY_READ_KINDS; k++)
		n->read_kinds[k].count = n->read_kinds[k].waited = 0;
	n->read = CALL_LOG_NONE;
	for (size_t i = 0; i < h->thread_count; i++)
		n->threads[i] = (struct replay_thread_state){.last = CALL_LOG_NONE,
		                                             .last_long = CALL_LOG_NONE,
		                                             .polling = NAN,
		                                             .named = CALL_LOG_NONE,
		                                             .told = CALL_LOG_NONE};
	for (uint32_t i = 0; i < h->events; i++)
		n->event_record[i] = CALL_LOG_NONE;
	for (size_t i = 0; i < h->stream_count; i++)
		n->pending[i] = (struct replay_pending){0};
	for (size_t i = 0; i < CALL_LOG_DEVICES; i++)
		n->device_waits[i] = 0;
	for (size_t i = 0; i < r->count; i++) {
		walk(n, i);
		last = fmax(last, r->given[i].end);
	}
	return last;
}

/* Of the time of the calls: less is as they are, a step's first or last part. */
#define AROUND 0.1

/* The time of which all calls are there. */
static double held(const struct call_log *h)
{
	double ns = fmin(h->until, h->window) - fmax(h->from, h->steady);

	return isfinite(ns) ? ns : 0;
}

void replay_make(struct replay *r, const struct call_log *h, enum replay_level level)
{
	size_t first = call_log_steady(h);
	struct replay_fit n = {.replay = r, .level = level};

	*r = (struct replay){
	        .call_log = h, .given = h->call_events + first, .count = h->count - first};
	if (!r->count)
		return;
	r->call_events = alloc_zeroed(r->count, sizeof(*r->call_events));
	r->next = alloc_zeroed(r->count, sizeof(*r->next));
	find_next(r);
	n.threads = alloc_zeroed(h->thread_count, sizeof(*n.threads));
	n.event_record = alloc_zeroed(h->events, sizeof(*n.event_record));
	n.own = alloc_zeroed(h->call_count, sizeof(*n.own));
	n.pending = alloc_zeroed(h->stream_count, sizeof(*n.pending));
	n.marked = alloc_zeroed(r->count, sizeof(*n.marked));
	n.lates = alloc_zeroed(r->count, sizeof(*n.lates));
	n.tolds = alloc_zeroed(r->count, sizeof(*n.tolds));
	n.told_kinds = alloc_zeroed(h->work_count + 1, sizeof(*n.told_kinds));
	replay_fit_own(&n);
	replay_fit_part(&n);
	replay_fit_find_reads(&n);
	double last = walk_all(&n);
	bool reads_wait = replay_fit_reads_wait(&n);
	n.told_wait = replay_fit_told_waits(&n);
	if (reads_wait || n.told_wait) {
		replay_gpu_end(&n.gpu);
		last = walk_all(&n);
	}
	finish_lates(&n);
	r->base = fmax(last, replay_gpu_last(&n.gpu)) - r->given[0].start;
	double around = held(h) - r->base;
	r->around = around > AROUND * r->base ? around : 0;
	r->base += r->around;
	replay_gpu_end(&n.gpu);
	replay_find_stalls(r);
	free(n.threads);
	free(n.event_record);
	free(n.own);
	free(n.pending);
	free(n.marked);
	free(n.lates);
	free(n.tolds);
	free(n.told_kinds);
	free(n.resumes);
}

void replay_free(struct replay *r)
{
	free(r->call_events);
	free(r->next);
	*r = (struct replay){0};
}
