/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/replay/replay_fit.h"
#include "report/model/call_times.h"

/* What a call takes by itself at most, where it was never seen without a wait, ns. */
#define SYNC_OWN   2000.0
#define LAUNCH_OWN 5000.0
#define CALLS_SEEN 4096u /* calls with a quantile of their own */

bool replay_fit_holds(const struct call_event *a)
{
	return a->kind != TF_WORK_NONE && call_event_holds(a);
}

static double end_of(const struct call_log_work *w, enum replay_level level)
{
	return level == REPLAY_LOW ? w->low : level == REPLAY_HIGH ? w->high : w->mean;
}

/* Its class, by which its work's time is told; NULL = not so. */
static const struct call_log_work *class_of(const struct replay *r, const struct call_event *a)
{
	return a->kind != TF_WORK_NONE && isnan(a->gpu_start) && a->work != CALL_LOG_NONE
	               ? &r->call_log->works[a->work]
	               : NULL;
}

/* Not all classes are at the same end of their intervals at once: by chance one takes longer and
 * another shorter than estimated, and together they are off by the root of the squares. */
void replay_fit_part(struct replay_fit *n)
{
	const struct replay *r = n->replay;
	const struct call_log *h = r->call_log;
	double *off = alloc_zeroed(h->work_count + 1, sizeof(*off)), sum = 0, squares = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct call_event *a = &r->given[i];
		const struct call_log_work *w = class_of(r, a);
		if (w && w->mean >= 0)
			off[a->work] += a->items * fabs(end_of(w, n->level) - w->mean);
	}
	for (size_t i = 0; i < h->work_count; i++) {
		sum += off[i];
		squares += off[i] * off[i];
	}
	n->part = sum > 0 && isfinite(sum) ? 1 - h->off_apart * (1 - sqrt(squares) / sum) : 1;
	free(off);
}

void replay_fit_duration(struct replay_fit *n, size_t i)
{
	const struct call_event *a = &n->replay->given[i];
	struct replay_act *r = &n->replay->call_events[i];
	const struct call_log_work *w = class_of(n->replay, a);

	if (a->kind == TF_WORK_NONE)
		return;
	double ns = w ? w->mean + n->part * (end_of(w, n->level) - w->mean) : a->gpu;
	n->replay->pieces++;
	if (!(ns >= 0 && ns < 1e18)) {
		/* A staged copy takes as long as its call. */
		n->replay->unknown +=
		        !replay_fit_holds(a) && !cuda_copy_buffers(call_event_copy(a));
		r->flags |= REPLAY_GUESS;
		ns = cuda_guess_ns((enum tf_work_kind)a->kind, (enum spy_direction)a->direction,
		                   (double)a->bytes);
	}
	/* CUPTI's is of the whole call. */
	r->gpu = isnan(a->gpu_start) ? ns * a->items : ns;
	n->replay->gpu += r->gpu;
}

/*
 * What each call takes by itself: a low quantile of its times; of launches the quantile of those
 * made before the launch queue can have been full. Waits get SYNC_OWN at most.
 */
void replay_fit_own(struct replay_fit *n)
{
	const struct replay *r = n->replay;
	const struct call_log *h = r->call_log;
	size_t calls = h->call_count < CALLS_SEEN ? h->call_count : CALLS_SEEN;
	struct call_times *times = call_times_new(calls), *launches = call_times_new(calls);
	uint64_t since = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct call_event *a = &r->given[i];
		double ns = a->end - a->start;
		if (a->cls == SPY_CLASS_SYNC)
			since = 0;
		since += a->kind != TF_WORK_NONE;
		if (a->call >= calls || a->result || a->flags & CALL_EVENT_FIRST ||
		    !(ns >= 0 && ns < 1e18))
			continue;
		call_times_add(times, a->call, ns);
		if ((a->cls == SPY_CLASS_LAUNCH || a->cls == SPY_CLASS_GRAPH_LAUNCH) &&
		    since < CUDA_QUEUE_ENTRIES - CUDA_QUEUE_ENTRIES / 8)
			call_times_add(launches, a->call, ns);
	}
	for (size_t i = 0; i < h->call_count; i++) {
		uint8_t cls = h->calls[i].cls;
		double least = i < calls ? call_times_quantile(times, i, 0.05) : -1,
		       own = i < calls ? call_times_quantile(launches, i, 0.3) : -1;
		if (own < 0)
			own = cls == SPY_CLASS_LAUNCH ? fmin(fmax(least, 0), LAUNCH_OWN)
			                              : fmax(least, 0);
		n->own[i] = cls == SPY_CLASS_SYNC ? fmin(own, SYNC_OWN) : own;
	}
	call_times_free(times);
	call_times_free(launches);
}
