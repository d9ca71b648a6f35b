/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What if copies of pageable memory were asynchronous copies of pinned memory? What a library
 * copies to pinned memory of its own before it sends it, and from there to an array that it makes
 * for a result, would not be copied.
 */
#include <math.h>
#include <stdlib.h>

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
/* Copies of memory whose pages are there go at 8 bytes a ns and more, those that make their pages
 * at 5 and less (H200s' hosts). */
#define PAGES_THERE 6.0
/* Of what making its pages takes, taking them away takes so much: 8 ms of 28 behind 44 MB. */
#define TAKING_PART  0.3
#define UNMAP_WITHIN 8 /* calls */
/*
 * The host runs slowly behind a large copy of pageable memory: all of it went through its caches.
 * The same programs with pinned memory, one after the other on an H100's host (2026-11-26): what
 * PyTorch does between two launches takes 0.49 of the time behind 64 MB (and launching 0.75), 0.63
 * (0.81) behind 24 MB, and as long as before behind 19 MB. So it is for as long as the copy took.
 */
#define LARGE_BYTES (4u << 20) /* twice what the cache of a core holds */
static const double behind_left[] = {[HOPE_MIDDLE] = 0.8, [HOPE_MOST] = 0.5, [HOPE_LEAST] = 1};
/* Of what a library copies to pinned memory of its own, or from there, so much goes at least: what
 * fills the program's pinned memory, or looks at it, may be a copy too. */
static const double staging_goes[] = {[HOPE_MIDDLE] = 1, [HOPE_MOST] = 1, [HOPE_LEAST] = 0.5};

/* Of what the link carries, a large copy. */
static const double carried[] = {[HOPE_MIDDLE] = ESTIMATE_LINK_REACHED,
                                 [HOPE_MOST] = ESTIMATE_LINK_MOST,
                                 [HOPE_LEAST] = ESTIMATE_LINK_LEAST};

static double rate_of(struct whatif_change *c, const struct call_event *given)
{
	double known = c->bandwidth[given->direction == SPY_DIR_DTOH];

	if (isfinite(known))
		return known;
	c->assumed_bandwidth = true;
	if (isfinite(c->link.rate))
		return c->link.rate * carried[c->hope];
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

/* What the copy took longer than one of memory whose pages are there, ns: it made them. 0 = it made
 * none. */
static double making(const struct replay *r, uint32_t copy)
{
	double there = (double)r->given[copy].bytes / PAGES_THERE;

	return r->given[copy].direction == SPY_DIR_DTOH ? fmax(0, r->call_events[copy].own - there)
	                                                : 0;
}

/*
 * What the host takes right before a copy and behind it until it gives work, beyond what is usual
 * between calls, goes as far as mapping its pages may have made it; half of that in the middle, all
 * of it where the copy's own time shows that they were made, and what that took.
 */
static void unmap(const struct whatif_change *c, const struct replay *r,
                  struct replay_act *call_events, uint32_t copy, double usual)
{
	double made = making(r, copy),
	       part = c->hope == HOPE_MOST     ? 1
	              : c->hope == HOPE_MIDDLE ? (made > 0 ? 1 : 0.5)
	                                       : 0,
	       left = part *
	              fmax(PAGE_NS * (double)r->given[copy].bytes / PAGE_BYTES, TAKING_PART * made);
	uint32_t at = copy;

	for (int n = 0; at != CALL_LOG_NONE && n < UNMAP_WITHIN && left > 0;
	     n++, at = r->next[at]) {
		if (r->call_events[at].before != CALL_LOG_NONE)
			continue;
		double goes = fmin(left, fmax(0, call_events[at].gap - usual));
		call_events[at].gap -= goes;
		left -= goes;
		if (at != copy && r->given[at].kind != TF_WORK_NONE)
			break;
	}
}

static bool is_meant(const struct replay *r, uint32_t i)
{
	const struct call_event *given = &r->given[i];
	uint8_t wait = r->call_events[i].wait;

	if (given->kind != TF_WORK_COPY || given->memory != SPY_MEM_PAGEABLE ||
	    given->direction > SPY_DIR_DTOH)
		return false;
	return wait != REPLAY_NO_WAIT || given->bytes > CUDA_COPY_INLINE_BYTES;
}

/* A pageable copy over the bus becomes one of pinned memory. */
static void pin(struct whatif_change *c, const struct replay *r, struct replay_act *call_events,
                uint32_t i, double usual)
{
	const struct call_event *given = &r->given[i];
	struct replay_act *a = &call_events[i];
	double pageable = a->gpu;

	if (!is_meant(r, i))
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

/* The host's own time of this thread's next calls. */
static void quicken_behind(const struct whatif_change *c, const struct replay *r,
                           struct replay_act *call_events, uint32_t copy)
{
	const struct call_event *from = &r->given[copy];
	double left = behind_left[c->hope],
	       until = from->end + r->call_events[copy].own; /* what it waited for is no copying */

	if (from->bytes < LARGE_BYTES || r->call_events[copy].wait != REPLAY_STAGED)
		return;
	for (uint32_t i = r->next[copy]; i != CALL_LOG_NONE && r->given[i].start < until;
	     i = r->next[i]) {
		if (r->given[i].bytes >= LARGE_BYTES && r->call_events[i].wait == REPLAY_STAGED)
			break;
		if (r->call_events[i].before == CALL_LOG_NONE)
			call_events[i].gap *= left;
		if (r->given[i].cls == SPY_CLASS_LAUNCH)
			call_events[i].own *= left;
	}
}

/* What is in pinned memory already is not copied to it, nor from it. */
static void no_staging(struct whatif_change *c, const struct replay *r,
                       struct replay_act *call_events)
{
	unsigned kinds = WHATIF_SENT | WHATIF_MADE | WHATIF_READ;
	double *staging = whatif_staging(r, kinds, &c->staged);

	for (uint32_t i = 0; i < r->count; i++) {
		if (!(staging[i] > 0))
			continue;
		call_events[i].gap -= staging_goes[c->hope] * staging[i];
		c->changed++;
	}
	free(staging);
}

void change_pinned(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	double usual = whatif_usual_gap(r);

	for (uint32_t i = 0; i < r->count; i++)
		pin(c, r, call_events, i, usual);
	for (uint32_t i = 0; i < r->count; i++)
		if (is_meant(r, i))
			quicken_behind(c, r, call_events, i);
	no_staging(c, r, call_events);
}
