/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to calls while streams are captured: they become nodes, or they break the capture.
 */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver_graph.h"

_Atomic unsigned captures_active;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_capture *active;

void capture_lock(void)
{
	pthread_mutex_lock(&lock);
}

void capture_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

CUresult capture_set_deps(struct sim_stream *s, struct sim_node *const *deps, size_t count)
{
	struct sim_node **copy = malloc((count ? count : 1) * sizeof(*copy));

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (count)
		memcpy(copy, deps, count * sizeof(*copy));
	free(s->deps);
	s->deps = copy;
	s->dep_count = (unsigned)count;
	return CUDA_SUCCESS;
}

CUresult capture_add_deps(struct sim_stream *s, struct sim_node *const *deps, size_t count)
{
	struct sim_node **more = realloc(s->deps, (s->dep_count + count + 1) * sizeof(*more));

	if (!more)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->deps = more;
	for (size_t i = 0; i < count; i++) {
		unsigned k = 0;

		while (k < s->dep_count && s->deps[k] != deps[i])
			k++;
		s->deps[k] = deps[i];
		s->dep_count += k == s->dep_count;
	}
	return CUDA_SUCCESS;
}

bool capture_join(struct sim_capture *c, struct sim_stream *s)
{
	struct sim_stream **more = realloc(c->stream, (c->streams + 1) * sizeof(*more));

	if (!more)
		return false;
	c->stream = more;
	c->stream[c->streams++] = s;
	if (!(s->flags & CU_STREAM_NON_BLOCKING))
		atomic_fetch_add(&s->ctx->capturing, 1);
	atomic_store(&s->capture, c);
	return true;
}

void capture_list_add(struct sim_capture *c)
{
	c->next = active;
	active = c;
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		c->owner->own_captures++;
	atomic_fetch_add(&captures_active, 1);
}

void capture_close(struct sim_capture *c)
{
	struct sim_capture **link = &active;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	for (unsigned i = 0; i < c->streams; i++) {
		struct sim_stream *s = c->stream[i];

		if (!handle_live(HANDLE_STREAM, s) || atomic_load(&s->capture) != c)
			continue;
		if (!(s->flags & CU_STREAM_NON_BLOCKING))
			atomic_fetch_sub(&s->ctx->capturing, 1);
		capture_set_deps(s, NULL, 0);
		atomic_store(&s->capture, NULL);
	}
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->owner && c->owner->own_captures)
		c->owner->own_captures--;
	atomic_fetch_sub(&captures_active, 1);
	free(c->stream);
	free(c);
}

/* Without the stream in which it began a capture cannot end. */
void capture_stream_gone(struct sim_stream *s)
{
	struct sim_capture *c;

	capture_lock();
	c = atomic_load(&s->capture);
	if (c && c->origin == s) {
		if (c->own_graph)
			graph_free(c->graph);
		capture_close(c);
	} else if (c) {
		c->invalid = true;
		if (!(s->flags & CU_STREAM_NON_BLOCKING))
			atomic_fetch_sub(&s->ctx->capturing, 1);
		atomic_store(&s->capture, NULL);
	}
	capture_unlock();
}

void capture_thread_gone(struct sim_thread *t)
{
	if (!atomic_load(&captures_active))
		return;
	capture_lock();
	for (struct sim_capture *c = active; c; c = c->next) {
		if (c->owner == t)
			c->owner = NULL;
	}
	capture_unlock();
}

static struct sim_capture *find(unsigned long long id)
{
	struct sim_capture *c = active;

	while (c && c->id != id)
		c = c->next;
	return c;
}

