/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/whatif/whatif_change.h"
#include "shim/core/cuda/engines.h"

#define RIGHT_BEHIND_NS 10e3 /* nothing of the program is between two calls so close */
#define FIRST_OWN       10e3 /* a launch that need not load its kernel takes no longer, ns */

/* ---- copies of pinned memory ---- */

static double rate_of(struct whatif_change *c, const struct call_event *given)
{
	double known = c->bandwidth[given->direction == SPY_DIR_DTOH];

	if (isfinite(known))
		return known;
	c->assumed_bandwidth = true;
	if (isfinite(c->link.rate))
		return c->link.rate * (c->hope == HOPE_MOST    ? ESTIMATE_LINK_MOST
		                       : c->hope == HOPE_LEAST ? ESTIMATE_LINK_LEAST
		                                               : ESTIMATE_LINK_REACHED);
	return c->hope == HOPE_MOST ? BEST_BANDWIDTH : ASSUMED_BANDWIDTH;
}

/*
 * The wait for its stream that the same thread makes right behind a copy to the device is part of
 * the copy, as PyTorch makes it without non_blocking=True: it goes with it. At least it stays.
 */
static void pin_wait(const struct whatif_change *c, const struct replay *r,
                     struct replay_act *call_events, uint32_t copy)
{
	uint32_t i = r->next[copy];

	if (c->hope == HOPE_LEAST || i == CALL_LOG_NONE ||
	    r->given[copy].direction != SPY_DIR_HTOD || r->given[i].role != CUDA_ROLE_SYNC_STREAM ||
	    r->given[i].result || r->given[i].stream != r->given[copy].stream ||
	    r->call_events[i].gap > RIGHT_BEHIND_NS)
		return;
	call_events[i].own = call_events[i].gap = 0;
	call_events[i].wait = REPLAY_NO_WAIT;
}

/* A pageable copy over the bus becomes one of pinned memory. */
static void pin(struct whatif_change *c, const struct replay *r, struct replay_act *call_events,
                uint32_t i)
{
	const struct call_event *given = &r->given[i];
	struct replay_act *a = &call_events[i];
	double pageable = a->gpu;

	if (given->kind != TF_WORK_COPY || given->memory != SPY_MEM_PAGEABLE ||
	    given->direction > SPY_DIR_DTOH)
		return;
	bool staged = a->wait == REPLAY_STAGED || a->wait == REPLAY_BUFFER;
	if (!staged && a->wait == REPLAY_NO_WAIT && given->bytes <= CUDA_COPY_INLINE_BYTES)
		return;
	a->gpu = estimate_start_ns(given->direction == SPY_DIR_DTOH) * given->items +
	         (double)given->bytes / rate_of(c, given);
	if (c->hope == HOPE_LEAST && !isfinite(c->link.rate) &&
	    !isfinite(c->bandwidth[given->direction == SPY_DIR_DTOH]))
		a->gpu = fmax(a->gpu, fmin(pageable, a->own));
	/* A blocking call to the host is there for its result: it still waits for it. */
	bool waits = given->direction == SPY_DIR_DTOH && !given->async;
	a->own = fmin(a->own, COPY_CALL_NS);
	a->lead = fmax(a->lead, CUDA_START_NS);
	a->late = waits ? r->late : 0;
	a->wait = waits ? REPLAY_OWN : REPLAY_NO_WAIT;
	pin_wait(c, r, call_events, i);
	c->changed++;
}

/* ---- allocation and loading ---- */

static void no_alloc(struct whatif_change *c, const struct replay *r,
                     struct replay_act *call_events, uint32_t i)
{
	const struct call_event *given = &r->given[i];
	struct replay_act *a = &call_events[i];
	double nested = given->nested_alloc + given->nested_module;
	bool makes_graph =
	        (given->cls == SPY_CLASS_GRAPH && !cuda_role_is_graph_change(given->role)) ||
	        given->flags & CALL_EVENT_CAPTURED;

	if (given->cls == SPY_CLASS_ALLOC || given->cls == SPY_CLASS_MODULE || makes_graph) {
		a->own = 0;
		a->wait = REPLAY_NO_WAIT;
	} else if (nested > 0) {
		a->own = fmax(0, a->own - nested);
	} else if (given->flags & CALL_EVENT_FIRST && a->own > FIRST_OWN) {
		a->own = FIRST_OWN;
	} else {
		return;
	}
	c->changed++;
}

/* ---- copies beside kernels ---- */

static void overlap(struct whatif_change *c, const struct replay *r, struct replay_act *call_events,
                    uint32_t i)
{
	const struct call_event *given = &r->given[i];
	struct replay_act *a = &call_events[i];

	if (given->kind != TF_WORK_COPY || given->direction > SPY_DIR_DTOH ||
	    a->wait == REPLAY_STAGED || a->wait == REPLAY_BUFFER)
		return;
	if (c->hope == HOPE_MOST)
		a->flags |= REPLAY_IN | REPLAY_OUT;
	else
		a->flags |= given->direction == SPY_DIR_HTOD ? REPLAY_IN : REPLAY_OUT;
	c->changed++;
}

/* ---- kernels ---- */

static bool matches(const struct whatif_change *c, const struct call_log_work *w)
{
	return w->kernel && pattern_finds(c->kernel, w->kernel);
}

