/* SPDX-License-Identifier: Apache-2.0 */
#include "report/analysis/flow/flow.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "shim/core/cuda/streams.h"

void flow_start(struct flow *f, const struct call_log *h, bool paced)
{
	*f = (struct flow){.h = h, .paced = paced, .base = -INFINITY};
	f->events = alloc_zeroed((size_t)h->events + 1, sizeof(*f->events));
	for (uint32_t i = 0; i < h->events; i++)
		f->events[i] = (struct flow_event){.stream = CALL_LOG_NONE, .until = -INFINITY};
}

void flow_end(struct flow *f)
{
	free(f->events);
	f->events = NULL;
}

bool flow_is_work(const struct call_event *a)
{
	return a->kind != TF_WORK_NONE && !a->result && !(a->flags & CALL_EVENT_CAPTURED);
}

bool flow_is_blocking(const struct call_event *a)
{
	return a->bytes && !a->result && !(a->flags & CALL_EVENT_CAPTURED) && call_event_holds(a);
}

bool flow_is_device_wait(const struct call_event *a)
{
	return !a->result && !(a->flags & CALL_EVENT_CAPTURED) &&
	       cuda_role_waits_for_device(a->role) &&
	       (a->role != CUDA_ROLE_FREE || (a->address && a->memory != SPY_MEM_UNKNOWN));
}

bool flow_is_wait(const struct call_event *a)
{
	return !a->result &&
	       (a->cls == SPY_CLASS_SYNC || flow_is_device_wait(a) || flow_is_blocking(a));
}

static uint32_t flags_of(const struct flow *f, uint32_t stream)
{
	return f->h->streams[stream].flags;
}

static uint32_t device_of(const struct flow *f, uint32_t stream)
{
	return f->h->streams[stream].device;
}

static struct flow_stream *find(const struct flow *f, uint32_t stream)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->busy[i].stream == stream)
			return (struct flow_stream *)&f->busy[i];
	return NULL;
}

/* Drops the streams that have nothing to do any more at `now`. */
static void tidy(struct flow *f, double now)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->count; i++)
		if (f->busy[i].until > now || f->busy[i].after > now)
			f->busy[kept++] = f->busy[i];
	f->count = kept;
}

/* The stream's place, made if need be; NULL where there is no room. */
static struct flow_stream *place(struct flow *f, uint32_t stream, double now)
{
	struct flow_stream *s = find(f, stream);

	if (s)
		return s;
	if (f->count == FLOW_STREAMS)
		tidy(f, now);
	if (f->count == FLOW_STREAMS) {
		f->full = true;
		return NULL;
	}
	s = &f->busy[f->count++];
	*s = (struct flow_stream){.stream = stream, .until = -INFINITY, .after = -INFINITY};
	return s;
}

double flow_ends(const struct flow *f, uint32_t device, uint32_t but)
{
	double ends = -INFINITY;

	for (size_t i = 0; i < f->count; i++)
		if (f->busy[i].stream != but && device_of(f, f->busy[i].stream) == device)
			ends = fmax(ends, f->busy[i].until);
	return ends;
}

/* What the work, the record or wait has to wait for because of the legacy default stream. */
static double legacy_lets(const struct flow *f, const struct call_event *a)
{
	uint32_t stream = a->stream;
	double ends = -INFINITY;

	/* A copy that the host waits for is one that it wants after what it launched. */
	if (f->alone && !flow_is_blocking(a))
		return ends;
	for (size_t i = 0; i < f->count; i++) {
		uint32_t other = f->busy[i].stream;
		if (device_of(f, other) == device_of(f, stream) &&
		    cuda_stream_waits(flags_of(f, stream), flags_of(f, other)))
			ends = fmax(ends, fmax(f->busy[i].until, f->busy[i].after));
	}
	return ends;
}

double flow_lets(const struct flow *f, const struct call_event *a)
{
	const struct flow_stream *s = find(f, a->stream);

	return fmax(legacy_lets(f, a), s ? fmax(s->until, s->after) : -INFINITY);
}

