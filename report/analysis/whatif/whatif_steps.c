/* SPDX-License-Identifier: Apache-2.0 */
#include "report/analysis/whatif/whatif_steps.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/model/model.h"

/* A step begins with a call: its start may be rounded otherwise than the call's (ns). */
#define ROUNDED 100.0
/* A thread that goes on where a step's thread left off belongs to the step when it does so in every
 * so many-th one. */
#define HELPS_EVERY 2u
/* Host time between two calls so many times the usual one is no cost of a call. */
#define OWN_WORK 10

bool whatif_step_piece(const struct call_event *a, const struct replay_act *r)
{
	if (a->kind == TF_WORK_NONE || a->result ||
	    a->flags & (CALL_EVENT_FIRST | CALL_EVENT_CAPTURED))
		return false;
	if (a->kind == TF_WORK_GRAPH)
		return true;
	if (r->wait != REPLAY_NO_WAIT)
		return false;
	return a->kind != TF_WORK_COPY ||
	       (a->memory != SPY_MEM_PAGEABLE && a->direction != SPY_DIR_HTOD);
}

bool whatif_step_wait(const struct call_event *a, const struct replay_act *r)
{
	if (r->wait == REPLAY_NO_WAIT || a->kind == TF_WORK_GRAPH)
		return false;
	return a->kind != TF_WORK_COPY || a->direction != SPY_DIR_HTOD;
}

/* ---- which calls are whose ---- */

struct place {
	uint64_t tid;
	uint16_t thread;
};

static int by_tid(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->tid != y->tid ? x->tid < y->tid ? -1 : 1 : 0;
}

/* The threads' places by their numbers (free it). */
static struct place *sorted_threads(const struct call_log *h)
{
	struct place *places = alloc_zeroed(h->thread_count, sizeof(*places));

	for (size_t i = 0; i < h->thread_count; i++)
		places[i] = (struct place){h->threads[i].tid, (uint16_t)i};
	if (h->thread_count)
		qsort(places, h->thread_count, sizeof(*places), by_tid);
	return places;
}

static uint16_t thread_of(const struct place *places, size_t count, uint64_t tid)
{
	const struct place key = {.tid = tid},
	                   *found =
	                           count ? bsearch(&key, places, count, sizeof(key), by_tid) : NULL;

	return found ? found->thread : STEP_NO_THREAD;
}

/* The model's rows that lie in the calls that were kept: the only place that knows of rows. */
static void take_rows(struct whatif_steps *s, const struct model *m, size_t process)
{
	const struct replay *r = s->replay;
	size_t rows = m->steps.source == STEPS_NONE ? 0 : (size_t)m->steps.judged;
	size_t threads = r->call_log->thread_count;
	struct place *places = sorted_threads(r->call_log);

	for (size_t i = 0; i < rows && r->count; i++) {
		const struct model_step *row = &m->steps.rows[i];
		/* Those of all threads together are told by the one that calls most. */
		uint16_t thread = row->tid ? thread_of(places, threads, row->tid) : s->busiest;
		double start = call_log_place(r->call_log, row->start), end = start + row->duration;
		if (row->process != process || thread == STEP_NO_THREAD || !(row->duration > 0) ||
		    !(start + ROUNDED >= r->given[0].start) ||
		    !(end <= r->given[r->count - 1].end + ROUNDED))
			continue;
		s->together |= !row->tid;
		ALLOC_ROOM(s->steps, s->count);
		s->steps[s->count++] = (struct whatif_step){.start = start - ROUNDED,
		                                            .end = end - ROUNDED,
		                                            .thread = thread,
		                                            .next = CALL_LOG_NONE,
		                                            .stays = CALL_LOG_NONE};
	}
	free(places);
}

/* How often each thread without steps went on where another one had left off. */
static void find_helpers(struct whatif_steps *s, const uint32_t *steps_of)
{
	const struct replay *r = s->replay;
	size_t threads = r->call_log->thread_count;
	uint32_t *times = alloc_zeroed(threads, sizeof(*times));
	uint16_t *whom = alloc_zeroed(threads, sizeof(*whom));

	for (size_t i = 0; i < r->count; i++) {
		uint32_t before = r->call_events[i].before;
		uint16_t thread = r->given[i].thread;
		if (before == CALL_LOG_NONE || steps_of[thread] ||
		    !steps_of[r->given[before].thread])
			continue;
		times[thread]++;
		whom[thread] = r->given[before].thread;
	}
	for (size_t i = 0; i < threads; i++) {
		s->leader[i] = steps_of[i] ? (uint16_t)i : STEP_NO_THREAD;
		if (!steps_of[i] && times[i] && times[i] * HELPS_EVERY >= steps_of[whom[i]])
			s->leader[i] = whom[i];
	}
	free(times);
	free(whom);
}

