/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/html/html_placed.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "shim/core/cuda/streams.h"

/* With more streams than that no rules between them are looked at: it would take long. */
#define MOST_LANES 64u

struct lane {        /* a stream */
	double tail; /* end of its last work */
	uint32_t stream;
	size_t first; /* pieces before it are known to be done */
};

static bool gives_work(const struct call_event *e)
{
	return e->kind != TF_WORK_NONE && e->stream != CALL_LOG_NONE && e->result == 0 &&
	       !(e->flags & CALL_EVENT_CAPTURED);
}

/* The end of what has to be done before work on this stream may start. */
static double tail_of(const struct call_log *h, const struct lane *lanes, uint32_t stream)
{
	double tail = lanes[stream].tail;

	for (uint32_t i = 0; h->stream_count <= MOST_LANES && i < h->stream_count; i++)
		if (i != stream && h->streams[i].device == h->streams[stream].device &&
		    cuda_stream_waits(h->streams[stream].flags, h->streams[i].flags))
			tail = fmax(tail, lanes[i].tail);
	return tail;
}

static void put(struct html_placed *p, struct lane *lanes, const struct call_log *h, size_t i)
{
	const struct call_event *e = &h->call_events[i];
	struct lane *lane = &lanes[e->stream];
	double takes = e->gpu * e->items, start;
	bool exact = isfinite(e->gpu_start);

	if (exact) {
		start = e->gpu_start;
	} else {
		/* A copy that the caller waits for runs inside of its call. */
		bool inside = e->kind == TF_WORK_COPY && !e->async;
		start = fmax(tail_of(h, lanes, e->stream), inside ? e->start : e->end);
		if (inside && isfinite(takes) && start + takes > e->end) {
			start = fmax(e->start, e->end - takes);
			takes = fmin(takes, fmax(0, e->end - start));
		}
	}
	ALLOC_ROOM(p->pieces, p->count);
	p->pieces[p->count] = (struct html_piece){
	        start, start + (isfinite(takes) && takes > 0 ? takes : 0), (uint32_t)i, exact};
	lane->tail = fmax(lane->tail, p->pieces[p->count++].end);
}

/* All of it was done by then: what is placed later was estimated too long, or began earlier. */
static void done(struct html_placed *p, const struct call_log *h, struct lane *lane, double by)
{
	double end = by;

	for (size_t i = lane->tail > by ? p->count : lane->first; i-- > lane->first;) {
		struct html_piece *piece = &p->pieces[i];
		double takes = piece->end - piece->start;
		if (piece->exact || h->call_events[piece->by].stream != lane->stream)
			continue;
		if (piece->end <= end)
			break;
		piece->start = fmin(end, fmax(end - takes, h->call_events[piece->by].start));
		piece->end = end;
		end = piece->start;
	}
	lane->tail = fmin(lane->tail, by);
	lane->first = p->count;
}

static void wait_for(struct html_placed *p, struct lane *lanes, const struct call_log *h,
                     const struct call_event *e)
{
	bool all = e->role == CUDA_ROLE_SYNC_ALL;

	if (!all && e->role != CUDA_ROLE_SYNC_STREAM)
		return;
	for (uint32_t i = 0; i < h->stream_count; i++)
		if (all ? h->streams[i].device == e->device : i == e->stream)
			done(p, h, &lanes[i], e->end);
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

void html_place(struct html_placed *p, const struct call_log *h)
{
	struct lane *lanes = alloc_zeroed(h->stream_count + 1, sizeof(*lanes));

	*p = (struct html_placed){0};
	for (uint32_t i = 0; i < h->stream_count; i++)
		lanes[i] = (struct lane){.tail = -INFINITY, .stream = i};
	for (size_t i = 0; i < h->count; i++) {
		if (gives_work(&h->call_events[i]))
			put(p, lanes, h, i);
		wait_for(p, lanes, h, &h->call_events[i]);
	}
	free(lanes);
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
