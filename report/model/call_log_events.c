/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/call_log_internal.h"
#include "shim/core/cuda/streams.h"
#include "shim/core/gpu_time/implausible.h"
#include "shim/core/work/work_class.h"

/* ---- streams ---- */

/* A key that no handle of a stream has: they are addresses. */
static uint64_t own_key(uint64_t handle, uint32_t owner)
{
	return 1ull << 63 | handle << 32 | owner;
}

static uint32_t add_stream(struct call_log_making *m, uint64_t key, struct call_log_stream stream)
{
	struct call_log *h = m->call_log;

	ALLOC_ROOM(h->streams, h->stream_count);
	h->streams[h->stream_count] = stream;
	number_put(&m->streams, key, (uint32_t)h->stream_count);
	return (uint32_t)h->stream_count++;
}

/* Those that the timeline knew: of several of one handle the last. */
static void known_streams(struct call_log_making *m)
{
	const struct recording *r = m->part->recording;

	for (uint32_t i = 0; i < r->streams; i++) {
		const struct tf_stream *s =
		        tf_entry(&r->map, &m->part->header->streams, i, sizeof(*s));
		if (s && cuda_stream_is_made(s->handle))
			add_stream(m, s->handle,
			           (struct call_log_stream){
			                   .handle = s->handle,
			                   .flags = s->flags,
			                   .device = s->device % TF_DEVICES_TIMED,
			                   .thread = CALL_LOG_NONE,
			           });
	}
}

static uint32_t stream_row(struct call_log_making *m, const struct call_event *a, uint64_t handle)
{
	uint64_t stream = cuda_stream(handle, a->flags), key = stream;
	bool own = stream == CUDA_STREAM_PER_THREAD;

	if (own)
		key = own_key(stream, (uint32_t)a->thread << 8 | a->device);
	else if (stream == CUDA_STREAM_LEGACY)
		key = own_key(stream, a->device);
	uint32_t row = number_get(&m->streams, key);

	if (row != CALL_LOG_NONE)
		return row;
	return add_stream(m, key,
	                  (struct call_log_stream){
	                          .handle = cuda_stream_is_made(stream) ? stream : 0,
	                          .flags = cuda_stream_flags(stream),
	                          .device = a->device,
	                          .thread = own ? a->thread : CALL_LOG_NONE,
	                  });
}

static void stream_made(struct call_log_making *m, struct call_event *a, const struct tf_record *r)
{
	if (r->result || !cuda_stream_is_made(r->stream))
		return;
	a->stream = add_stream(m, r->stream,
	                       (struct call_log_stream){
	                               .handle = r->stream,
	                               .flags = r->arg[0] & 0xffff,
	                               .device = a->device,
	                               .thread = CALL_LOG_NONE,
	                       });
}

/* ---- arguments ---- */

static uint32_t event_number(struct call_log_making *m, uint64_t handle)
{
	if (!handle)
		return CALL_LOG_NONE;
	uint32_t number = number_get(&m->events, handle);
	if (number == CALL_LOG_NONE)
		number_put(&m->events, handle, number = m->call_log->events++);
	return number;
}

static uint8_t bounded(uint8_t value, uint8_t count, uint8_t unknown)
{
	return value < count ? value : unknown;
}

static void add_transfer(struct call_event *a, const struct tf_record *r)
{
	a->bytes = r->copy.bytes;
	a->address = r->copy.dst;
	a->source = a->cls == SPY_CLASS_COPY ? r->copy.src : 0;
	a->items = r->copy.items ? r->copy.items : 1;
	a->direction = bounded(r->copy.direction, SPY_DIR_COUNT, SPY_DIR_UNKNOWN);
	a->memory = bounded(r->copy.memory, SPY_MEM_COUNT, SPY_MEM_UNKNOWN);
	a->async = r->copy.async;
}

