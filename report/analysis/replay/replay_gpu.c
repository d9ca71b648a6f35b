/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/replay/replay_internal.h"
#include "shim/core/cuda/host_functions.h"
#include "shim/core/cuda/streams.h"

void replay_gpu_start(struct replay_gpu *g, const struct replay *r,
                      const struct replay_act *call_events)
{
	const struct call_log *h = r->call_log;

	*g = (struct replay_gpu){.replay = r, .call_events = call_events};
	g->streams = alloc_zeroed(h->stream_count, sizeof(*g->streams));
	g->done = alloc_zeroed(r->count, sizeof(*g->done));
	for (size_t i = 0; i < h->stream_count; i++) {
		struct replay_stream *s = &g->streams[i];
		s->tail = s->wait = s->side = s->marked = -INFINITY;
		s->given = s->ahead = r->count ? r->given[0].start : 0;
		s->device = h->streams[i].device % CALL_LOG_DEVICES;
		s->legacy = cuda_stream_is_legacy(h->streams[i].flags);
		s->blocking = cuda_stream_is_blocking(h->streams[i].flags);
		/* A stream with fewer calls cannot fill a queue: memory is bounded by the calls. */
		for (int k = 0; h->streams[i].call_events > CUDA_QUEUE_ENTRIES && k < CUDA_ENGINES;
		     k++)
			replay_queue_start(&s->queues[k]);
	}
	for (size_t i = 0; i < CALL_LOG_DEVICES; i++) {
		struct replay_device *d = &g->devices[i];
		d->tail = d->legacy = d->blocking = -INFINITY;
		for (int k = 0; k < CUDA_ENGINES; k++) {
			d->engine[k] = -INFINITY;
			d->engine_stream[k] = CALL_LOG_NONE;
		}
		for (unsigned k = 0; k < CUDA_STAGING_BUFFERS; k++)
			d->staged[k] = -INFINITY;
		d->tail_stream = CALL_LOG_NONE;
	}
}

void replay_gpu_end(struct replay_gpu *g)
{
	for (size_t i = 0; i < g->replay->call_log->stream_count; i++)
		for (int k = 0; k < CUDA_ENGINES; k++)
			replay_queue_end(&g->streams[i].queues[k]);
	free(g->streams);
	free(g->done);
}

static struct replay_stream *stream_of(const struct replay_gpu *g, size_t i)
{
	uint32_t stream = g->replay->given[i].stream;

	return stream == CALL_LOG_NONE ? NULL : &g->streams[stream];
}

static struct replay_device *device_of(const struct replay_gpu *g, size_t i)
{
	const struct replay_stream *s = stream_of(g, i);
	uint32_t device = s ? s->device : g->replay->given[i].device % CALL_LOG_DEVICES;

	return (struct replay_device *)&g->devices[device];
}

/* The end of what is on a stream, and of these copies beside it; of the legacy one, of those that
 * it waits for too. */
static double end_with(const struct replay_gpu *g, const struct replay_stream *s, double copies)
{
	double end = later(s->tail, later(s->wait, copies));

	return s->legacy ? later(end, g->devices[s->device].blocking) : end;
}

static double end_of(const struct replay_gpu *g, const struct replay_stream *s)
{
	return end_with(g, s, s->side);
}

/* The stream that an event record or a host function is on. */
static struct replay_stream *marked_stream(const struct replay_gpu *g, uint32_t record)
{
	/* Older recordings lack a host function's stream: `event` is a call on the same one. */
	bool names = g->replay->given[record].stream == CALL_LOG_NONE;

	return stream_of(g, names ? g->call_events[record].event : record);
}

/* `done` is kept without the stream's offset, which may still change. */
double replay_gpu_marked(const struct replay_gpu *g, uint32_t record)
{
	return record != CALL_LOG_NONE ? g->done[record] + marked_stream(g, record)->offset
	                               : -INFINITY;
}

/* How many of the driver's staging buffers the copy uses; 0: it is not staged, or holds its caller.
 */
static unsigned buffers_of(const struct replay_gpu *g, size_t i)
{
	const struct call_event *given = &g->replay->given[i];

	return given->kind == TF_WORK_COPY ? cuda_copy_buffers(call_event_copy(given)) : 0;
}

double replay_gpu_awaited(const struct replay_gpu *g, size_t i)
{
	const struct replay_act *a = &g->call_events[i];
	const struct replay_stream *s = stream_of(g, i);

	switch (a->wait) {
	case REPLAY_STREAM:
		return s ? end_of(g, s) : -INFINITY;
	case REPLAY_DEVICE:
		return device_of(g, i)->tail;
	case REPLAY_EVENT:
		return replay_gpu_marked(g, a->event);
	case REPLAY_STAGED:
		return replay_gpu_before(g, i);
	case REPLAY_BUFFER:
		return device_of(g, i)->staged[CUDA_STAGING_BUFFERS - buffers_of(g, i)];
	default:
		return -INFINITY;
	}
}