/* Only the classes' names are looked at, of which there are few. */
static void faster(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	const struct call_log *h = r->call_log;

	bool *meant = alloc_zeroed(h->work_count, sizeof(*meant));

	for (size_t k = 0; k < h->work_count; k++)
		meant[k] = matches(c, &h->works[k]);
	for (size_t i = 0; i < r->count; i++) {
		uint32_t work = r->given[i].work;
		if (work == CALL_LOG_NONE || !meant[work])
			continue;
		call_events[i].gpu /= c->factor;
		c->changed++;
	}
	free(meant);
}

/* ---- waiting for a CPU ---- */

/*
 * It is known how long threads waited for one, not when. A thread that waits for the GPU mostly
 * sleeps, or loses nothing by it: the wait lies in the rest of its time, or evenly in all of it.
 */
static double cpu_share(const struct whatif_change *c, const struct replay *r,
                        const struct replay_act *call_events)
{
	double whole = 0, active = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct replay_act *a = &call_events[i];
		whole += a->gap + a->ours + r->given[i].end - r->given[i].start;
		active += a->gap + a->own + fmax(0, a->late);
	}
	double least = fmin(1, fmax(0, c->cpu_wait)),
	       most = active > 0 ? fmax(least, fmin(1, c->cpu_wait * whole / active)) : least;
	return c->hope == HOPE_MOST ? most : c->hope == HOPE_LEAST ? least : (least + most) / 2;
}

static void no_cpu_wait(struct whatif_change *c, const struct replay *r,
                        struct replay_act *call_events)
{
	if (!(c->cpu_wait > 0))
		return;
	double left = 1 - cpu_share(c, r, call_events);
	for (size_t i = 0; i < r->count; i++) {
		call_events[i].gap *= left;
		call_events[i].own *= left;
		if (call_events[i].late > 0)
			call_events[i].late *= left;
		c->changed++;
	}
}

/* ---- the host's own work ---- */

/*
 * The host time before a call, in the middle: what issuing one costs the program or its framework.
 * 0 where it is longer than that ever is: then it is the program's own work.
 */
static double usual_gap(const struct replay *r)
{
	double *gaps = alloc_zeroed(r->count + 1, sizeof(*gaps)), median;

	for (size_t i = 0; i < r->count; i++)
		gaps[i] = r->call_events[i].gap;
	stats_sort(gaps, r->count);
	median = r->count ? stats_quantile(gaps, r->count, 0.5) : 0;
	free(gaps);
	return median <= LONGEST_GAP ? median : 0;
}

/*
 * What the host does outside CUDA is partly the cost of issuing calls, as a framework has it: where
 * these could be a graph's, in runs without longer times in between, and of any other call as much
 * as it usually is. Doing less of the program's own work does not take that away. At best it was
 * work that made the code which is loaded behind it.
 */
static void no_host_work(struct whatif_change *c, const struct replay *r,
                         struct replay_act *call_events)
{
	struct whatif_change graphs = {.what = WHATIF_GRAPHS, .graph_launch = NAN};
	struct replay_act *issued = alloc_zeroed(r->count, sizeof(*issued));

	double usual = c->hope == HOPE_MOST ? 0 : usual_gap(r);

	memcpy(issued, r->call_events, r->count * sizeof(*issued));
	change_graphs(&graphs, r, issued);
	for (uint32_t i = 0; i < r->count; i++) {
		struct replay_act *a = &call_events[i];
		if (issued[i].gap > usual) {
			double own = a->gap - usual;
			a->gap = usual + (c->hope == HOPE_LEAST ? own / c->hands : 0);
			c->changed++;
		}
		if (c->hope == HOPE_MOST && r->given[i].cls == SPY_CLASS_MODULE)
			a->own = 0;
	}
	free(issued);
}

/* ---- the whole ---- */

/* What the queue was later than estimated is GPU time: it changes with the rest of it. */
static void scale_shifts(const struct replay *r, struct replay_act *call_events)
{
	double sum = 0;

	for (size_t i = 0; i < r->count; i++)
		sum += call_events[i].gpu;
	if (!(r->gpu > 0) || sum >= r->gpu)
		return;
	for (size_t i = 0; i < r->count; i++)
		call_events[i].shift *= sum / r->gpu;
}

void change_acts(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	if (c->what == WHATIF_GRAPHS)
		change_graphs(c, r, call_events);
	else if (c->what == WHATIF_FUSED)
		change_fused(c, r, call_events);
	else if (c->what == WHATIF_STEP)
		change_steps(c, r, call_events);
	else if (c->what == WHATIF_NO_SYNC)
		change_no_sync(c, r, call_events);
	else if (c->what == WHATIF_KERNEL)
		faster(c, r, call_events);
	else if (c->what == WHATIF_CPU)
		no_cpu_wait(c, r, call_events);
	else if (c->what == WHATIF_HOST)
		no_host_work(c, r, call_events);
	for (uint32_t i = 0; i < r->count; i++) {
		if (c->what == WHATIF_PINNED)
			pin(c, r, call_events, i);
		else if (c->what == WHATIF_NO_ALLOC)
			no_alloc(c, r, call_events, i);
		else if (c->what == WHATIF_OVERLAP)
			overlap(c, r, call_events, i);
	}
	scale_shifts(r, call_events);
}
