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
#include <string.h>

#include "report/analysis/whatif/whatif_change.h"
#include "report/base/alloc.h"

/* Host time before the first change, ns, as WHATIF_CHANGE_PAUSE is before the next ones. Behind the
 * last one the launch follows, or anything else. */
#define BEFORE_FIRST 200e3

struct kept {
	const struct whatif_change *c;
	const struct replay *r;
	uint32_t *last;  /* the call before each, of the same thread */
	bool *of_change; /* it changes a node, or asks for what the change behind it needs */
};

static bool is_change(const struct call_event *e)
{
	return e->role == CUDA_ROLE_GRAPH_CHANGED && !e->result;
}

bool whatif_asks_for_change(const struct call_log *h, const struct call_event *e)
{
	return e->call < h->call_count && !strcmp(h->calls[e->call].name, "cuKernelGetFunction") &&
	       !e->result && e->end - e->start <= WHATIF_CHANGE_PAUSE;
}

static bool asks_for_change(const struct kept *k, uint32_t i)
{
	const struct call_event *e = &k->r->given[i];
	uint32_t next = k->r->next[i];

	return next != CALL_LOG_NONE && k->of_change[next] &&
	       k->r->given[next].start - e->end <= WHATIF_CHANGE_PAUSE &&
	       whatif_asks_for_change(k->r->call_log, e);
}

/* What goes of the time from call i to the thread's next one. */
static double between(const struct kept *k, uint32_t i)
{
	const struct whatif_change *c = k->c;
	const struct replay *r = k->r;
	uint32_t next = r->next[i];

	if (next == CALL_LOG_NONE || c->hope == HOPE_LEAST)
		return 0;
	bool change = k->of_change[i], more = k->of_change[next];
	double most = change && (more || c->hope == HOPE_MOST)  ? WHATIF_CHANGE_PAUSE
	              : !change && more && c->hope == HOPE_MOST ? BEFORE_FIRST
	                                                        : 0,
	       apart = r->given[next].start - r->given[i].end - r->given[next].ours;
	return fmin(fmax(0, apart), most);
}

/* A call that follows one of another thread, as the first work after a result was read there, has
 * all since then in its gap: also the changes of its own thread ahead of it, that came behind. */
static double ahead(const struct kept *k, uint32_t i)
{
	const struct replay *r = k->r;
	double since = r->given[r->call_events[i].before].end, goes = 0;

	for (uint32_t n = k->last[i]; n != CALL_LOG_NONE && r->given[n].start >= since;
	     n = k->last[n]) {
		if (!k->of_change[n])
			return goes + between(k, n);
		goes += r->call_events[n].own + between(k, n);
	}
	return goes;
}

void change_kept(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	struct kept k = {c, r, whatif_find_last(r),
	                 alloc_zeroed(r->count + 1, sizeof(*k.of_change))};

	for (uint32_t i = r->count; i-- > 0;)
		k.of_change[i] = is_change(&r->given[i]) || asks_for_change(&k, i);
	for (uint32_t i = 0; i < r->count; i++) {
		struct replay_act *a = &call_events[i];
		double goes = a->before != CALL_LOG_NONE   ? ahead(&k, i)
		              : k.last[i] != CALL_LOG_NONE ? between(&k, k.last[i])
		                                           : 0;
		a->gap -= fmin(a->gap, goes);
		if (k.of_change[i])
			a->own = 0;
		c->changed += is_change(&r->given[i]);
	}
	free(k.last);
	free(k.of_change);
}