static void add_arguments(struct call_log_making *m, struct call_event *a,
                          const struct tf_record *r)
{
	switch (a->cls) {
	case SPY_CLASS_LAUNCH:
		a->items = r->launch.items ? r->launch.items : 1;
		break;
	case SPY_CLASS_COPY:
	case SPY_CLASS_SET:
		add_transfer(a, r);
		break;
	case SPY_CLASS_ALLOC:
		a->bytes = r->alloc.bytes;
		a->address = r->alloc.address;
		a->is_free = r->alloc.is_free;
		a->memory = bounded(r->alloc.memory, SPY_MEM_COUNT, SPY_MEM_UNKNOWN);
		break;
	case SPY_CLASS_GRAPH_LAUNCH:
	case SPY_CLASS_GRAPH:
		a->graph = r->graph.graph < m->part->recording->graphs ? r->graph.graph
		                                                       : CALL_LOG_NONE;
		a->address = r->graph.handle;
		break;
	default:
		if (a->cls == SPY_CLASS_EVENT || a->role == CUDA_ROLE_SYNC_EVENT ||
		    a->role == CUDA_ROLE_QUERY_EVENT)
			a->event = event_number(m, r->event.event);
	}
}

static enum tf_work_kind kind_of(const struct call_event *a, const struct tf_record *r)
{
	enum tf_work_kind kind = work_kind(a->cls);

	if (r->result || r->flags & (TF_CAPTURED | TF_NO_ARGS) ||
	    (kind == TF_WORK_GRAPH && !r->graph.handle) ||
	    ((kind == TF_WORK_COPY || kind == TF_WORK_SET) &&
	     (!r->copy.bytes || r->copy.direction == SPY_DIR_HTOH)))
		return TF_WORK_NONE;
	return kind;
}

static void add_work(struct call_log_making *m, struct call_event *a, const struct tf_record *r)
{
	struct call_log *h = m->call_log;
	enum tf_work_kind kind = kind_of(a, r);

	if (kind == TF_WORK_NONE)
		return;
	a->kind = (uint8_t)kind;
	a->work = works_row(&m->works, h, kind, r);
}

static void make(struct call_log_making *m, struct call_event *a,
                 const struct call_log_taken *taken)
{
	const struct tf_record *r = &taken->r;
	const struct model_part *p = m->part;
	uint32_t call = call_log_call(m, r->call), thread = call_log_thread(m, r->thread);
	struct call_log *h = m->call_log;

	*a = (struct call_event){
	        .start = clock_between(&p->clock, p->window_start, r->start),
	        .end = clock_between(&p->clock, p->window_start, r->end),
	        .gpu = NAN,
	        .gpu_start = NAN,
	        .nested_sync = taken->nested_sync,
	        .nested_alloc = taken->nested_alloc,
	        .nested_module = taken->nested_module,
	        .ours = taken->ours,
	        .call = call,
	        .stream = CALL_LOG_NONE,
	        .work = CALL_LOG_NONE,
	        .event = CALL_LOG_NONE,
	        .graph = CALL_LOG_NONE,
	        .items = 1,
	        .site = tf_site_of(r),
	        .thread = (uint16_t)thread,
	        .device = m->device[thread],
	        .flags = r->flags,
	        .result = r->result,
	        .cls = h->calls[call].cls,
	        .level = h->calls[call].level,
	        .role = h->calls[call].role,
	};
	if (a->cls == SPY_CLASS_CONTEXT && !r->result && r->arg[0] && r->arg[0] <= TF_DEVICES_TIMED)
		m->device[thread] = a->device = (uint16_t)(r->arg[0] - 1);
	if (r->flags & TF_NO_ARGS)
		return;
	add_arguments(m, a, r);
	if (a->role == CUDA_ROLE_STREAM_MADE)
		stream_made(m, a, r);
	else if ((cuda_role_is_on_stream(a->role) &&
	          (a->role != CUDA_ROLE_HOST_FUNCTION || r->arg[0])) ||
	         work_kind(a->cls) != TF_WORK_NONE)
		a->stream = stream_row(m, a, r->stream);
	if (a->stream != CALL_LOG_NONE)
		h->streams[a->stream].call_events++;
	add_work(m, a, r);
}