/* A wait for what the stream had to do returned at `now`. */
static void done(struct flow *f, struct flow_stream *s, double now)
{
	if (f->paced) {
		s->until = fmin(s->until, now);
		s->after = fmin(s->after, now);
	} else {
		f->base = fmax(f->base, fmax(s->until, s->after));
	}
}

static void waited_for_stream(struct flow *f, const struct call_event *a)
{
	uint32_t flags = flags_of(f, a->stream);

	for (size_t i = 0; i < f->count; i++) {
		struct flow_stream *s = &f->busy[i];
		if (s->stream == a->stream ||
		    (cuda_stream_sync_waits(flags, flags_of(f, s->stream)) &&
		     device_of(f, s->stream) == device_of(f, a->stream)))
			done(f, s, a->end);
	}
}

static void add_work(struct flow *f, const struct call_event *a, struct flow_stream *s)
{
	double ns = a->gpu * a->items;

	f->pieces++;
	if (!(ns >= 0)) {
		f->unknown++;
		ns = f->paced ? INFINITY : 0;
	}
	s->until = fmax(f->paced ? a->end : fmax(f->base, 0), flow_lets(f, a)) + ns;
	if (f->paced && isfinite(a->gpu_start)) /* CUPTI: as it was */
		s->until = a->gpu_start + a->gpu;
	if (flow_is_blocking(a))
		waited_for_stream(f, a);
}

static void waited_for_event(struct flow *f, const struct call_event *a)
{
	const struct flow_event *e = &f->events[a->event];

	if (!f->paced) {
		f->base = fmax(f->base, e->until);
		return;
	}
	struct flow_stream *s = e->stream == CALL_LOG_NONE ? NULL : find(f, e->stream);
	if (s && fmax(s->until, s->after) <= e->until) /* nothing came after it */
		done(f, s, a->end);
}

static void waited_for_device(struct flow *f, const struct call_event *a)
{
	for (size_t i = 0; i < f->count; i++)
		if (device_of(f, f->busy[i].stream) == a->device)
			done(f, &f->busy[i], a->end);
}

static void add_event(struct flow *f, const struct call_event *a)
{
	if (a->stream == CALL_LOG_NONE || a->event >= f->h->events)
		return;
	/* In its stream's order, that of the legacy default stream included. */
	bool record = a->role == CUDA_ROLE_EVENT_RECORD;
	double lets = flow_lets(f, a),
	       until = record ? lets : fmax(lets, f->events[a->event].until);
	if (record)
		f->events[a->event] = (struct flow_event){.stream = a->stream, .until = lets};
	struct flow_stream *s = until > (f->paced ? a->end : f->base)
	                                ? place(f, a->stream, f->paced ? a->start : f->base)
	                                : NULL;
	if (s)
		s->after = fmax(s->after, until);
}

void flow_add(struct flow *f, const struct call_event *a)
{
	if (a->result)
		return;
	if (flow_is_device_wait(a))
		waited_for_device(f, a);
	if (flow_is_blocking(a) && a->kind == TF_WORK_NONE && a->stream != CALL_LOG_NONE)
		waited_for_stream(f, a);
	if (flow_is_work(a) && a->stream != CALL_LOG_NONE) {
		struct flow_stream *s = place(f, a->stream, f->paced ? a->start : f->base);
		if (s)
			add_work(f, a, s);
		return;
	}
	switch (a->role) {
	case CUDA_ROLE_EVENT_RECORD:
	case CUDA_ROLE_EVENT_WAIT:
		add_event(f, a);
		break;
	case CUDA_ROLE_SYNC_STREAM:
	case CUDA_ROLE_QUERY_STREAM:
		if (a->stream != CALL_LOG_NONE)
			waited_for_stream(f, a);
		break;
	case CUDA_ROLE_SYNC_EVENT:
	case CUDA_ROLE_QUERY_EVENT:
		if (a->event < f->h->events)
			waited_for_event(f, a);
		break;
	case CUDA_ROLE_SYNC_ALL:
		waited_for_device(f, a);
		break;
	default:
		break;
	}
}
