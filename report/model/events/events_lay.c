/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where one piece ends and the next begins. The timeline knows when the GPU was busy from the waits
 * that returned and from launches that got a place in a full queue, but which piece of many that
 * follow one another closely had ended then it knows by a few pieces only: a short kernel may get
 * the time of the long one next to it. What is drawn divides the time of such a run anew, in the
 * proportion of what its pieces take, as far as that is known. The GPU is as busy as before.
 *
 * What copies and sets take follows from their bytes: where kernels are beside them, it is these
 * that took longer, or shorter, than expected. A piece of which nothing is known stays as long as
 * the timeline has it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/events/events_internal.h"
#include "shim/core/cuda/engines.h"

#define RUN_MOST 512u
/* Between pieces that follow one another: as far as the timeline has them, from a kernel to a copy,
 * and a little more. */
#define CLOSE_NS (CUDA_GAP_NS + CUDA_TO_ENGINE_NS + 250)

struct laid {
	struct events_work work;
	uint64_t expected; /* ticks; 0 = not known */
	uint64_t start;    /* where it is laid */
};

struct run { /* of one device: pieces of one stream, one behind the other */
	struct laid piece[RUN_MOST];
	uint32_t count;
};

static double ticks_of(const struct laid *p)
{
	return (double)(p->work.end - p->work.start);
}

static bool is_firm(const struct laid *p)
{
	return p->work.kind == TF_WORK_COPY || p->work.kind == TF_WORK_SET;
}

/* Of pieces whose times are known, from one on: what they took, and are expected to take. */
struct rest {
	double took, firm, others;
};

/* False: nothing is to be gained. */
static bool find_rest(const struct run *run, struct rest *rest)
{
	bool differs = false;

	*rest = (struct rest){0};
	for (uint32_t i = 0; i < run->count; i++) {
		const struct laid *p = &run->piece[i];
		const double is = ticks_of(p), want = (double)p->expected;
		if (!p->expected)
			continue;
		rest->took += is;
		*(is_firm(p) ? &rest->firm : &rest->others) += want;
		differs |= is > want * 1.01 || is < want * 0.99;
	}
	return differs;
}

/* What the first of the rest takes of its time. */
static double take_share(struct rest *rest, const struct laid *p)
{
	const bool firm = rest->others > 0 && rest->took > rest->firm;
	double ticks = (double)p->expected;

	if (!firm)
		ticks *= rest->took / (rest->firm + rest->others);
	else if (!is_firm(p))
		ticks *= (rest->took - rest->firm) / rest->others;
	ticks = fmax(0, fmin(ticks, rest->took));
	rest->took -= ticks;
	*(is_firm(p) ? &rest->firm : &rest->others) -= (double)p->expected;
	return ticks;
}

/* Lays its pieces anew; false where nothing is to be gained. Where one would begin before its call,
 * the one before it lasts until then, and the rest has less time. */
static bool lay(struct run *run)
{
	double at = (double)run->piece[0].work.start;
	struct rest rest;

	if (!find_rest(run, &rest))
		return false;
	for (uint32_t i = 0; i < run->count; i++) {
		struct laid *p = &run->piece[i];
		const double given = fmin((double)p->work.given, (double)p->work.start);
		if (at < given) {
			rest.took -= given - at;
			at = given;
		}
		p->start = (uint64_t)at;
		at += p->expected ? take_share(&rest, p) : ticks_of(p);
		if (i + 1 < run->count)
			at += (double)(run->piece[i + 1].work.start - p->work.end);
	}
	return true;
}

/* Tells its first pieces; the others remain. */
static void tell(struct events *e, struct run *run, uint32_t count)
{
	if (run->count > 1 && lay(run)) {
		for (uint32_t i = 0; i < run->count; i++) {
			struct laid *p = &run->piece[i], *next = p + 1;
			const bool last = i + 1 == run->count;
			const uint64_t gap = last ? 0 : next->work.start - p->work.end,
			               end = last ? p->work.end : next->start - gap;
			p->work.start = p->start;
			p->work.end = end > p->start ? end : p->start;
		}
	}
	for (uint32_t i = 0; i < count; i++)
		e->to->work(e->to->to, &run->piece[i].work);
	run->count -= count;
	memmove(run->piece, run->piece + count, run->count * sizeof(*run->piece));
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
	if (run->count && !follows(e, run, w))
		tell(e, run, run->count);
	else if (run->count == RUN_MOST) /* the last ones may have to make room for what comes */
		tell(e, run, RUN_MOST / 2);
	struct laid *to = &run->piece[run->count++];
	to->work = *w;
	to->expected = expected;
}

void lay_rest(struct events *e)
{
	for (unsigned i = 0; i < TF_DEVICES_TIMED; i++) {
		if (e->runs[i])
			tell(e, e->runs[i], e->runs[i]->count);
		free(e->runs[i]);
		e->runs[i] = NULL;
	}
}
