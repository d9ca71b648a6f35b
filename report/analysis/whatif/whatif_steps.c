/* SPDX-License-Identifier: Apache-2.0 */
#include "report/analysis/whatif/whatif_steps.h"

#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/model.h"

/* A step begins with a call: its start may be rounded otherwise than the call's (ns). */
#define ROUNDED 100.0
/* A thread that goes on where a step's thread left off belongs to the step when it does so in every
 * so many-th one. */
#define HELPS_EVERY 2u
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
	whatif_steps_compare(s);
}

void whatif_steps_free(struct whatif_steps *s)
{
	free(s->steps);
	free(s->of);
	free(s->next);
	free(s->leader);
	*s = (struct whatif_steps){0};
}