static void clip(double *end, double by)
{
	if (*end > by)
		*end = by;
}

static void clip_stream(struct replay_gpu *g, struct replay_stream *s, double by)
{
	struct replay_device *d = &g->devices[s->device];
	uint32_t stream = (uint32_t)(s - g->streams);

	for (int k = 0; k < CUDA_ENGINES; k++) {
		replay_queue_settle(&s->queues[k], by - s->offset);
		if (d->engine_stream[k] == stream)
			clip(&d->engine[k], by);
	}
	clip(&s->tail, by);
	clip(&s->side, by);
	clip(&s->marked, by);
	clip(&s->wait, by);
	if (d->tail_stream == stream)
		clip(&d->tail, by);
	if (s->legacy) {
		clip(&d->legacy, by);
		clip(&d->blocking, by);
	}
}

void replay_gpu_clip(struct replay_gpu *g, size_t i, double by)
{
	const struct replay_act *a = &g->call_events[i];
	struct replay_stream *s = stream_of(g, i);
	struct replay_device *d = device_of(g, i);

	if ((a->wait == REPLAY_STREAM || a->wait == REPLAY_STAGED) && s) {
		clip_stream(g, s, by);
	} else if (a->wait == REPLAY_DEVICE) {
		if (d->tail > by && d->tail_stream != CALL_LOG_NONE)
			clip_stream(g, &g->streams[d->tail_stream], by);
		for (int k = 0; k < CUDA_ENGINES; k++)
			clip(&d->engine[k], by);
		clip(&d->tail, by);
		clip(&d->legacy, by);
		clip(&d->blocking, by);
	} else if (a->wait == REPLAY_BUFFER) {
		for (unsigned k = CUDA_STAGING_BUFFERS - buffers_of(g, i); k < CUDA_STAGING_BUFFERS;
		     k++)
			clip(&d->staged[k], by);
	} else if (a->wait == REPLAY_EVENT && a->event != CALL_LOG_NONE) {
		struct replay_stream *of = marked_stream(g, a->event);
		if (of->tail <= replay_gpu_marked(g, a->event))
			clip_stream(g, of, by);
		clip(&g->done[a->event], by - of->offset);
	}
}

static enum cuda_engine engine_of(const struct call_event *given)
{
	return cuda_engine((enum tf_work_kind)given->kind, call_event_copy(given));
}

double replay_gpu_queued(const struct replay_gpu *g, size_t i, uint32_t entries)
{
	const struct call_event *given = &g->replay->given[i];
	const struct replay_stream *s = stream_of(g, i);

	if (!s || given->kind == TF_WORK_NONE || g->call_events[i].flags & REPLAY_PART)
		return -INFINITY;
	return replay_queue_left(&s->queues[engine_of(given)], entries) + s->offset;
}

void replay_gpu_shift(struct replay_gpu *g, size_t i, double ns)
{
	uint32_t event = g->call_events[i].event;
	size_t of = event != CALL_LOG_NONE ? event : i;
	struct replay_stream *s = stream_of(g, of);
	struct replay_device *d = device_of(g, of);

	if (!s)
		return;
	uint32_t stream = (uint32_t)(s - g->streams);
	s->offset += ns;
	s->tail += ns;
	if (d->tail_stream == stream)
		d->tail = s->tail;
	for (int k = 0; k < CUDA_ENGINES; k++)
		if (d->engine_stream[k] == stream)
			d->engine[k] += ns;
}

double replay_gpu_switch(const struct replay_gpu *g, size_t i)
{
	const struct replay_stream *s = stream_of(g, i);
	enum cuda_engine engine = engine_of(&g->replay->given[i]);

	if (!s || g->call_events[i].flags & REPLAY_IN)
		return 0;
	return cuda_switch_ns(s->engine, engine);
}

/* One engine makes all such copies of the device, one after the other. */
static bool is_shared(const struct replay_gpu *g, size_t i)
{
	const struct call_event *given = &g->replay->given[i];

	return cuda_engine_is_shared(engine_of(given), given->bytes);
}

double replay_gpu_before(const struct replay_gpu *g, size_t i)
{
	const struct replay_stream *s = stream_of(g, i);
	struct replay_device *d = device_of(g, i);
	double end = is_shared(g, i) ? d->engine[engine_of(&g->replay->given[i])] : -INFINITY;

	if (!s)
		return end;
	if (g->call_events[i].flags & REPLAY_IN)
		return later(end, replay_gpu_marked(g, g->call_events[i].event));
	end = later(end, later(s->tail, s->wait));
	if (s->legacy)
		end = later(end, d->blocking);
	else if (s->blocking)
		end = later(end, d->legacy);
	return end;
}

/* From when on call i's work may run, as far as its call goes. */
static double given_at(struct replay_gpu *g, struct replay_stream *s, const struct replay_act *a,
                       double entry, double returned)
{
	struct replay_device *d = &g->devices[s->device];

	if (!(a->flags & REPLAY_AHEAD)) {
		d->others++;
		return later(returned + a->lead, entry);
	}
	bool others = s->row != d->others + 1;
	if (others && (!s->row || !g->waits || s->row_waits != g->waits)) {
		s->ahead = s->given;
		s->given = entry;
		s->row_waits = g->waits;
	}
	s->row = d->others + 1;
	return s->ahead;
}

