/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What if graphs were launched as they are? Their nodes are given no other parameters before each
 * launch, as XLA gives them where the arrays of a call lie elsewhere than those of the one before.
 * Of three JAX programs that change 6, 52 and 173 nodes a launch, whose arrays then stayed
 * (donate_argnums), a step took 70, 233 and 850 us less: what lies between the changes is 37, 160
 * and 716 (H200, driver 580, 2026-11-29).
 */
#include <math.h>
#include <stdlib.h>

#include "report/analysis/whatif/whatif_change.h"
#include "report/base/alloc.h"

/* Host time before a change, ns: what finds out that, and how, a node has to change. More of it is
 * work of the program's own. */
#define BEFORE_NEXT  50e3
#define BEFORE_FIRST 200e3

static bool is_change(const struct call_event *e)
{
	return e->role == CUDA_ROLE_GRAPH_CHANGED;
}

/* What goes of the time from call i to the thread's next one. */
static double between(const struct whatif_change *c, const struct replay *r, uint32_t i)
{
	uint32_t next = r->next[i];
	bool change = is_change(&r->given[i]), first = !change && is_change(&r->given[next]);
	double most = change && c->hope != HOPE_LEAST ? BEFORE_NEXT
	              : first && c->hope == HOPE_MOST ? BEFORE_FIRST
	                                              : 0;

	return fmin(fmax(0, r->given[next].start - r->given[i].end), most);
}

/* A call that follows one of another thread, as the first work after a result was read there, has
 * all since then in its gap: what goes of its own thread's calls ahead of it as well. */
void change_kept(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	double *gone = alloc_zeroed(r->call_log->thread_count + 1, sizeof(*gone));

	for (uint32_t i = 0; i < r->count; i++) {
		struct replay_act *a = &call_events[i];
		double *ahead = &gone[r->given[i].thread];
		if (a->before != CALL_LOG_NONE)
			a->gap -= fmin(a->gap, *ahead);
		if (is_change(&r->given[i])) {
			*ahead += a->own;
			a->own = 0;
			c->changed++;
		} else {
			*ahead = 0;
		}
		if (r->next[i] == CALL_LOG_NONE)
			continue;
		struct replay_act *next = &call_events[r->next[i]];
		double goes = between(c, r, i);
		*ahead += goes;
		if (next->before == CALL_LOG_NONE)
			next->gap -= fmin(next->gap, goes);
	}
	free(gone);
}
