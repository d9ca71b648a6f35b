/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/whatif/whatif_change.h"
#include "report/analysis/whatif/whatif_steps.h"
#include "shim/core/cuda/engines.h"

/*
 * Steps that repeat become one launch of a graph each, however long the host takes between their
 * calls: that time goes with the calls. What stays: the waits for the GPU, the copies that bring
 * inputs, allocations; and the longest stretch that the host spends outside CUDA in each step,
 * before the graph's launch, as it may be a loader or the program's own logic; what leads from a
 * wait to the first piece of work behind it; and what issuing a call usually takes, once for each
 * launch of a graph.
 *
 * In the best case that stretch is the framework's own, and goes; but hardly one of milliseconds.
 *
 * A wait inside a step divides its graph in two, as the host decides there what comes next, and so
 * does an allocation or free that no graph takes. The best case has none: the results are read at
 * the step's end, and the memory is there before. Where most steps repeat, the others
 * are graphs as well in the best case: of a shape that all are padded to, or one for each shape.
 * Where nearly all do, in the middle too: what few have besides is a log now and then, a buffer
 * that is filled once, or where one step was taken for the next, and whoever captures the step
 * leaves it out or captures it as well.
 */
#define MOST       0.5
#define NEARLY_ALL 0.8

struct segment {        /* of the steps of one thread: from a wait to a wait */
	uint32_t lead;  /* its first call */
	uint32_t first; /* its first and last piece of work */
	uint32_t last;
	uint32_t pieces;
};

struct whole {
	struct whatif_change *c;
	const struct replay *r;
	const struct whatif_steps *steps;
	struct replay_act *acts;
	bool free; /* the best case: the waits inside go, and what the host does outside CUDA */
	bool all;  /* steps unlike the others are graphs too */
};

static const struct whatif_step *step_of(const struct whole *w, uint32_t i)
{
	return w->steps->of[i] == CALL_LOG_NONE ? NULL : &w->steps->steps[w->steps->of[i]];
}

static bool repeats(const struct whole *w, uint32_t i)
{
	const struct whatif_step *step = step_of(w, i);

	return step && (step->repeats || (w->all && step->pieces >= STEP_PIECES));
}

/* Host time that issuing a call costs in the program's own code or its framework. */
static double usual_gap(const struct whole *w, uint32_t i)
{
	return fmin(w->r->call_events[i].gap, w->steps->usual);
}

/* Of a call besides the graph's launch: whether it is still made is not known. */
static double issuing(const struct whole *w, uint32_t i)
{
	return w->c->hope == HOPE_LEAST ? usual_gap(w, i) : 0;
}

/* Of the graph's launch, which comes for the calls from `i` on: it is issued as they were. */
static double launching(const struct whole *w, uint32_t i)
{
	return w->free ? 0 : usual_gap(w, i);
}

/* What stays of a stretch of host time that no graph takes away. */
static double stretch(const struct whole *w, double ns)
{
	return w->free ? (1 - WHATIF_STRETCH_GOES) * fmax(0, ns - WHATIF_FRAMEWORK_NS) : ns;
}

/* Before the first piece comes what leads to it: another thread, which waited, hands over to the
 * one that launches (JAX). That is so with a graph as well. */
static double handing_over(const struct whole *w, const struct segment *g, uint32_t i)
{
	return i == g->lead ? 0 : stretch(w, w->r->call_events[i].gap);
}

/* What of the time before a call stays. */
static double staying(const struct whole *w, uint32_t i)
{
	const struct whatif_step *step = step_of(w, i);

	if (!step || step->stays != i)
		return 0;
	if (!w->free)
		w->c->stays += step->gap;
	return stretch(w, step->gap);
}

/* Records, waits for events and the like are part of the graph, or are not made any more. */
static bool is_captured(const struct call_event *a, const struct replay_act *r)
{
	return r->wait == REPLAY_NO_WAIT && a->kind == TF_WORK_NONE &&
	       (a->cls == SPY_CLASS_EVENT || a->cls == SPY_CLASS_QUERY ||
	        a->cls == SPY_CLASS_CONTEXT || whatif_looks_up(a) || cuda_role_is_ordered(a->role));
}

/* It waits for no work of its own step, and is done when its call returns. */
static void copied_before(struct replay_act *a)
{
	a->wait = REPLAY_NO_WAIT;
	a->gpu = 0;
}

static void collapse(struct whole *w, const struct segment *g)
{
	struct graph_cost cost = graph_cost(w->c, g->pieces);
	double stays = 0;
	bool begun = false;

	for (uint32_t i = g->lead;; i = w->steps->next[i]) {
		const struct call_event *given = &w->r->given[i];
		struct replay_act *a = &w->acts[i];
		bool piece = whatif_step_piece(given, &w->r->call_events[i]);
		double stay = staying(w, i);
		stays += stay > 0 || begun ? stay : handing_over(w, g, i);
		begun |= i == g->first;
		a->gap = a->ours = 0;
		/* It goes on behind a call ahead of the graph's: behind what stays before that. */
		if (i != g->lead && a->before < g->lead)
			a->before = g->lead;
		if (piece) {
			a->own = i == g->first ? cost.launch : 0;
			a->wait = REPLAY_NO_WAIT;
		} else if (is_captured(given, a)) {
			a->own = 0;
		} else {
			a->gap = i == g->lead ? 0 : issuing(w, i);
		}
		if (begun && a->wait != REPLAY_NO_WAIT) /* an input: it was copied before */
			copied_before(a);
		if (piece && i != g->first) {
			a->space = fmin(a->space, cost.gap);
			a->flags |= REPLAY_PART;
		}
		w->c->changed += piece;
		if (i == g->last)
			break;
	}
	w->acts[g->lead].gap += stays + launching(w, g->lead);
}