/* When call i's work ends. */
static double place(struct replay_gpu *g, size_t i, double entry, double returned)
{
	const struct replay_act *a = &g->call_events[i];
	double from = given_at(g, stream_of(g, i), a, entry, returned);

	if (a->wait == REPLAY_STAGED)
		return returned;
	return later(from, replay_gpu_before(g, i) + fmax(0, replay_gpu_switch(g, i) + a->space)) +
	       a->gpu;
}

static void book(struct replay_gpu *g, size_t i, struct replay_stream *s, double end)
{
	struct replay_device *d = device_of(g, i);
	enum cuda_engine engine = engine_of(&g->replay->given[i]);
	uint16_t flags = g->call_events[i].flags;

	s->function = false;
	for (unsigned k = g->call_events[i].wait == REPLAY_BUFFER ? buffers_of(g, i) : 0; k; k--) {
		d->staged[1] = d->staged[0];
		d->staged[0] = end;
	}
	if (is_shared(g, i) && end >= d->engine[engine]) {
		d->engine[engine] = end;
		d->engine_stream[engine] = (uint32_t)(s - g->streams);
	}
	if (flags & REPLAY_OUT) {
		s->side = later(s->side, end);
		if (!(flags & REPLAY_ALONE))
			s->marked = later(s->marked, end);
	} else if (flags & REPLAY_IN) {
		s->wait = later(s->wait, end);
	} else {
		s->tail = later(s->tail, end);
		s->engine = engine;
	}
	if (s->legacy)
		d->legacy = later(d->legacy, end);
	else if (s->blocking)
		d->blocking = later(d->blocking, end);
	if (end >= d->tail) {
		d->tail = end;
		d->tail_stream = (uint32_t)(s - g->streams);
	}
	if (!(flags & REPLAY_PART))
		replay_queue_add(&s->queues[engine], end - s->offset);
}

/*
 * Event records and waits are in stream order as work is: on the legacy default stream they come
 * behind the work of blocking streams, and the reverse.
 */
static void order(struct replay_gpu *g, struct replay_stream *s)
{
	struct replay_device *d = &g->devices[s->device];

	if (s->legacy) {
		s->wait = later(s->wait, d->blocking);
		d->legacy = later(d->legacy, s->wait);
	} else if (s->blocking) {
		s->wait = later(s->wait, d->legacy);
		d->blocking = later(d->blocking, s->wait);
	}
}

double replay_gpu_issue(struct replay_gpu *g, size_t i, double entry, double returned)
{
	const struct call_event *given = &g->replay->given[i];
	const struct replay_act *a = &g->call_events[i];
	struct replay_stream *s = stream_of(g, i);

	g->waits += a->wait != REPLAY_NO_WAIT && !(a->flags & REPLAY_AHEAD);
	if (given->role == CUDA_ROLE_HOST_FUNCTION && a->event != CALL_LOG_NONE) {
		s = marked_stream(g, (uint32_t)i);
		g->done[i] = later(end_of(g, s), returned) - s->offset;
		return -INFINITY;
	}
	if (!s || a->flags & REPLAY_SKIP || given->result || given->flags & CALL_EVENT_CAPTURED)
		return -INFINITY;
	if (given->kind != TF_WORK_NONE) {
		double end = place(g, i, entry, returned);
		book(g, i, s, end);
		if (a->flags & (REPLAY_IN | REPLAY_OUT))
			g->done[i] = end - s->offset;
		return end;
	}
	if (given->role == CUDA_ROLE_EVENT_RECORD && a->flags & REPLAY_ALONE) {
		g->done[i] = later(replay_gpu_marked(g, a->event), returned) - s->offset;
	} else if (given->role == CUDA_ROLE_EVENT_RECORD) {
		order(g, s);
		g->done[i] = later(end_with(g, s, s->marked), returned) - s->offset;
	} else if (given->role == CUDA_ROLE_EVENT_WAIT && a->event != CALL_LOG_NONE) {
		s->wait = later(s->wait, replay_gpu_marked(g, a->event));
		order(g, s);
	} else if (given->role == CUDA_ROLE_HOST_FUNCTION) {
		order(g, s);
		double ahead = end_of(g, s);
		s->wait = later(ahead, returned);
		g->done[i] = s->wait - s->offset;
		if (!s->function || returned > ahead)
			s->wait += CUDA_HOST_FUNCTION_NS;
		s->function = true;
	}
	return -INFINITY;
}

double replay_gpu_last(const struct replay_gpu *g)
{
	double last = -INFINITY;

	for (size_t i = 0; i < CALL_LOG_DEVICES; i++)
		last = later(last, g->devices[i].tail);
	return last;
}
