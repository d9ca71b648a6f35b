/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/analysis/flow/flow.h"
#include "report/analysis/replay/replay_fit.h"

#define LOOK_AHEAD 64u /* calls that begin while one waits */

/* ---- what a call may wait for ---- */

static enum replay_wait wait_of(const struct call_event *a)
{
	if (a->result || a->flags & CALL_EVENT_CAPTURED)
		return REPLAY_NO_WAIT;
	switch (a->role) {
	case CUDA_ROLE_SYNC_ALL:
		return REPLAY_DEVICE;
	case CUDA_ROLE_SYNC_STREAM:
		return a->stream != CALL_LOG_NONE ? REPLAY_STREAM : REPLAY_NO_WAIT;
	case CUDA_ROLE_SYNC_EVENT:
		return a->event != CALL_LOG_NONE ? REPLAY_EVENT : REPLAY_NO_WAIT;
	default:
		break;
	}
	if (replay_fit_holds(a))
		return REPLAY_STAGED;
	if (a->cls == SPY_CLASS_COPY && a->direction == SPY_DIR_HTOH && a->bytes)
		return a->stream != CALL_LOG_NONE ? REPLAY_STREAM : REPLAY_NO_WAIT;
	if (a->kind == TF_WORK_COPY && cuda_copy_buffers(call_event_copy(a)))
		return REPLAY_BUFFER;
	return flow_is_device_wait(a) ? REPLAY_DEVICE : REPLAY_NO_WAIT;
}

/* What calls may wait for that do not always: see_whether() tells by the time that they took. */
static enum replay_wait perhaps(const struct call_event *a)
{
	if (a->result || a->flags & CALL_EVENT_CAPTURED)
		return REPLAY_NO_WAIT;
	if ((a->cls == SPY_CLASS_ALLOC || a->cls == SPY_CLASS_MODULE) &&
	    cuda_role_may_wait_for_device(a->role))
		return REPLAY_DEVICE;
	if (a->kind == TF_WORK_COPY && a->memory == SPY_MEM_PAGEABLE)
		return REPLAY_STREAM;
	return REPLAY_NO_WAIT;
}

bool replay_fit_is_query(const struct call_event *a)
{
	return (a->role == CUDA_ROLE_QUERY_STREAM && a->stream != CALL_LOG_NONE) ||
	       (a->role == CUDA_ROLE_QUERY_EVENT && a->event != CALL_LOG_NONE);
}

/* ---- what it waited for ---- */

/* Keeps a running median of `late`. */
static void note_late(struct replay_fit *n, double late)
{
	double step = fmax(n->usual / 16, 10);

	n->lates[n->late_count++] = late;
	n->usual = late > n->usual ? n->usual + step : fmax(0, n->usual - step);
}

/* Whether more work is queued behind the event that call i waited for until `end`: before it was
 * called, or meanwhile by other threads. */
static bool is_behind(const struct replay_fit *n, size_t i, double done, double end)
{
	const struct replay *r = n->replay;
	const struct replay_act *a = &r->call_events[i];
	uint32_t stream = a->wait == REPLAY_EVENT ? r->given[a->event].stream : CALL_LOG_NONE;

	if (stream == CALL_LOG_NONE)
		return false;
	if (n->gpu.streams[stream].tail > done)
		return true;
	for (size_t k = i + 1; k < r->count && k - i <= LOOK_AHEAD && r->given[k].start < end; k++)
		if (r->given[k].kind != TF_WORK_NONE && r->given[k].stream == stream)
			return true;
	return false;
}

/*
 * Call i waited and returned at `end`. The difference to the estimated end of the work is either
 * the host's (it woke late) or the GPU's (the work took longer). Where the stream was empty then,
 * it is put down to the host: times of work are right on average. Where more work is queued behind,
 * such errors would add up, so it is put down to the GPU: the stream is shifted.
 */
static void divide_wait(struct replay_fit *n, size_t i, double start, double end)
{
	struct replay_act *a = &n->replay->call_events[i];
	double done = replay_gpu_awaited(&n->gpu, i), own = n->own[n->replay->given[i].call];

	if (!(done > start)) { /* by estimate there was nothing left */
		a->own = end - start;
		a->late = NAN;
		return;
	}
	if (n->replay->given[i].cls != SPY_CLASS_SYNC) /* own work comes after the wait */
		own = fmin(own, fmax(0, end - done));
	a->own = fmin(own, end - start);
	if (end - start > own + REPLAY_NOISE && is_behind(n, i, done, end)) {
		a->late = fmin(n->usual, end - start - a->own);
		a->shift = end - a->late - done;
		replay_gpu_shift(&n->gpu, i, a->shift);
		return;
	}
	a->late = fmax(end - done, a->own + start - done);
	note_late(n, a->late);
	replay_gpu_clip(&n->gpu, i, end);
}

