/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps of a process do the same work in the same order, and what the host does in each that
 * no graph takes away. */
#include <math.h>
#include <stdlib.h>

#include "report/analysis/whatif/whatif_steps.h"
#include "report/base/alloc.h"
#include "report/base/stats.h"

/* Host time between two calls so many times the usual one is no cost of a call. */
#define OWN_WORK 10

static uint64_t mixed(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static void note_piece(struct whatif_step *step, const struct call_log *h,
                       const struct call_event *a)
{
	const struct call_log_work *w = a->work == CALL_LOG_NONE ? NULL : &h->works[a->work];
	bool moves = a->kind == TF_WORK_COPY || a->kind == TF_WORK_SET;
	uint64_t name = w && w->kernel ? (uint64_t)(uintptr_t)w->kernel
	                               : mixed(a->kind, (uint64_t)a->direction * 8 + a->memory);
	uint64_t shape = moves ? name : mixed(name, a->work + 1u);

	/* Its place in the step's order counts, whichever thread gave it. */
	step->names = mixed(step->names, name);
	step->sequence = mixed(step->sequence, mixed(shape, a->stream + 1u));
}

static void describe(struct whatif_steps *s)
{
	const struct replay *r = s->replay;
	bool *waited = alloc_zeroed(s->count + 1, sizeof(*waited));

	for (size_t i = 0; i < r->count; i++) {
		if (s->of[i] == CALL_LOG_NONE)
			continue;
		struct whatif_step *step = &s->steps[s->of[i]];
		const struct call_event *a = &r->given[i];
		bool piece = whatif_step_piece(a, &r->call_events[i]);
		step->pieces += piece;
		if (piece)
			note_piece(step, r->call_log, a);
		if (whatif_step_wait(a, &r->call_events[i])) {
			step->waits += !waited[s->of[i]];
			waited[s->of[i]] = true;
		} else if (piece) {
			waited[s->of[i]] = false;
		}
	}
	free(waited);
}

static int by_sequence(const void *a, const void *b)
{
	const struct whatif_step *x = *(struct whatif_step *const *)a,
	                         *y = *(struct whatif_step *const *)b;

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->start != y->start ? x->start < y->start ? -1 : 1 : 0;
}

struct group {
	struct whatif_step **first;
	size_t count;
};

static int by_count(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->first[0]->start < y->first[0]->start ? -1 : 1;
}

/* ---- what the host does that no graph takes away ---- */

bool whatif_step_divides(const struct call_event *a)
{
	return a->cls == SPY_CLASS_ALLOC && a->kind == TF_WORK_NONE && !a->result &&
	       !(a->flags & CALL_EVENT_CAPTURED) && !cuda_role_is_ordered(a->role);
}

/* A place of a step is told by the pieces of work before it, and by so many waits, allocations and
 * frees at most since the last of them: steps of a sequence need not have the same before that. */
#define PLACE_MARKS 16u

static uint32_t places_of(const struct whatif_step *step)
{
	return (step->pieces + 1) * PLACE_MARKS;
}

/*
 * Of each call whether the host time before it may be work that no graph takes away (free it). It
 * is none before a call that goes on where another thread left off, as a backward pass does: a
 * captured step has no such call. But it is where that thread's next work is an input's copy, as
 * XLA's threads make: the input was made before, by the program. Where two threads go on behind the
 * same call it is the same time. Nor is it before a call that divides graphs.
 */
static bool *find_own(const struct replay *r)
{
	bool *own = alloc_zeroed(r->count + 1, sizeof(*own)),
	     *input = alloc_zeroed(r->count + 1, sizeof(*input)),
	     *told = alloc_zeroed(r->count + 1, sizeof(*told));

	for (size_t i = r->count; i-- > 0;) {
		const struct call_event *a = &r->given[i];
		input[i] = a->kind != TF_WORK_NONE
		                   ? a->kind == TF_WORK_COPY && a->direction == SPY_DIR_HTOD
		                   : r->next[i] != CALL_LOG_NONE && input[r->next[i]];
	}
	for (size_t i = 0; i < r->count; i++) {
		uint32_t before = r->call_events[i].before;
		bool follows = before != CALL_LOG_NONE;
		own[i] = (!follows || (input[i] && !told[before])) &&
		         !whatif_step_divides(&r->given[i]);
		if (follows && own[i])
			told[before] = true;
	}
	free(input);
	free(told);
	return own;
}

/*
 * The place at which the steps of a sequence spend most host time outside CUDA, over all of them: a
 * loader, the program's own logic. One launch that took long by chance is none, and neither is the
 * longest of many that are nearly as long: those are what the calls cost.
 */
static void find_gap(struct whatif_steps *s, const struct group *g, const uint32_t *place,
                     const bool *own)
{
	uint32_t places = 1, best = 0;
	double second = 0;

	for (size_t k = 0; k < g->count; k++)
		if (places_of(g->first[k]) > places)
			places = places_of(g->first[k]);
	double *sum = alloc_zeroed(places, sizeof(*sum));
	const struct replay *r = s->replay;
	uint64_t sequence = g->first[0]->sequence;
	for (size_t i = 0; i < r->count; i++)
		if (s->of[i] != CALL_LOG_NONE && s->steps[s->of[i]].sequence == sequence &&
		    place[i] < places && own[i])
			sum[place[i]] += r->call_events[i].gap;
	for (uint32_t k = 1; k < places; k++)
		if (sum[k] > sum[best])
			best = k;
	for (uint32_t k = 0; k < places; k++)
		if (k != best)
			second = fmax(second, sum[k] / (double)g->count);
	if (second > OWN_WORK * s->usual)
		second = s->usual;
	for (size_t i = 0; i < r->count; i++) {
		struct whatif_step *step = s->of[i] == CALL_LOG_NONE ? NULL : &s->steps[s->of[i]];
		if (!step || step->sequence != sequence || place[i] != best || !own[i])
			continue;
		step->gap += r->call_events[i].gap;
		if (step->stays == CALL_LOG_NONE ||
		    r->call_events[i].gap > r->call_events[step->stays].gap)
			step->stays = (uint32_t)i;
	}
	for (size_t k = 0; k < g->count; k++)
		g->first[k]->gap = fmax(0, g->first[k]->gap - second);
	free(sum);
}

static uint32_t *find_places(struct whatif_steps *s)
{
	const struct replay *r = s->replay;
	uint32_t *place = alloc_zeroed(r->count, sizeof(*place)),
	         *now = alloc_zeroed(s->count + 1, sizeof(*now));

	for (size_t i = 0; i < r->count; i++) {
		if (s->of[i] == CALL_LOG_NONE)
			continue;
		const struct call_event *a = &r->given[i];
		uint32_t *at = &now[s->of[i]];
		place[i] = *at;
		if (whatif_step_piece(a, &r->call_events[i]))
			*at += PLACE_MARKS - *at % PLACE_MARKS;
		else if (whatif_step_wait(a, &r->call_events[i]) || whatif_step_divides(a))
			*at += *at % PLACE_MARKS < PLACE_MARKS - 1;
	}
	free(now);
	return place;
}

/* The most common sequences are those to capture. */
static void find_repeated(struct whatif_steps *s)
{
	struct whatif_step **order = alloc_zeroed(s->count + 1, sizeof(*order));
	struct group *groups = alloc_zeroed(s->count + 1, sizeof(*groups));
	uint32_t *place = find_places(s);
	bool *own = find_own(s->replay);
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++)
		order[i] = &s->steps[i];
	if (s->count)
		qsort(order, s->count, sizeof(*order), by_sequence);
	for (size_t i = 0; i < s->count; i++) {
		if (i && order[i]->sequence == order[i - 1]->sequence)
			groups[count - 1].count++;
		else
			groups[count++] = (struct group){&order[i], 1};
	}
	if (count)
		qsort(groups, count, sizeof(*groups), by_count);
	for (size_t k = 0; k < count && k < STEP_GRAPHS && groups[k].count >= STEP_SEEN; k++) {
		if (groups[k].first[0]->pieces < STEP_PIECES)
			continue;
		for (size_t i = 0; i < groups[k].count; i++)
			groups[k].first[i]->repeats = true;
		s->repeated += groups[k].count;
		find_gap(s, &groups[k], place, own);
	}
	free(order);
	free(groups);
	free(place);
	free(own);
}

/* The median of what the host takes between two calls of a step. */
static double usual_gap(const struct whatif_steps *s)
{
	const struct replay *r = s->replay;
	double *gaps = alloc_zeroed(r->count, sizeof(*gaps)), median;
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		if (s->of[i] != CALL_LOG_NONE)
			gaps[count++] = r->call_events[i].gap;
	median = count ? stats_select(gaps, count, 0.5) : 0;
	free(gaps);
	return median;
}

void whatif_steps_compare(struct whatif_steps *s)
{
	describe(s);
	s->usual = usual_gap(s);
	find_repeated(s);
}
