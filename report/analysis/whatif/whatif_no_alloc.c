/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What if memory, code and graphs were made once? Allocations, frees, module loads and the making
 * of graphs go, and what they wait for.
 */
#include <math.h>
#include <stdlib.h>

#include "report/analysis/whatif/whatif_change.h"
#include "report/base/alloc.h"

#define KERNEL_LEAST 2e3  /* of the GPU, ns */
#define FIRST_OWN    10e3 /* a launch that need not load its kernel takes no longer, ns */
/*
 * What takes the place of an allocation or free is a pool, mostly: PyTorch's takes 0.5 to 1 us of
 * the host, CuPy's 4.6 (a k-means of 46 such calls a step took 0.21 ms longer with it, on an H200,
 * than without them).
 */
static const double pool[] = {[HOPE_MIDDLE] = 500, [HOPE_MOST] = 0, [HOPE_LEAST] = 5000};
#define POOL_LEAST 5000.0 /* ns; a call that takes no longer is a pool's already */
/*
 * Code that runs right behind an allocation or free of the driver is slow: the host's kernel has
 * mapped memory or taken it away, and caches are cold. In the same programs with a pool (CuPy,
 * Numba; H100, 2026-11-25) launches took 0.54 to 0.83 of their time, and what Python does between
 * calls 0.37 to 0.89, the median 0.5. That is so of what it takes to come to a call (WAY_MOST), not
 * of longer work.
 */
#define BEHIND_CALLS 4
static const double behind_left[] = {[HOPE_MIDDLE] = 0.5, [HOPE_MOST] = 0.35, [HOPE_LEAST] = 1};
/*
 * What the program's language takes to come to such a call goes with it, at best: an array that is
 * made once needs no object for each use, and none is thrown away. (Numba takes 34 us to a
 * cuMemAlloc, and a loop that keeps its arrays took 0.30 ms a step, where 0.38 were left without
 * the calls themselves.) Of 24 measured gains 22 were more than with all of that way left, 1.25
 * times in the median; of 12 more, of seven programs, ten were 1.3 to 3.6 times as much as where
 * 0.6 of it went and 0.6 was left behind, and two 0.85.
 */
static const double way_goes[] = {[HOPE_MIDDLE] = 0.8, [HOPE_MOST] = 1, [HOPE_LEAST] = 0};
#define WAY_MOST 100e3 /* ns; more is work of the program's own */

/*
 * The pages of managed memory come to the GPU while the first kernel that touches them runs: 8 to
 * 14 bytes a ns of 4 to 512 MiB, 200 us a 2 MiB (H100, driver 580; writing them again 1 to 2.5
 * TB/s). Where the host touched them first it is not known: for the least gain none of it goes.
 */
#define TOUCH_MIDDLE 14.0 /* bytes a ns: no more of the kernels' time than it takes surely */
#define TOUCH_MOST   8.0
#define TOUCHED      1000.0 /* bytes a ns of a kernel that finds them there */

/* The kernels behind such an allocation, on any stream, take that much less. */
static void no_faults(struct whatif_change *c, const struct replay *r,
                      struct replay_act *call_events)
{
	double rate = c->hope == HOPE_MOST ? TOUCH_MOST : TOUCH_MIDDLE, pending = 0, latest = 0;

	if (c->hope == HOPE_LEAST)
		return;
	for (uint32_t i = 0; i < r->count; i++) {
		const struct call_event *given = &r->given[i];
		if (given->cls == SPY_CLASS_ALLOC && given->memory == SPY_MEM_MANAGED &&
		    !given->is_free && !given->result) {
			latest = (double)given->bytes;
			pending += latest;
		} else if (given->kind == TF_WORK_KERNEL && pending > 0) {
			double *gpu = &call_events[i].gpu,
			       left = fmax(KERNEL_LEAST, latest / TOUCHED),
			       goes = fmin(fmax(0, *gpu - left), pending / rate);
			*gpu -= goes;
			c->managed = true;
			pending -= goes * rate;
		}
	}
}

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
		bool drives = given->cls == SPY_CLASS_ALLOC && a->own > POOL_LEAST;
		if (drives && a->before == CALL_LOG_NONE)
			a->gap -= way_goes[c->hope] * fmin(a->gap, WAY_MOST);
		a->own = given->cls == SPY_CLASS_ALLOC ? fmin(a->own, pool[c->hope]) : 0;
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
	double left = behind_left[c->hope];
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
		call_events[i].gap -= (1 - left) * fmin(call_events[i].gap, WAY_MOST);
		if (r->given[i].cls == SPY_CLASS_LAUNCH)
			call_events[i].own *= left;
	}
	free(behind);
}

void change_no_alloc(struct whatif_change *c, const struct replay *r,
                     struct replay_act *call_events)
{
	quicken_behind(c, r, call_events);
	no_faults(c, r, call_events);
	for (uint32_t i = 0; i < r->count; i++)
		no_alloc(c, r, call_events, i);
}
