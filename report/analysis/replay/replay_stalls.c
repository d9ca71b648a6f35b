/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/analysis/replay/replay_internal.h"

#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(entry) alloc_failed()
#include <uthash.h>

/*
 * The host is held up now and then: other processes take its CPU, another thread holds Python's
 * lock, memory moves. Such stalls come wherever the program happens to be; work of the program's
 * own comes at few places. (A loop in JAX of nine functions on an H200's host, seven runs on the
 * second GPU while it ran on the first: 45 to 128 stalls of 0.1 to 10 ms, mostly 15 to 19 % of its
 * time; eight runs on the first: 3 to 11, 0.1 %.)
 *
 * A place is a call and the one before it on its thread, with the work that was given before and
 * that comes next. Of places that have few long gaps it is asked how many those are for the time
 * spent there; the places' usual rate is that at half of their time, of which none counts for more
 * than an eighth. Stalls are the long gaps of places that have no more of them than that rate
 * gives, twice over and with its scatter.
 */
#define STALLS_LEAST 20   /* fewer are no rate */
#define STALL_MOST   20e6 /* ns: longer than what a scheduler or Python's lock takes */
#define PLACES_LEAST 8u   /* with a hundredth of the time each, else it cannot be told */
#define PLACE_LEAST  0.01
#define PLACE_MOST   (1.0 / 8)
#define LONG_MOST    0.05 /* share of a place's gaps that are long; more is work */
#define RATE_TIMES   2
#define SCATTER      3 /* standard deviations of a count */

struct place_key {
	uint32_t call_before, call, work_before, next_work;
};

struct place {
	struct place_key key;
	double gaps, longs;
	double time; /* of its gaps, of each what is no stall: up to REPLAY_LONGEST_GAP, ns */
	UT_hash_handle hh;
};

static bool is_long(double gap)
{
	return gap > REPLAY_LONGEST_GAP && gap <= STALL_MOST;
}

/* Of each call the work that its thread gives with it or next (free it). */
static uint32_t *find_next_works(const struct replay *r)
{
	uint32_t *of = alloc_zeroed(r->count, sizeof(*of));

	for (size_t i = r->count; i-- > 0;)
		of[i] = r->given[i].work != CALL_LOG_NONE ? r->given[i].work
		        : r->next[i] != CALL_LOG_NONE     ? of[r->next[i]]
		                                          : CALL_LOG_NONE;
	return of;
}

struct caller {        /* a thread */
	uint32_t last; /* its last call + 1 */
	uint32_t work; /* its last work, or CALL_LOG_NONE */
};

/* Calls `visit` for each call that follows one of its own thread. */
static void each_gap(const struct replay *r, void *to,
                     void visit(void *to, const struct place_key *key, uint32_t i))
{
	size_t threads = r->call_log->thread_count;
	struct caller *callers = alloc_zeroed(threads, sizeof(*callers));
	uint32_t *next_works = find_next_works(r);

	for (size_t i = 0; i < threads; i++)
		callers[i].work = CALL_LOG_NONE;
	for (uint32_t i = 0; i < r->count; i++) {
		const struct call_event *a = &r->given[i];
		struct caller *c = &callers[a->thread];
		if (c->last && r->call_events[i].before == CALL_LOG_NONE) {
			struct place_key key = {r->given[c->last - 1].call, a->call, c->work,
			                        next_works[i]};
			visit(to, &key, i);
		}
		c->last = i + 1;
		c->work = a->work != CALL_LOG_NONE ? a->work : c->work;
	}
	free(callers);
	free(next_works);
}

struct stalls {
	struct replay *replay;
	struct place *places;
	double time; /* of all places */
	double rate; /* long gaps for each ns */
};

static void note(void *to, const struct place_key *key, uint32_t i)
{
	struct stalls *s = to;
	double gap = s->replay->call_events[i].gap, time = fmin(gap, REPLAY_LONGEST_GAP);
	struct place *p;

	HASH_FIND(hh, s->places, key, sizeof(*key), p);
	if (!p) {
		p = alloc_zeroed(1, sizeof(*p));
		p->key = *key;
		HASH_ADD(hh, s->places, key, sizeof(*key), p);
	}
	p->gaps++;
	p->longs += gap > REPLAY_LONGEST_GAP;
	p->time += time;
	s->time += time;
}

static bool has_few(const struct place *p)
{
	return p->longs <= LONG_MOST * p->gaps && p->time > 0;
}

static int by_rate(const struct place *a, const struct place *b)
{
	double x = a->time > 0 ? a->longs / a->time : 0, y = b->time > 0 ? b->longs / b->time : 0;

	return (x > y) - (x < y);
}

/* The rate at half of the places' time; 0 where it cannot be told. */
static double usual_rate(struct stalls *s)
{
	double most = PLACE_MOST * s->time, weights = 0, sum = 0;
	size_t places = 0;

	HASH_SORT(s->places, by_rate);
	for (const struct place *p = s->places; p; p = p->hh.next) {
		weights += has_few(p) ? fmin(p->time, most) : 0;
		places += has_few(p) && p->time >= PLACE_LEAST * s->time;
	}
	if (places < PLACES_LEAST)
		return 0;
	for (const struct place *p = s->places; p; p = p->hh.next) {
		sum += has_few(p) ? fmin(p->time, most) : 0;
		if (sum >= weights / 2)
			return p->longs / p->time;
	}
	return 0;
}

static bool is_stalled(const struct stalls *s, const struct place *p)
{
	double expected = s->rate * p->time;

	return has_few(p) && p->longs <= RATE_TIMES * expected + SCATTER * sqrt(expected);
}

static void mark(void *to, const struct place_key *key, uint32_t i)
{
	struct stalls *s = to;
	struct replay_act *a = &s->replay->call_events[i];
	struct place *p;

	if (!is_long(a->gap))
		return;
	HASH_FIND(hh, s->places, key, sizeof(*key), p);
	if (!p || !is_stalled(s, p))
		return;
	a->flags |= REPLAY_STALLED;
	s->replay->stalls++;
	s->replay->stalled += a->gap;
}

static void unmark(struct replay *r)
{
	for (size_t i = 0; i < r->count; i++)
		r->call_events[i].flags &= (uint16_t)~REPLAY_STALLED;
	r->stalls = 0;
	r->stalled = 0;
}

void replay_find_stalls(struct replay *r)
{
	struct stalls s = {.replay = r};
	struct place *p, *next;
	size_t longs = 0;

	for (size_t i = 0; i < r->count; i++)
		longs += is_long(r->call_events[i].gap);
	if (longs < STALLS_LEAST)
		return;
	each_gap(r, &s, note);
	s.rate = usual_rate(&s);
	if (s.rate > 0)
		each_gap(r, &s, mark);
	if (r->stalls < STALLS_LEAST)
		unmark(r);
	HASH_ITER(hh, s.places, p, next)
	{
		HASH_DEL(s.places, p);
		free(p);
	}
}
