/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "report/analysis/whatif/whatif_change.h"
#include "report/base/alloc.h"

/*
 * Copies get streams of their own. To the device they do not wait for the work before them then;
 * from it, the work behind them does not wait for them.
 *
 * Where the program has events around a copy they say what must be done before what, as they would
 * on its own stream: the copy waits for the event that its thread made the stream wait for right
 * before it, and for nothing else; an event recorded right behind it marks its end alone; and if
 * that is waited for on the GPU, only what comes behind such a wait needs the copy.
 *
 * Where the host waits for each step, a stream alone does not help a copy to the device: it is made
 * a step ahead too, and need not hold the host. But not at least, nor where the host takes longer
 * to come to it than it takes, but at best: its bytes may not be there before.
 *
 * A copy of pageable memory holds the host as long as before, but while the GPU works: one to the
 * device comes a step ahead, behind the launches of a step and before the host waits for these; one
 * from it a step later. As above: not at least.
 */

struct around {          /* of a thread: since its last work */
	uint32_t waited; /* the record that it made a stream wait for, or CALL_LOG_NONE */
	uint32_t copy;   /* its last work, if that is a copy that is changed, or CALL_LOG_NONE */
	uint32_t stream; /* of either */
	bool both;       /* it made the stream wait for records of several streams */
};

/* A copy to the device that holds the host till it is done, and need not: of pinned memory. */
static bool may_go_on(const struct call_event *given, const struct replay_act *a)
{
	return given->direction == SPY_DIR_HTOD && given->memory == SPY_MEM_PINNED &&
	       a->wait == REPLAY_STAGED;
}

/* Whether a copy that takes so long, ns, may be made at another time. */
static bool may_move(const struct whatif_change *c, const struct replay_act *a, double takes)
{
	return c->hope == HOPE_MOST || (c->hope == HOPE_MIDDLE && a->gap < takes);
}

static bool is_ahead(const struct whatif_change *c, const struct call_event *given,
                     const struct replay_act *a)
{
	return given->direction == SPY_DIR_HTOD && given->memory == SPY_MEM_PINNED &&
	       may_move(c, a, a->gpu);
}

/* A copy between the host and a device that was made. */
static bool is_over_the_bus(const struct call_event *given)
{
	return given->kind == TF_WORK_COPY && given->direction <= SPY_DIR_DTOH && !given->result &&
	       given->stream != CALL_LOG_NONE && !(given->flags & CALL_EVENT_CAPTURED);
}

static bool is_meant(const struct whatif_change *c, const struct replay *r,
                     const struct replay_act *a, size_t i)
{
	const struct call_event *given = &r->given[i];

	if (!is_over_the_bus(given) || a->wait == REPLAY_BUFFER)
		return false;
	return a->wait != REPLAY_STAGED || (may_go_on(given, a) && is_ahead(c, given, a));
}

/* Of each call whether it is a record that a stream was made to wait for. */
static bool *waited_for(const struct replay *r, const struct replay_act *call_events)
{
	bool *waited = alloc_zeroed(r->count + 1, sizeof(*waited));

	for (size_t i = 0; i < r->count; i++)
		if (r->given[i].role == CUDA_ROLE_EVENT_WAIT && !r->given[i].result &&
		    call_events[i].event != CALL_LOG_NONE)
			waited[call_events[i].event] = true;
	return waited;
}

static void put_beside(struct whatif_change *c, const struct replay *r,
                       struct replay_act *call_events, struct around *t, uint32_t i)
{
	const struct call_event *given = &r->given[i];
	struct replay_act *a = &call_events[i];

	if (c->hope == HOPE_MOST)
		a->flags |= REPLAY_IN | REPLAY_OUT;
	else
		a->flags |= given->direction == SPY_DIR_HTOD ? REPLAY_IN : REPLAY_OUT;
	if (is_ahead(c, given, a))
		a->flags |= REPLAY_AHEAD;
	if (may_go_on(given, a)) {
		a->own = fmin(a->own, COPY_CALL_NS);
		a->wait = REPLAY_NO_WAIT;
		a->late = 0;
	}
	if (t->waited != CALL_LOG_NONE && t->stream == given->stream && a->event == CALL_LOG_NONE) {
		a->flags |= REPLAY_IN;
		a->event = t->waited;
	}
	*t = (struct around){CALL_LOG_NONE, i, given->stream, false};
	c->changed++;
}

/* A large copy of pageable memory, which its call makes. */
static bool is_pageable(const struct call_event *given, const struct replay_act *a)
{
	return is_over_the_bus(given) && given->memory == SPY_MEM_PAGEABLE &&
	       given->bytes >= WHATIF_STAGED_BYTES && a->wait == REPLAY_STAGED;
}

/* Copy `i` is made while the GPU works. `wait`: the first call behind the thread's last kernel that
 * waits for the GPU, or CALL_LOG_NONE. */
