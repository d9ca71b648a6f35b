/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/whatif/whatif_change.h"
#include "report/analysis/whatif/whatif_steps.h"

/*
 * What a graph's launch costs the host where this run has none, ns, and more for each node. 100
 * empty kernels: 1.5 us (H200, driver 580); NVIDIA gives 2.5 us and about 1 ns a node for straight
 * graphs from CUDA 12.6 on, and 0.2 us a node before. The most is for graphs that are not straight.
 */
const double whatif_graph_launch[] = {
        [HOPE_MIDDLE] = 2500, [HOPE_MOST] = 1500, [HOPE_LEAST] = 5000};
static const double node_launch[] = {[HOPE_MIDDLE] = 2, [HOPE_MOST] = 0, [HOPE_LEAST] = 25};
/*
 * From one node of a graph to the next, ns: of 24 steps of 155 to 2,615 kernels that were captured,
 * what they took beyond the estimated times of their kernels, by the kernel: in the median 0.17 us,
 * -0.04 to 0.44 without the outermost two on each side (docs/CUDA_FACTS.md); on the H200 100 empty
 * kernels take 50 us in a graph and 134 us on a stream, where 0.75 us of each are the gap.
 */
const double whatif_node_gap[] = {[HOPE_MIDDLE] = 150, [HOPE_MOST] = 0, [HOPE_LEAST] = 400};

#define LEAST_PIECES 5u    /* of a graph worth making, where it is no whole step */
#define MOST_PIECES  1024u /* longer runs become several */
#define LOOKED_UP    10e3  /* ns; what takes longer may load code */
#define LEAST_SEEN   3u    /* times that work is there: else it is not repeated */

struct graph_cost graph_cost(const struct whatif_change *c, uint32_t pieces)
{
	double launch = isfinite(c->graph_launch) ? c->graph_launch : whatif_graph_launch[c->hope];

	return (struct graph_cost){
	        .launch = launch + node_launch[c->hope] * pieces,
	        .gap = whatif_node_gap[c->hope],
	};
}

struct graph_run {            /* of one thread */
	uint32_t first, last; /* calls; last: a piece of work */
	uint32_t pieces, repeated;
};

static bool is_piece(const struct call_event *a, const struct replay_act *r)
{
	if (a->kind == TF_WORK_NONE || a->kind == TF_WORK_GRAPH || r->wait != REPLAY_NO_WAIT ||
	    a->flags & CALL_EVENT_FIRST)
		return false;
	return a->kind != TF_WORK_COPY || a->memory != SPY_MEM_PAGEABLE;
}

bool whatif_looks_up(const struct call_event *a)
{
	return a->cls == SPY_CLASS_MODULE && !cuda_role_waits_for_device(a->role) &&
	       a->end - a->start <= LOOKED_UP;
}

/* Calls that may stand between pieces: those that can be captured, or need not be made. */
static bool goes_with(const struct call_event *a, const struct replay_act *r)
{
	if (r->wait != REPLAY_NO_WAIT || a->flags & CALL_EVENT_CAPTURED ||
	    (a->result && a->cls != SPY_CLASS_QUERY))
		return false;
	return a->cls == SPY_CLASS_EVENT || a->cls == SPY_CLASS_QUERY ||
	       a->cls == SPY_CLASS_OTHER || a->cls == SPY_CLASS_CONTEXT || whatif_looks_up(a) ||
	       cuda_role_is_ordered(a->role);
}

/* Work of the program's own is before it. Where the host was held up that goes with the call, as it
 * comes as often as there is host time; at least it is work after all. */
static bool is_apart(const struct whatif_change *c, const struct replay_act *r)
{
	return r->gap > REPLAY_LONGEST_GAP && !(r->flags & REPLAY_STALLED && c->hope != HOPE_LEAST);
}

static void replace(struct whatif_change *c, const struct replay *r, struct replay_act *call_events,
                    const struct graph_run *run)
{
	struct graph_cost cost = graph_cost(c, run->pieces);

	for (uint32_t i = run->first;; i = r->next[i]) {
		struct replay_act *a = &call_events[i];
		a->own = i == run->first ? cost.launch : 0;
		if (i != run->first) {
			a->gap = a->ours = 0;
			a->space = fmin(a->space, cost.gap);
			a->flags |= REPLAY_PART;
		}
		c->changed++;
		if (i == run->last)
			break;
	}
}

static void end_run(struct whatif_change *c, const struct replay *r, struct replay_act *call_events,
                    struct graph_run *run)
{
	if (run->pieces >= LEAST_PIECES && run->repeated * 10 >= run->pieces * 9)
		replace(c, r, call_events, run);
	*run = (struct graph_run){0};
}

void change_graphs(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	const struct call_log *h = r->call_log;
	struct graph_run *runs = alloc_zeroed(h->thread_count, sizeof(*runs));

	for (uint32_t i = 0; i < r->count; i++) {
		const struct call_event *given = &r->given[i];
		struct graph_run *run = &runs[given->thread];
		bool piece = is_piece(given, &r->call_events[i]);
		bool apart = is_apart(c, &r->call_events[i]) ||
		             r->call_events[i].before != CALL_LOG_NONE;
		if (run->pieces && (apart || run->pieces >= MOST_PIECES ||
		                    (!piece && !goes_with(given, &r->call_events[i]))))
			end_run(c, r, call_events, run);
		if (!piece)
			continue;
		if (!run->pieces++)
			run->first = i;
		run->last = i;
		run->repeated += given->work != CALL_LOG_NONE &&
		                 h->works[given->work].call_events >= LEAST_SEEN;
	}
	for (size_t i = 0; i < h->thread_count; i++)
		end_run(c, r, call_events, &runs[i]);
	free(runs);
}