/* The calls behind the last piece, before `end`. */
static void trail(struct whole *w, const struct segment *g, uint32_t end)
{
	for (uint32_t i = w->steps->next[g->last]; i != CALL_LOG_NONE && i < end;
	     i = w->steps->next[i]) {
		struct replay_act *a = &w->acts[i];
		a->gap = staying(w, i) + issuing(w, i);
		a->ours = 0;
		if (is_captured(&w->r->given[i], a))
			a->own = 0;
	}
}

/* `end`: the first call that is not part of it. */
static void end_segment(struct whole *w, struct segment *g, uint32_t end)
{
	if (g->pieces >= STEP_PIECES) {
		collapse(w, g);
		trail(w, g, end);
	}
	*g = (struct segment){.lead = CALL_LOG_NONE};
}

/* In the best case the step's last call alone waits. */
static void defer(struct whole *w, uint32_t i, uint32_t *late)
{
	struct replay_act *a = &w->acts[i];

	*late = i;
	a->wait = REPLAY_NO_WAIT;
	a->own = fmin(a->own, w->r->late + CUDA_START_NS);
}

/* The last piece waits for its own end where the waits before it were deferred. */
static void settle(struct whole *w, const struct segment *g, uint32_t *late)
{
	if (*late != CALL_LOG_NONE && g->pieces) {
		w->acts[g->last].wait = REPLAY_OWN;
		w->acts[g->last].late = w->r->late;
	}
	*late = CALL_LOG_NONE;
}

static bool is_last_wait(const struct whole *w, const uint32_t *waits_left, uint32_t i)
{
	return waits_left[w->steps->of[i]] <= 1;
}

/* How many waits each step has. */
static uint32_t *count_waits(const struct whole *w)
{
	uint32_t *waits = alloc_zeroed(w->steps->count + 1, sizeof(*waits));

	for (uint32_t i = 0; i < w->r->count; i++)
		if (w->steps->of[i] != CALL_LOG_NONE &&
		    whatif_step_wait(&w->r->given[i], &w->r->call_events[i]))
			waits[w->steps->of[i]]++;
	return waits;
}

struct walker { /* of the steps of one thread */
	struct segment segment;
	uint32_t step; /* of the call before, or CALL_LOG_NONE */
	uint32_t late; /* a wait that was deferred, or CALL_LOG_NONE */
};

static void walk(struct whole *w, struct walker *k, uint32_t *waits, uint32_t i)
{
	const struct call_event *given = &w->r->given[i];
	const struct replay_act *was = &w->r->call_events[i];
	uint32_t step = repeats(w, i) ? w->steps->of[i] : CALL_LOG_NONE;
	bool odd = step == CALL_LOG_NONE, wait = whatif_step_wait(given, was);

	/* Where the host waits in each step the graph goes from wait to wait, else from start to
	 * start: where the steps that were found begin is by chance. */
	if (odd || (step != k->step && !w->steps->steps[step].waits)) {
		settle(w, &k->segment, &k->late);
		end_segment(w, &k->segment, i);
	}
	k->step = step;
	if (odd)
		return;
	if (wait) {
		if (w->free && !is_last_wait(w, waits, i)) {
			defer(w, i, &k->late);
		} else {
			k->late = CALL_LOG_NONE;
			end_segment(w, &k->segment, i + 1);
		}
		waits[step]--;
		return;
	}
	if (!w->free && whatif_step_divides(given)) {
		settle(w, &k->segment, &k->late);
		end_segment(w, &k->segment, i);
		return;
	}
	struct segment *g = &k->segment;
	if (g->lead == CALL_LOG_NONE)
		*g = (struct segment){.lead = i};
	if (!whatif_step_piece(given, was))
		return;
	if (!g->pieces++)
		g->first = i;
	g->last = i;
}

void change_steps(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	struct whole w = {
	        .c = c,
	        .r = r,
	        .steps = c->steps,
	        .acts = call_events,
	        .free = c->hope == HOPE_MOST && !c->strict,
	};
	if (!w.steps || !w.steps->repeated)
		return;
	double alike = c->hope == HOPE_MIDDLE ? NEARLY_ALL : w.free ? MOST : INFINITY;
	w.all = (double)w.steps->repeated >= alike * (double)w.steps->count;
	size_t threads = r->call_log->thread_count;
	struct walker *walkers = alloc_zeroed(threads, sizeof(*walkers));
	uint32_t *waits = count_waits(&w);

	for (size_t i = 0; i < threads; i++)
		walkers[i] = (struct walker){{.lead = CALL_LOG_NONE}, CALL_LOG_NONE, CALL_LOG_NONE};
	for (uint32_t i = 0; i < r->count; i++) {
		uint16_t leader = w.steps->leader[r->given[i].thread];
		if (leader != STEP_NO_THREAD)
			walk(&w, &walkers[leader], waits, i);
	}
	for (size_t i = 0; i < threads; i++)
		end_segment(&w, &walkers[i].segment, (uint32_t)r->count);
	free(walkers);
	free(waits);
}