/* Whether the calling thread may make calls that could wait or allocate; what forbids it breaks. */
CUresult capture_unsafe_slow(void)
{
	struct sim_thread *t = sim_self;
	CUresult rc = CUDA_SUCCESS;

	if (t->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return rc;
	capture_lock();
	for (struct sim_capture *c = active; c; c = c->next) {
		bool own = c->owner == t && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
		bool global = c->owner != t && c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
		              t->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;

		if (own || global) {
			c->invalid = true;
			rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	}
	capture_unlock();
	return rc;
}

/* Breaks the captures with a stream of this context; all, or those of blocking streams. */
static bool break_in(struct sim_ctx *ctx, bool blocking_only)
{
	bool any = false;

	capture_lock();
	for (struct sim_capture *c = active; c; c = c->next) {
		for (unsigned i = 0; i < c->streams; i++) {
			struct sim_stream *s = c->stream[i];

			if (!handle_live(HANDLE_STREAM, s) || s->ctx != ctx ||
			    (blocking_only && (s->flags & CU_STREAM_NON_BLOCKING)))
				continue;
			c->invalid = true;
			any = true;
		}
	}
	capture_unlock();
	return any;
}

CUresult capture_legacy(struct sim_ctx *ctx)
{
	return break_in(ctx, true) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult capture_context(struct sim_ctx *ctx)
{
	if (likely(!atomic_load_explicit(&captures_active, memory_order_relaxed)))
		return CUDA_SUCCESS;
	if (break_in(ctx, false))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return capture_unsafe_slow();
}

CUresult capture_breaks(struct sim_stream *s, CUresult rc)
{
	struct sim_capture *c;

	capture_lock();
	c = atomic_load(&s->capture);
	if (c && c->invalid)
		rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (c)
		c->invalid = true;
	capture_unlock();
	return rc;
}

CUresult capture_event_touched(struct sim_event *e)
{
	struct sim_capture *c;

	capture_lock();
	c = find(e->capture_id);
	if (c)
		c->invalid = true;
	capture_unlock();
	return CUDA_ERROR_CAPTURED_EVENT;
}

static CUresult event_node(struct sim_stream *s, struct sim_event *e, CUgraphNodeType type)
{
	struct node_work *w = work_new();

	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->event = e;
	return capture_add(s, type, w);
}

CUresult capture_event_record(struct sim_stream *s, struct sim_event *e, unsigned flags)
{
	struct sim_node **nodes;
	struct sim_capture *c;
	CUresult rc = CUDA_SUCCESS;

	if (flags & CU_EVENT_RECORD_EXTERNAL)
		return event_node(s, e, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
	capture_lock();
	c = atomic_load(&s->capture);
	nodes = malloc((s->dep_count + 1) * sizeof(*nodes));
	if (!c || c->invalid || !nodes) {
		free(nodes);
		rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	} else {
		pthread_mutex_lock(&e->lock);
		event_drop_capture(e);
		if (s->dep_count)
			memcpy(nodes, s->deps, s->dep_count * sizeof(*nodes));
		e->captured = nodes;
		e->captured_count = s->dep_count;
		e->capture_id = c->id;
		pthread_mutex_unlock(&e->lock);
	}
	capture_unlock();
	return rc;
}

/* With the lock held: a captured stream waits. */
static CUresult captured_waits(struct sim_stream *s, struct sim_event *e)
{
	struct sim_capture *c = atomic_load(&s->capture), *other = find(e->capture_id);

	if (c->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (e->capture_id == c->id)
		return capture_add_deps(s, e->captured, e->captured_count);
	if (!e->capture_id && !e->recorded)
		return CUDA_SUCCESS;
	c->invalid = true;
	if (!other)
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	other->invalid = true;
	return CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

/* With the lock held: a free stream waits for a captured event and so joins the capture. */
static CUresult joins(struct sim_stream *s, struct sim_event *e)
{
	struct sim_capture *c = find(e->capture_id);

	if (!c)
		return CUDA_ERROR_CAPTURED_EVENT;
	if (c->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (s->legacy) {
		c->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	if (capture_set_deps(s, e->captured, e->captured_count) != CUDA_SUCCESS ||
	    !capture_join(c, s))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

CUresult capture_event_wait(struct sim_stream *s, struct sim_event *e, unsigned flags)
{
	CUresult rc;

	if ((flags & CU_EVENT_WAIT_EXTERNAL) && atomic_load(&s->capture))
		return event_node(s, e, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
	capture_lock();
	rc = atomic_load(&s->capture) ? captured_waits(s, e) : joins(s, e);
	capture_unlock();
	return rc;
}