/* The least that a staged copy's call takes by itself, ns. */
static double copying(const struct replay_fit *n, const struct call_event *a)
{
	return fmin(n->own[a->call], cuda_staged_least_ns((double)a->bytes));
}

/* The GPU copies while the call stages: when that returns, at most one buffer is left to copy. */
static void send_staged(struct replay_act *a)
{
	a->lead -= fmin(a->gpu, a->own);
}

static void divide_staged(struct replay_fit *n, size_t i, double start, double end)
{
	struct replay_act *a = &n->replay->call_events[i];
	double done = replay_gpu_awaited(&n->gpu, i);

	a->own = end - fmax(start, fmin(done, end));
	a->own = fmax(a->own, fmin(copying(n, &n->replay->given[i]), end - start));
	if (done > end - a->own) { /* the work before it ended earlier than estimated */
		a->late = end - a->own - done;
		replay_gpu_clip(&n->gpu, i, end - a->own);
	}
	if (a->wait == REPLAY_BUFFER)
		send_staged(a);
}

/* Whether a call that does not always wait did: it took clearly longer than usual, and at least
 * until about the work's end. */
static void see_whether(struct replay_fit *n, size_t i, double start, double end)
{
	const struct call_event *given = &n->replay->given[i];
	struct replay_act *a = &n->replay->call_events[i];
	double own = n->own[given->call];

	a->wait = (uint8_t)perhaps(given);
	double left = replay_gpu_awaited(&n->gpu, i) - start;
	if (a->wait != REPLAY_NO_WAIT && left > REPLAY_NOISE &&
	    end - start > 1.5 * own + REPLAY_NOISE && end - start > 0.9 * left) {
		divide_wait(n, i, start, end);
		return;
	}
	a->wait = REPLAY_NO_WAIT;
	a->own = end - start;
}

/* A launch: where the launch queue was full it waited for room. */
static void divide_launch(struct replay_fit *n, size_t i, double start, double end)
{
	const struct call_event *given = &n->replay->given[i];
	struct replay_act *a = &n->replay->call_events[i];
	const struct replay_stream *s =
	        given->stream != CALL_LOG_NONE ? &n->gpu.streams[given->stream] : NULL;
	double own = fmin(n->own[given->call], end - start),
	       place = replay_gpu_queued(&n->gpu, i, CUDA_QUEUE_ENTRIES);
	bool slow = end - start > 1.5 * own + 0.5 * REPLAY_NOISE;

	a->own = end - start;
	if (!s)
		return;
	if (!isnan(given->gpu_start)) { /* CUPTI's times: nothing to correct */
		if (slow && replay_fit_pending(n, given->stream) >= CUDA_QUEUE_LIKELY &&
		    s->tail > end)
			a->own = own;
		return;
	}
	if (!isfinite(place))
		return;
	/* The estimated end of the entry may be off; what counts is that many are queued. */
	if (slow && (place > start || (replay_fit_pending(n, given->stream) >= CUDA_QUEUE_ENTRIES &&
	                               replay_gpu_queued(&n->gpu, i, CUDA_QUEUE_LIKELY) > start))) {
		a->shift = end - own - place;
		a->own = own;
	} else if (place > start) {
		a->shift = start - place;
	}
	replay_gpu_shift(&n->gpu, i, a->shift);
}

void replay_fit_divide(struct replay_fit *n, size_t i, double start, double end)
{
	const struct call_event *given = &n->replay->given[i];
	struct replay_act *a = &n->replay->call_events[i];

	a->wait = (uint8_t)wait_of(given);
	if (replay_fit_is_query(given) && !given->result && a->flags & REPLAY_POLLS)
		a->wait = given->role == CUDA_ROLE_QUERY_EVENT ? REPLAY_EVENT : REPLAY_STREAM;
	if (a->wait == REPLAY_STAGED || a->wait == REPLAY_BUFFER)
		divide_staged(n, i, start, end);
	else if (a->wait != REPLAY_NO_WAIT)
		divide_wait(n, i, start, end);
	else if (given->kind == TF_WORK_KERNEL || given->kind == TF_WORK_GRAPH)
		divide_launch(n, i, start, end);
	else
		see_whether(n, i, start, end);
}
