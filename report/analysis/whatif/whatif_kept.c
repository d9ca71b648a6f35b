/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What if graphs were launched as they are? Their nodes are given no other parameters before each
 * launch, as XLA gives them where the arrays of a call lie elsewhere than those of the one before.
 * Of three JAX programs that change 6, 52 and 173 nodes a launch, whose arrays then stayed
 * (donate_argnums), a step took 70, 233 and 850 us less: from the first change to the call behind
 * the last one it had been 37, 160 and 716 (H200, driver 580, 2026-11-29).
 */
#include <math.h>
#include <stdlib.h>

#include "report/analysis/whatif/whatif_change.h"

/* Host time before the first change, ns, as WHATIF_CHANGE_PAUSE is before the next ones. Behind the
 * last one the launch follows, or anything else. */
#define BEFORE_FIRST 200e3

static bool is_change(const struct call_event *e)
{
	return e->role == CUDA_ROLE_GRAPH_CHANGED && !e->result;
}

/* What goes of the time from call i to the thread's next one. */
static double between(const struct whatif_change *c, const struct replay *r, uint32_t i)
{
	uint32_t next = r->next[i];

	if (next == CALL_LOG_NONE || c->hope == HOPE_LEAST)
		return 0;
	bool change = is_change(&r->given[i]), more = is_change(&r->given[next]);
	double most = change && (more || c->hope == HOPE_MOST)  ? WHATIF_CHANGE_PAUSE
	              : !change && more && c->hope == HOPE_MOST ? BEFORE_FIRST
	                                                        : 0,
	       apart = r->given[next].start - r->given[i].end - r->given[next].ours;
	return fmin(fmax(0, apart), most);
}

/* A call that follows one of another thread, as the first work after a result was read there, has
 * all since then in its gap: also the changes of its own thread ahead of it, that came behind. */
static double ahead(const struct whatif_change *c, const struct replay *r, const uint32_t *last,
                    uint32_t i)
{
	double since = r->given[r->call_events[i].before].end, goes = 0;

	for (uint32_t k = last[i]; k != CALL_LOG_NONE && r->given[k].start >= since; k = last[k]) {
		if (!is_change(&r->given[k]))
			return goes + between(c, r, k);
		goes += r->call_events[k].own + between(c, r, k);
	}
	return goes;
}

void change_kept(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	uint32_t *last = whatif_find_last(r);

	for (uint32_t i = 0; i < r->count; i++) {
		struct replay_act *a = &call_events[i];
		double goes = a->before != CALL_LOG_NONE ? ahead(c, r, last, i)
		              : last[i] != CALL_LOG_NONE ? between(c, r, last[i])
		                                         : 0;
		a->gap -= fmin(a->gap, goes);
		if (is_change(&r->given[i])) {
			a->own = 0;
			c->changed++;
		}
	}
	free(last);
}
