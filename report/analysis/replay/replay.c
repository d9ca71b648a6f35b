/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/replay/replay_internal.h"

struct runner {          /* a thread */
	double last;     /* return of its last call */
	double entry;    /* of its next one */
	uint32_t next;   /* that call, or CALL_LOG_NONE */
	uint32_t parked; /* the next one that waits for the same call, + 1 */
};

struct run {
	const struct replay *replay;
	struct replay_gpu gpu;
	struct runner *threads;
	double *returned;  /* of each call; NaN: not yet */
	uint32_t *waiting; /* of each call: the first thread that waits for it, + 1 */
	uint32_t *heap;    /* threads by `entry` */
	size_t heap_count;
	double start, last;
};

/* ---- threads by their next entry ---- */

static bool sooner(const struct run *run, uint32_t a, uint32_t b)
{
	const struct runner *x = &run->threads[a], *y = &run->threads[b];

	return x->entry != y->entry ? x->entry < y->entry : x->next < y->next;
}

static void heap_put(struct run *run, uint32_t thread)
{
	size_t at = run->heap_count++;

	for (; at && sooner(run, thread, run->heap[(at - 1) / 2]); at = (at - 1) / 2)
		run->heap[at] = run->heap[(at - 1) / 2];
	run->heap[at] = thread;
}

static uint32_t heap_take(struct run *run)
{
	uint32_t first = run->heap[0], moved = run->heap[--run->heap_count];
	size_t at = 0;

	for (size_t child = 1; child < run->heap_count; at = child, child = 2 * at + 1) {
		if (child + 1 < run->heap_count &&
		    sooner(run, run->heap[child + 1], run->heap[child]))
			child++;
		if (!sooner(run, run->heap[child], moved))
			break;
		run->heap[at] = run->heap[child];
	}
	if (run->heap_count)
		run->heap[at] = moved;
	return first;
}

/* ---- one call after the other ---- */

/* A call that call `i` must come after and that has not returned yet; CALL_LOG_NONE: none. It is
 * always an earlier one, so that some thread can always continue. */
static uint32_t missing(const struct run *run, uint32_t i)
{
	const struct replay_act *a = &run->gpu.call_events[i];

	if (a->before != CALL_LOG_NONE && isnan(run->returned[a->before]))
		return a->before;
	if (a->event != CALL_LOG_NONE && isnan(run->returned[a->event]))
		return a->event;
	if (a->held != CALL_LOG_NONE && isnan(run->returned[a->held]))
		return a->held;
	return CALL_LOG_NONE;
}

/* Enters the thread's next call into the heap, or parks the thread until another's call returned.
 */
static void line_up(struct run *run, uint32_t thread)
{
	struct runner *t = &run->threads[thread];

	if (t->next == CALL_LOG_NONE)
		return;
	const struct replay_act *a = &run->gpu.call_events[t->next];
	uint32_t other = missing(run, t->next);
	if (other != CALL_LOG_NONE) {
		t->parked = run->waiting[other];
		run->waiting[other] = thread + 1;
		return;
	}
	double away = a->gap + a->ours;
	t->entry = t->last + (a->before == CALL_LOG_NONE ? away : 0);
	if (a->before != CALL_LOG_NONE)
		t->entry = later(t->last, run->returned[a->before] + away);
	heap_put(run, thread);
}

static double called(struct run *run, uint32_t i, double entry)
{
	const struct replay_act *a = &run->gpu.call_events[i];
	double returned, done;

	if (a->flags & REPLAY_SKIP)
		return entry;
	if (a->shift != 0)
		replay_gpu_shift(&run->gpu, i, a->shift);
	entry = later(entry, replay_gpu_queued(&run->gpu, i, CUDA_QUEUE_ENTRIES));
	returned = entry + a->own;
	if (a->held != CALL_LOG_NONE)
		returned = later(returned, run->returned[a->held] + a->let_go);
	done = replay_gpu_awaited(&run->gpu, i);
	if (a->wait == REPLAY_STAGED || a->wait == REPLAY_BUFFER) {
		returned = later(entry, done + a->late) + a->own;
		replay_gpu_clip(&run->gpu, i, returned - a->own);
	} else if (a->wait != REPLAY_NO_WAIT && done > entry) {
		returned = later(returned, done + a->late);
		replay_gpu_clip(&run->gpu, i, returned);
	}
	double end = replay_gpu_issue(&run->gpu, i, entry, returned);
	return a->wait == REPLAY_OWN ? later(returned, end + a->late) : returned;
}

static void step(struct run *run)
{
	uint32_t thread = heap_take(run), i = run->threads[thread].next;
	struct runner *t = &run->threads[thread];

	t->last = run->returned[i] = called(run, i, t->entry);
	run->last = later(run->last, t->last);
	t->next = run->replay->next[i];
	uint32_t parked = run->waiting[i];
	while (parked) {
		uint32_t of = parked - 1;
		parked = run->threads[of].parked;
		line_up(run, of);
	}
	line_up(run, thread);
}

double replay_run(const struct replay *r, const struct replay_act *call_events)
{
	struct run run = {.replay = r};
	size_t threads = r->call_log ? r->call_log->thread_count : 0;

	if (!r->count)
		return 0;
	replay_gpu_start(&run.gpu, r, call_events);
	run.threads = alloc_zeroed(threads, sizeof(*run.threads));
	run.heap = alloc_zeroed(threads, sizeof(*run.heap));
	run.returned = alloc_zeroed(r->count, sizeof(*run.returned));
	run.waiting = alloc_zeroed(r->count, sizeof(*run.waiting));
	run.start = run.last = r->given[0].start;
	for (size_t i = 0; i < threads; i++)
		run.threads[i] = (struct runner){.last = run.start, .next = CALL_LOG_NONE};
	for (size_t i = r->count; i-- > 0;) {
		run.returned[i] = NAN;
		run.threads[r->given[i].thread].next = (uint32_t)i;
	}
	for (uint32_t i = 0; i < threads; i++)
		line_up(&run, i);
	while (run.heap_count)
		step(&run);
	double time = later(run.last, replay_gpu_last(&run.gpu)) - run.start + r->around;
	replay_gpu_end(&run.gpu);
	free(run.threads);
	free(run.heap);
	free(run.returned);
	free(run.waiting);
	return time;
}
