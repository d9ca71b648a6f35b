/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/whatif/whatif_change.h"
#include "shim/core/cuda/engines.h"

/*
 * Pageable memory of a copy is mostly made for it, and given back behind it: the host's kernel
 * takes its pages away again, which pinned memory out of a pool keeps. Of a page, ns: 100 on a
 * plain machine, 400 to 900 on a virtual one.
 */
#define PAGE_NS         250.0
#define PAGE_BYTES      4096.0
#define RIGHT_BEHIND_NS 10e3 /* nothing of the program is between two calls so close */
#define FIRST_OWN       10e3 /* a launch that need not load its kernel takes no longer, ns */
/*
 * What takes the place of an allocation or free is a pool, mostly: PyTorch's takes 0.5 to 1 us of
 * the host, CuPy's 4.6 (a k-means of 46 such calls a step took 0.21 ms longer with it, on an H200,
 * than without them).
 */
#define POOL_NS    500.0
#define POOL_LEAST 5000.0
/*
 * Code that runs right behind an allocation or free of the driver is slow: the host's kernel has
 * mapped memory or taken it away, and caches are cold. In the same programs with a pool (CuPy,
 * Numba; H100, 2026-11-25) launches took 0.54 to 0.83 of their time, and what Python does between
 * calls 0.37 to 0.89, the median 0.5.
 */
#define BEHIND_CALLS  4
#define BEHIND_MOST   0.4
#define BEHIND_MIDDLE 0.6

/*
 * The host time before a call, in the middle: what issuing one costs the program or its framework.
 * 0 where it is longer than that ever is: then it is the program's own work.
 */
static double usual_gap(const struct replay *r)
{
	double *gaps = alloc_zeroed(r->count + 1, sizeof(*gaps)), median;

	for (size_t i = 0; i < r->count; i++)
		gaps[i] = r->call_events[i].gap;
	median = r->count ? stats_select(gaps, r->count, 0.5) : 0;
	free(gaps);
	return median <= LONGEST_GAP ? median : 0;
}

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

/*
 * What the host takes right before a copy and right behind it, beyond what is usual between calls,
 * goes as far as mapping its pages may have made it; half of that in the middle.
 */
static void unmap(const struct whatif_change *c, const struct replay *r,
                  struct replay_act *call_events, uint32_t copy, double usual)
{
	double part = c->hope == HOPE_MOST     ? 1
	              : c->hope == HOPE_MIDDLE ? 0.5
	                                       : 0,
	       left = part * PAGE_NS * (double)r->given[copy].bytes / PAGE_BYTES;
	uint32_t behind = r->next[copy];

	if (behind != CALL_LOG_NONE && r->given[behind].role == CUDA_ROLE_SYNC_STREAM)
		behind = r->next[behind];
	const uint32_t at[] = {copy, behind};
	for (int k = 0; k < 2; k++) {
		if (at[k] == CALL_LOG_NONE || r->call_events[at[k]].before != CALL_LOG_NONE)
			continue;
		double goes = fmin(left, fmax(0, call_events[at[k]].gap - usual));
		call_events[at[k]].gap -= goes;
		left -= goes;
	}
}

/* A pageable copy over the bus becomes one of pinned memory. */
static void pin(struct whatif_change *c, const struct replay *r, struct replay_act *call_events,
                uint32_t i, double usual)
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
	unmap(c, r, call_events, i, usual);
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
		double pool = c->hope == HOPE_MIDDLE  ? POOL_NS
		              : c->hope == HOPE_LEAST ? POOL_LEAST
		                                      : 0;
		a->own = given->cls == SPY_CLASS_ALLOC ? fmin(a->own, pool) : 0;
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

/* The host's own time of the next calls of the same thread. */
static void quicken_behind(const struct whatif_change *c, const struct replay *r,
                           struct replay_act *call_events)
{
	double left = c->hope == HOPE_MOST     ? BEHIND_MOST
	              : c->hope == HOPE_MIDDLE ? BEHIND_MIDDLE
	                                       : 1;
	bool *behind = alloc_zeroed(r->count + 1, sizeof(*behind));

	for (uint32_t i = 0; i < r->count; i++)
		if (r->given[i].cls == SPY_CLASS_ALLOC && r->call_events[i].own > POOL_LEAST) {
			uint32_t next = r->next[i];
			for (int k = 0; k < BEHIND_CALLS && next != CALL_LOG_NONE; k++) {
				behind[next] = true;
				next = r->next[next];
			}
		}
	for (uint32_t i = 0; i < r->count; i++) {
		if (!behind[i])
			continue;
		call_events[i].gap *= left;
		if (r->given[i].cls == SPY_CLASS_LAUNCH)
			call_events[i].own *= left;
	}
	free(behind);
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

/* Of the time before each call, the part that may be a wait outside CUDA still (free it). */
static double *still_waiting(const struct whatif_change *c, const struct replay *r)
{
	double *part = alloc_zeroed(r->count + 1, sizeof(*part));
	double most = c->hope == HOPE_MIDDLE ? READ_MIDDLE : c->hope == HOPE_LEAST ? READ_MOST : 0;
	bool behind = false;

	for (size_t i = 0; i < r->count; i++) {
		part[i] = behind ? most : 0;
		behind &= r->given[i].kind == TF_WORK_NONE;
		behind |= (r->call_events[i].flags & REPLAY_READ) != 0;
	}
	return part;
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

	double usual = c->hope == HOPE_MOST ? 0 : usual_gap(r), *waits = still_waiting(c, r);

	memcpy(issued, r->call_events, r->count * sizeof(*issued));
	change_graphs(&graphs, r, issued);
	for (uint32_t i = 0; i < r->count; i++) {
		struct replay_act *a = &call_events[i];
		if (issued[i].gap > usual) {
			double own = a->gap - usual,
			       least = c->hope == HOPE_LEAST ? own / c->hands : 0;
			a->gap = fmax(usual + least, waits[i] * a->gap);
			c->changed++;
		}
		if (c->hope == HOPE_MOST && r->given[i].cls == SPY_CLASS_MODULE)
			a->own = 0;
	}
	free(issued);
	free(waits);
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
	else if (c->what == WHATIF_NO_ALLOC)
		quicken_behind(c, r, call_events);
	else if (c->what == WHATIF_OVERLAP)
		change_overlap(c, r, call_events);
	double usual = c->what == WHATIF_PINNED ? usual_gap(r) : 0;
	for (uint32_t i = 0; i < r->count; i++) {
		if (c->what == WHATIF_PINNED)
			pin(c, r, call_events, i, usual);
		else if (c->what == WHATIF_NO_ALLOC)
			no_alloc(c, r, call_events, i);
	}
	scale_shifts(r, call_events);
}
