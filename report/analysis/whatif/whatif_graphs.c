/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/whatif/whatif_change.h"
#include "report/analysis/whatif/whatif_steps.h"

/*
 * What a graph's launch costs the host where this run has none, ns. 100 empty kernels: 1.5 us
 * (H200, driver 580); NVIDIA gives 2.5 us and about 1 ns a node for straight graphs from CUDA 12.6
 * on, and 0.2 us a node before. The most is for graphs that are not straight.
 */
#define GRAPH_LAUNCH_NS 2500.0
#define GRAPH_NODE_NS   2.0
#define GRAPH_LEAST_NS  1500.0
#define GRAPH_MOST_NS   5000.0
#define GRAPH_NODE_MOST 50.0
/*
 * From one node of a graph to the next, ns: 0.06 to 0.25 us in steps of 202 and 278 kernels of
 * PyTorch, 0.55 to 0.7 with a copy to four or five kernels and its time (H200 and H100,
 * docs/CUDA_FACTS.md); on the H200 100 empty kernels take 50 us in a graph and 134 us on a stream,
 * where 0.75 us of each are the gap.
 */
#define NODE_GAP_NS    200.0
#define NODE_GAP_LEAST 0.0
#define NODE_GAP_MOST  500.0

#define LEAST_PIECES STEP_PIECES /* of a graph worth making */
#define MOST_PIECES  1024u       /* longer runs become several */
#define LEAST_SEEN   3u          /* times that work is there: else it is not repeated */

struct graph_cost graph_cost(const struct whatif_change *c, uint32_t pieces)
{
	double node = c->hope == HOPE_MIDDLE ? GRAPH_NODE_NS
	              : c->hope == HOPE_MOST ? 0
	                                     : GRAPH_NODE_MOST;
	double launch = c->hope == HOPE_MIDDLE ? GRAPH_LAUNCH_NS
	                : c->hope == HOPE_MOST ? GRAPH_LEAST_NS
	                                       : GRAPH_MOST_NS;

	if (isfinite(c->graph_launch))
		launch = c->graph_launch;
	return (struct graph_cost){
	        .launch = launch + node * pieces,
	        .gap = c->hope == HOPE_MIDDLE ? NODE_GAP_NS
	               : c->hope == HOPE_MOST ? NODE_GAP_LEAST
	                                      : NODE_GAP_MOST,
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

/* Calls that may stand between pieces: those that can be captured, or need not be made. */
static bool goes_with(const struct call_event *a, const struct replay_act *r)
{
	if (r->wait != REPLAY_NO_WAIT || a->flags & CALL_EVENT_CAPTURED ||
	    (a->result && a->cls != SPY_CLASS_QUERY))
		return false;
	return a->cls == SPY_CLASS_EVENT || a->cls == SPY_CLASS_QUERY ||
	       a->cls == SPY_CLASS_OTHER || a->cls == SPY_CLASS_CONTEXT ||
	       cuda_role_is_ordered(a->role);
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
		bool apart = r->call_events[i].gap > LONGEST_GAP ||
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
