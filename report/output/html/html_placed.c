/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/html/html_placed.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/events/events.h"

/* Records that are read: those that the log was made of, and as many before, by which the GPU's
 * work is known when the log begins. */
#define RECORDS (2 * CALL_LOG_RECORDS)
#define NEAR_NS                                                                                    \
	1000.0 /* from a call's start there and here: a process that runs reads its clocks */

struct placing {
	struct html_placed *to;
	const struct call_log *h;
	struct events *events;
	struct events_clock clock;
	uint32_t *piece_of; /* by call: + 1 */
};

static double since_window(const struct placing *p, uint64_t tick)
{
	return (double)(int64_t)(tick - p->clock.window) * p->clock.ns_per_tick;
}

static bool gave(const struct placing *p, const struct call_event *e, const struct events_work *w)
{
	return e->kind != TF_WORK_NONE && e->stream != CALL_LOG_NONE &&
	       p->h->threads[e->thread].tid == events_thread(p->events, w->thread).id;
}

/* The call that gave it; CALL_LOG_NONE: it is not in the log. */
static uint32_t call_of(const struct placing *p, const struct events_work *w)
{
	const double start = since_window(p, w->given);
	double nearest = NEAR_NS;
	uint32_t by = CALL_LOG_NONE;

	for (size_t i = call_log_at(p->h, start - NEAR_NS); i < p->h->count; i++) {
		const struct call_event *e = &p->h->call_events[i];
		if (e->start > start + NEAR_NS)
			break;
		if (fabs(e->start - start) < nearest && gave(p, e, w)) {
			nearest = fabs(e->start - start);
			by = (uint32_t)i;
		}
	}
	return by;
}

static enum html_timed timed_of(const struct events_work *w)
{
	return w->timed == EVENTS_BY_CUPTI  ? HTML_EXACT
	       : w->timed == EVENTS_GUESSED ? HTML_GUESSED
	                                    : HTML_ESTIMATED;
}

static void take_work(void *to, const struct events_work *w)
{
	struct placing *p = to;
	const uint32_t by = w->known ? call_of(p, w) : CALL_LOG_NONE;

	if (by == CALL_LOG_NONE)
		return;
	const double start = fmax(since_window(p, w->start), p->h->call_events[by].start),
	             end = fmax(since_window(p, w->end), start);
	if (p->piece_of[by]) {
		struct html_piece *piece = &p->to->pieces[p->piece_of[by] - 1];
		piece->start = fmin(piece->start, start);
		piece->end = fmax(piece->end, end);
		return;
	}
	ALLOC_ROOM(p->to->pieces, p->to->count);
	p->to->pieces[p->to->count++] = (struct html_piece){start, end, by, (uint8_t)timed_of(w)};
	p->piece_of[by] = (uint32_t)p->to->count;
}

static void take_call(void *to, const struct events_call *c)
{
}

static int by_start(const void *a, const void *b)
{
	const struct html_piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->by < y->by ? -1 : x->by > y->by;
}

static void join(struct html_placed *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct html_piece *piece = &p->pieces[i];
		if (p->busy_count && piece->start <= p->busy[p->busy_count - 1].end) {
			struct html_span *last = &p->busy[p->busy_count - 1];
			last->end = fmax(last->end, piece->end);
		} else if (piece->end > piece->start) {
			ALLOC_ROOM(p->busy, p->busy_count);
			p->busy[p->busy_count++] = (struct html_span){piece->start, piece->end};
		}
	}
}

void html_place(struct html_placed *p, const struct model_process *process)
{
	struct placing placing = {.to = p, .h = &process->call_log};
	const struct events_to to = {&placing, take_call, take_work, NULL};
	struct events_figures figures;

	*p = (struct html_placed){0};
	placing.events = events_open(process->path, 0);
	if (!placing.events)
		return;
	placing.clock = events_clock(placing.events);
	placing.piece_of = alloc_zeroed(placing.h->count + 1, sizeof(*placing.piece_of));
	events_latest(placing.events, RECORDS);
	if (isfinite(placing.clock.ns_per_tick))
		events_tell(placing.events, &to, &figures);
	free(placing.piece_of);
	if (events_close(placing.events))
		p->count = 0;
	if (p->count)
		qsort(p->pieces, p->count, sizeof(*p->pieces), by_start);
	join(p);
}

void html_placed_free(struct html_placed *p)
{
	free(p->pieces);
	free(p->busy);
	*p = (struct html_placed){0};
}

double html_busy(const struct html_placed *p, double start, double end)
{
	size_t low = 0, high = p->busy_count;
	double sum = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (p->busy[middle].end <= start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < p->busy_count && p->busy[low].start < end; low++)
		sum += fmin(end, p->busy[low].end) - fmax(start, p->busy[low].start);
	return sum;
}