/* Gives each call its step. */
static void assign(struct whatif_steps *s)
{
	const struct replay *r = s->replay;
	size_t threads = r->call_log->thread_count;
	uint32_t *at = alloc_zeroed(threads, sizeof(*at)),
	         *after = alloc_zeroed(threads, sizeof(*after)),
	         *steps_of = alloc_zeroed(threads, sizeof(*steps_of));

	for (size_t i = 0; i < threads; i++)
		at[i] = after[i] = CALL_LOG_NONE;
	for (size_t i = s->count; i-- > 0;) {
		struct whatif_step *step = &s->steps[i];
		step->next = at[step->thread];
		at[step->thread] = (uint32_t)i;
		steps_of[step->thread]++;
	}
	if (s->together)
		for (size_t i = 0; i < threads; i++)
			s->leader[i] = s->busiest;
	else
		find_helpers(s, steps_of);
	for (size_t i = 0; i < r->count; i++) {
		uint16_t leader = s->leader[r->given[i].thread];
		s->of[i] = s->next[i] = CALL_LOG_NONE;
		if (leader == STEP_NO_THREAD)
			continue;
		uint32_t *now = &at[leader];
		while (*now != CALL_LOG_NONE && s->steps[*now].end <= r->given[i].start)
			*now = s->steps[*now].next;
		if (*now != CALL_LOG_NONE && s->steps[*now].start <= r->given[i].start)
			s->of[i] = *now;
	}
	for (size_t i = r->count; i-- > 0;) {
		uint16_t leader = s->leader[r->given[i].thread];
		if (leader == STEP_NO_THREAD)
			continue;
		s->next[i] = after[leader];
		after[leader] = (uint32_t)i;
	}
	free(at);
	free(after);
	free(steps_of);
}

/* ---- which steps are alike ---- */

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

/* Places of a step are told by what was given or waited for before them. */
static uint32_t places_of(const struct whatif_step *step)
{
	return step->pieces + step->changes + 1;
}

/* One thread goes on where another one left off, as a backward pass does: a captured step has no
 * such place. */
static bool hands_over(const struct replay *r, size_t i)
{
	return r->call_events[i].before != CALL_LOG_NONE;
}

/*
 * The place at which the steps of a sequence spend most host time outside CUDA, over all of them: a
 * loader, the program's own logic. One launch that took long by chance is none, and neither is the
 * longest of many that are nearly as long: those are what the calls cost.
 */
static void find_gap(struct whatif_steps *s, const struct group *g, const uint32_t *place)
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
		    place[i] < places && !hands_over(r, i))
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
		if (!step || step->sequence != sequence || place[i] != best || hands_over(r, i))
			continue;
		step->gap += r->call_events[i].gap;
		if (step->stays == CALL_LOG_NONE)
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
		bool wait = whatif_step_wait(&r->given[i], &r->call_events[i]);
		place[i] = now[s->of[i]];
		now[s->of[i]] += wait || whatif_step_piece(&r->given[i], &r->call_events[i]);
		s->steps[s->of[i]].changes += wait;
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
		find_gap(s, &groups[k], place);
	}
	free(order);
	free(groups);
	free(place);
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
	stats_sort(gaps, count);
	median = count ? stats_quantile(gaps, count, 0.5) : 0;
	free(gaps);
	return median;
}

static uint16_t busiest_thread(const struct replay *r)
{
	size_t threads = r->call_log->thread_count, best = 0;
	uint32_t *calls = alloc_zeroed(threads + 1, sizeof(*calls));

	for (size_t i = 0; i < r->count; i++)
		calls[r->given[i].thread]++;
	for (size_t i = 1; i < threads; i++)
		if (calls[i] > calls[best])
			best = i;
	free(calls);
	return threads ? (uint16_t)best : STEP_NO_THREAD;
}

void whatif_steps_make(struct whatif_steps *s, const struct model *m, size_t process,
                       const struct replay *r)
{
	*s = (struct whatif_steps){.replay = r};
	s->of = alloc_zeroed(r->count + 1, sizeof(*s->of));
	s->next = alloc_zeroed(r->count + 1, sizeof(*s->next));
	s->leader = alloc_zeroed(r->call_log->thread_count + 1, sizeof(*s->leader));
	s->busiest = busiest_thread(r);
	take_rows(s, m, process);
	assign(s);
	describe(s);
	s->usual = usual_gap(s);
	find_repeated(s);
}

void whatif_steps_free(struct whatif_steps *s)
{
	free(s->steps);
	free(s->of);
	free(s->next);
	free(s->leader);
	*s = (struct whatif_steps){0};
}