static void hold_meanwhile(struct whatif_change *c, const struct replay *r,
                           struct replay_act *call_events, uint32_t i, uint32_t wait)
{
	bool to_device = r->given[i].direction == SPY_DIR_HTOD;
	struct replay_act *a = &call_events[i];

	if (!may_move(c, a, a->own))
		return;
	if (to_device && wait != CALL_LOG_NONE) {
		call_events[wait].gap += a->own;
		a->own = 0;
	}
	a->flags |= to_device ? REPLAY_IN : REPLAY_OUT;
	a->wait = REPLAY_NO_WAIT;
	a->gpu = a->late = 0;
	c->pageable = true;
	c->changed++;
}

static void hold_while_the_gpu_works(struct whatif_change *c, const struct replay *r,
                                     struct replay_act *call_events)
{
	size_t threads = r->call_log ? r->call_log->thread_count : 0;
	uint32_t *wait = alloc_zeroed(threads + 1, sizeof(*wait));

	for (size_t i = 0; i < threads; i++)
		wait[i] = CALL_LOG_NONE;
	for (uint32_t i = 0; i < r->count; i++) {
		const struct call_event *given = &r->given[i];
		uint32_t *of = &wait[given->thread];
		if (given->kind == TF_WORK_KERNEL || given->kind == TF_WORK_GRAPH)
			*of = CALL_LOG_NONE;
		else if (is_pageable(given, &call_events[i]))
			hold_meanwhile(c, r, call_events, i, *of);
		else if (*of == CALL_LOG_NONE && call_events[i].wait != REPLAY_NO_WAIT)
			*of = i;
	}
	free(wait);
}

/*
 * A large result that the host waits for outside CUDA (XLA's) is asked for ahead, and taken a step
 * later: the array for it is made, and the copy goes, while the program goes on. It is copied out
 * of the library's pinned memory then, which at best another thread does meanwhile as well.
 */
static void ask_ahead(struct whatif_change *c, const struct replay *r,
                      struct replay_act *call_events)
{
	if (c->hope == HOPE_LEAST)
		return;
	unsigned kinds = c->hope == HOPE_MOST ? WHATIF_MADE | WHATIF_READ : WHATIF_MADE;
	double *staging = whatif_staging(r, kinds, &c->staged);
	for (uint32_t i = 0; i < r->count; i++)
		if (staging[i] > 0) {
			call_events[i].gap -= staging[i];
			c->changed++;
		}
	for (uint32_t i = 0; i < r->count && c->staged; i++)
		if (whatif_is_large_read(r, i)) {
			call_events[i].wait = REPLAY_NO_WAIT;
			call_events[i].late = 0;
		}
	free(staging);
}

void change_overlap(struct whatif_change *c, const struct replay *r, struct replay_act *call_events)
{
	size_t threads = r->call_log ? r->call_log->thread_count : 0;
	struct around *of = alloc_zeroed(threads + 1, sizeof(*of));
	bool *waited = waited_for(r, call_events);

	for (size_t i = 0; i < threads; i++)
		of[i].waited = of[i].copy = CALL_LOG_NONE;
	for (uint32_t i = 0; i < r->count; i++) {
		const struct call_event *given = &r->given[i];
		struct around *t = &of[given->thread];
		struct replay_act *a = &call_events[i];
		if (given->result || given->flags & CALL_EVENT_CAPTURED)
			continue;
		if (is_meant(c, r, a, i) && !(t->both && t->stream == given->stream)) {
			put_beside(c, r, call_events, t, i);
		} else if (given->kind != TF_WORK_NONE) {
			*t = (struct around){CALL_LOG_NONE, CALL_LOG_NONE, CALL_LOG_NONE, false};
		} else if (given->role == CUDA_ROLE_EVENT_WAIT && a->event != CALL_LOG_NONE) {
			/* Of several of one stream the one that was recorded last; of several
			 * streams any may end last. */
			bool more = t->waited != CALL_LOG_NONE && t->stream == given->stream,
			     later = more && t->waited > a->event,
			     both = more && (t->both || r->given[t->waited].stream !=
			                                        r->given[a->event].stream);
			*t = (struct around){later ? t->waited : a->event, CALL_LOG_NONE,
			                     given->stream, both};
		} else if (given->role == CUDA_ROLE_EVENT_RECORD && t->copy != CALL_LOG_NONE &&
		           t->stream == given->stream && a->event == CALL_LOG_NONE) {
			a->event = t->copy;
			a->flags |= REPLAY_ALONE;
			call_events[t->copy].flags |=
			        REPLAY_ALONE | (waited[i] ? REPLAY_IN | REPLAY_OUT : 0);
		}
	}
	free(waited);
	free(of);
	hold_while_the_gpu_works(c, r, call_events);
	ask_ahead(c, r, call_events);
}
