/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where one piece ends and the next begins. The timeline knows when the GPU was busy from the waits
 * that returned and from launches that got a place in a full queue, but which piece of many that
 * follow one another closely had ended then it knows by a few pieces only: a short kernel may get
 * the time of the long one next to it. What is drawn divides the time of such a run anew, in the
 * proportion of what its pieces take, as far as that is known. The GPU is as busy as before.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/events/events_internal.h"

#define RUN_MOST 256u
#define CLOSE_NS 1000.0 /* between pieces that follow one another */

struct laid {
	struct events_work work;
	uint64_t expected; /* ticks; 0 = not known */
	uint64_t start;    /* where it is laid */
};

struct run { /* of one device: pieces of one stream, one behind the other */
	struct laid piece[RUN_MOST];
	uint32_t count;
};

/* Lays its pieces anew; false where one would begin before its call, or nothing is to be gained. */
static bool lay(struct run *run)
{
	double took = 0, expected = 0, at = (double)run->piece[0].work.start;
	bool differs = false;

	for (uint32_t i = 0; i < run->count; i++) {
		const struct laid *p = &run->piece[i];
		const double is = (double)(p->work.end - p->work.start), want = (double)p->expected;
		if (!p->expected)
			return false;
		took += is;
		expected += want;
		differs |= is > want * 1.01 || is < want * 0.99;
	}
	if (!differs || !(expected > 0))
		return false;
	for (uint32_t i = 0; i < run->count; i++) {
		struct laid *p = &run->piece[i];
		p->start = (uint64_t)at;
		if (p->work.known && p->start < p->work.given)
			return false;
		at += (double)p->expected * took / expected;
		if (i + 1 < run->count)
			at += (double)(run->piece[i + 1].work.start - p->work.end);
	}
	return true;
}

static void tell(struct events *e, struct run *run)
{
	const bool anew = run->count > 1 && lay(run);

	for (uint32_t i = 0; i < run->count; i++) {
		struct laid *p = &run->piece[i], *next = p + 1;
		struct events_work w = p->work;
		if (anew) {
			const bool last = i + 1 == run->count;
			const uint64_t gap = last ? 0 : next->work.start - p->work.end,
			               end = last ? w.end : next->start - gap;
			w.start = p->start;
			w.end = end > w.start ? end : w.start;
		}
		e->to->work(e->to->to, &w);
	}
	run->count = 0;
}

/* Behind the last piece of a run, on its stream, and given to the GPU before that had ended. */
static bool follows(const struct events *e, const struct run *run, const struct events_work *w)
{
	const struct events_work *last = &run->piece[run->count - 1].work;

	return w->stream == last->stream && w->start >= last->end &&
	       (double)(w->start - last->end) * e->clock.ns_per_tick <= CLOSE_NS && w->known &&
	       w->returned < last->end;
}

void lay_work(struct events *e, const struct events_work *w, uint64_t expected)
{
	struct run **of = &e->runs[w->device % TF_DEVICES_TIMED];

	if (!*of)
		*of = alloc_zeroed(1, sizeof(**of));
	struct run *run = *of;
	if (run->count && (run->count == RUN_MOST || !follows(e, run, w)))
		tell(e, run);
	struct laid *to = &run->piece[run->count++];
	to->work = *w;
	to->expected = expected;
}

void lay_rest(struct events *e)
{
	for (unsigned i = 0; i < TF_DEVICES_TIMED; i++) {
		if (e->runs[i])
			tell(e, e->runs[i]);
		free(e->runs[i]);
		e->runs[i] = NULL;
	}
}