void call_log_make(struct call_log *h, const struct model_part *p,
                   const struct call_log_taken *taken, size_t count)
{
	struct call_log_making m = {.part = p, .call_log = h};

	h->call_events = alloc_zeroed(count, sizeof(*h->call_events));
	if (!count)
		return;
	m.call_row = alloc_zeroed(p->recording->calls, sizeof(*m.call_row));
	m.thread_row = alloc_zeroed(p->recording->threads, sizeof(*m.thread_row));
	m.device = alloc_zeroed(p->recording->threads, sizeof(*m.device));
	works_start(&m.works, p);
	known_streams(&m);
	for (; h->count < count; h->count++)
		make(&m, &h->call_events[h->count], &taken[h->count]);
	works_finish(&m.works, h);
	for (size_t i = 0; i < h->count; i++)
		if (h->call_events[i].work != CALL_LOG_NONE)
			h->call_events[i].gpu = h->works[h->call_events[i].work].mean;
	free(m.call_row);
	free(m.thread_row);
	free(m.device);
	number_free(&m.streams);
	number_free(&m.events);
}

void call_log_exact(struct call_log *h, const struct model_part *p,
                    const struct call_log_numbers *causes, const struct tf_record *activity)
{
	uint32_t at = number_get(causes, activity->stream);
	struct call_event *a = at < h->count ? &h->call_events[at] : NULL;
	double start = clock_between(&p->clock, p->window_start, activity->start),
	       ns = clock_ns(&p->clock, activity->end - activity->start);

	if (!a || a->kind == TF_WORK_NONE || !isfinite(start) || !(ns >= 0 && ns < 1e18))
		return;
	if (isnan(a->gpu_start)) {
		a->gpu_start = start;
		a->gpu = ns;
		return;
	}
	/* Nodes of a graph, copies of a batch: from the first to the last. */
	double end = fmax(a->gpu_start + a->gpu, start + ns);
	a->gpu_start = fmin(a->gpu_start, start);
	a->gpu = end - a->gpu_start;
}

/* ---- what of that cannot be true ---- */

static bool is_copy(const struct call_event *a)
{
	return a->kind == TF_WORK_COPY || a->kind == TF_WORK_SET;
}

static struct implausible_span span_of(const struct call_event *a)
{
	return (struct implausible_span){
	        .start = a->gpu_start,
	        .end = a->gpu_start + a->gpu,
	        .bytes = (double)a->bytes,
	        .is_copy = is_copy(a),
	        .is_staged = a->kind == TF_WORK_COPY && a->memory == SPY_MEM_PAGEABLE,
	};
}

static bool speaks_against(const struct call_event *a, const struct call_event *other)
{
	const struct implausible_span x = span_of(a), y = span_of(other);

	return other->kind != TF_WORK_NONE && isfinite(other->gpu_start) &&
	       other->stream == a->stream && implausible_beside(&x, &y);
}

static bool is_implausible(const struct call_log *h, size_t i)
{
	const struct call_event *a = &h->call_events[i];

	if (!is_copy(a) || a->items > 1 || !isfinite(a->gpu_start) ||
	    !(a->gpu >= IMPLAUSIBLE_LEAST_NS))
		return false;
	const struct implausible_span span = span_of(a);
	if (implausible_slow(&span))
		return true;
	size_t from = i > IMPLAUSIBLE_NEIGHBOURS ? i - IMPLAUSIBLE_NEIGHBOURS : 0;
	for (size_t k = from; k < h->count && k <= i + IMPLAUSIBLE_NEIGHBOURS; k++)
		if (k != i && speaks_against(a, &h->call_events[k]))
			return true;
	return false;
}

void call_log_disbelieve(struct call_log *h)
{
	for (size_t i = 0; i < h->count; i++)
		if (is_implausible(h, i)) {
			struct call_event *a = &h->call_events[i];
			a->gpu_start = NAN;
			a->gpu = a->work != CALL_LOG_NONE ? h->works[a->work].mean : NAN;
		}
}
