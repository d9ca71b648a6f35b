/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: which one a handle means, how work finds its place in time, and waiting for it. */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver.h"
#include "tests/sim/observe.h"

struct own_stream {
	struct own_stream *next;
	struct sim_ctx *ctx;
	unsigned long long ctx_id; /* another context may come to lie at the same place */
	struct sim_stream *stream;
};

_Static_assert(sizeof(struct sim_stream) <= 512, "a stream fits its place");

static _Atomic unsigned long long next_id = 7;

struct sim_stream *stream_new(struct sim_ctx *ctx, unsigned flags, int priority)
{
	struct sim_stream *s = handle_new(HANDLE_STREAM);

	if (!s)
		return NULL;
	s->ctx = ctx;
	s->flags = flags;
	s->priority = priority;
	s->id = atomic_fetch_add(&next_id, 1);
	s->engine = TL_COMPUTE;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_lock(&ctx->lock);
	s->next = ctx->streams;
	s->link = &ctx->streams;
	if (s->next)
		s->next->link = &s->next;
	ctx->streams = s;
	pthread_mutex_unlock(&ctx->lock);
	return s;
}

static void raise_to(_Atomic uint64_t *what, uint64_t value)
{
	uint64_t old = atomic_load(what);

	while (old < value && !atomic_compare_exchange_weak(what, &old, value))
		;
}

/* Its work goes on: the context remembers when that ends. */
void stream_free(struct sim_stream *s)
{
	struct sim_ctx *ctx = s->ctx;

	if (atomic_load(&s->capture))
		capture_stream_gone(s);
	pthread_mutex_lock(&ctx->lock);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	pthread_mutex_unlock(&ctx->lock);
	raise_to(&ctx->gone_tail_ns, atomic_load(&s->tail_ns));
	for (int i = 0; i <= TL_ENGINES; i++)
		free(s->queue[i].done);
	free(s->deps);
	handle_free(HANDLE_STREAM, s);
}

static struct sim_stream *own_stream(struct sim_ctx *ctx)
{
	struct own_stream *o;

	for (o = sim_self->own_streams; o; o = o->next) {
		if (o->ctx == ctx && o->ctx_id == ctx->id)
			return o->stream;
	}
	o = malloc(sizeof(*o));
	if (!o)
		return NULL;
	o->ctx = ctx;
	o->ctx_id = ctx->id;
	o->stream = stream_new(ctx, CU_STREAM_DEFAULT, 0);
	if (!o->stream) {
		free(o);
		return NULL;
	}
	o->stream->per_thread = true;
	o->next = sim_self->own_streams;
	sim_self->own_streams = o;
	return o->stream;
}

void thread_streams_free(struct sim_thread *t)
{
	while (t->own_streams) {
		struct own_stream *o = t->own_streams;

		t->own_streams = o->next;
		if (handle_live(HANDLE_CTX, o->ctx) && o->ctx->id == o->ctx_id)
			stream_free(o->stream);
		free(o);
	}
}

/* The calling thread forgets its stream of a context that goes. */
void thread_streams_drop(struct sim_ctx *ctx)
{
	struct own_stream **link = &sim_self->own_streams;

	while (*link) {
		struct own_stream *o = *link;

		if (o->ctx == ctx) {
			*link = o->next;
			free(o);
		} else {
			link = &o->next;
		}
	}
}

CUresult stream_get(CUstream h, struct sim_stream **out)
{
	struct sim_ctx *ctx;

	if ((uintptr_t)h > (uintptr_t)CU_STREAM_PER_THREAD) {
		*out = (struct sim_stream *)h;
		if (unlikely(!handle_live(HANDLE_STREAM, h)))
			return CUDA_ERROR_INVALID_HANDLE;
		return CUDA_SUCCESS;
	}
	ctx = ctx_current();
	if (unlikely(!ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (h == CU_STREAM_PER_THREAD || (!h && sim_self->per_thread))
		*out = own_stream(ctx);
	else
		*out = ctx->legacy;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult stream_use(CUstream h, struct sim_stream **out)
{
	CUresult rc = stream_get(h, out);

	if (likely(rc == CUDA_SUCCESS) && (*out)->legacy &&
	    unlikely(atomic_load_explicit(&(*out)->ctx->capturing, memory_order_relaxed)))
		return capture_legacy((*out)->ctx);
	return rc;
}

/* The legacy stream waits for all blocking streams, and they wait for it. */
static uint64_t others_tail(struct sim_stream *s)
{
	struct sim_ctx *ctx = s->ctx;
	uint64_t tail = 0;

	if (s->flags & CU_STREAM_NON_BLOCKING)
		return 0;
	if (!s->legacy)
		return atomic_load_explicit(&ctx->legacy->tail_ns, memory_order_acquire);
	tail = atomic_load(&ctx->gone_tail_ns);
	pthread_mutex_lock(&ctx->lock);
	for (struct sim_stream *o = ctx->streams; o; o = o->next) {
		uint64_t t = atomic_load_explicit(&o->tail_ns, memory_order_acquire);

		if (t > tail && !(o->flags & CU_STREAM_NON_BLOCKING))
			tail = t;
	}
	pthread_mutex_unlock(&ctx->lock);
	return tail;
}

/* With the stream's lock held; gives it up while it waits for room. */
static uint64_t wait_for_room(struct sim_stream *s, struct sim_queue *q)
{
	uint64_t now = sim_tl_now(), from = now, *slot;

	if (!q)
		return now;
	if (unlikely(!q->done))
		q->done = calloc(sim_config.queue, sizeof(*q->done));
	if (unlikely(!q->done))
		return now;
	for (;;) {
		uint64_t until;

		slot = &q->done[q->at];
		if (likely(*slot <= now))
			break;
		until = *slot;
		pthread_mutex_unlock(&s->lock);
		sim_tl_wait_until(until);
		pthread_mutex_lock(&s->lock);
		now = sim_tl_now();
	}
	if (unlikely(now != from)) {
		sim_total()->queue_full++;
		sim_total()->queue_full_ns += now - from;
	}
	return now;
}

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t stream_begin(struct sim_stream *s, struct sim_queue *q)
{
	uint64_t others = others_tail(s), start;

	pthread_mutex_lock(&s->lock);
	start = wait_for_room(s, q) + sim_config.latency_ns;
	return later(start, others);
}

void stream_end(struct sim_stream *s, struct sim_queue *q, uint64_t end_ns)
{
	uint64_t tail = atomic_load_explicit(&s->tail_ns, memory_order_relaxed);

	atomic_store_explicit(&s->tail_ns, later(tail, end_ns), memory_order_release);
	if (likely(q && q->done)) {
		q->done[q->at] = end_ns;
		q->at = q->at + 1 == sim_config.queue ? 0 : q->at + 1;
	}
	pthread_mutex_unlock(&s->lock);
}

static void tell_observer(const struct sim_stream *s, const struct sim_device *d,
                          const struct sim_work *w)
{
	void (*tell)(const struct sim_piece *) = atomic_load(&sim_observer);
	struct sim_piece p = {
	        .kind = w->kind,
	        .device = d->ordinal,
	        .stream = s->id,
	        .start_ns = w->start_ns,
	        .end_ns = w->end_ns,
	        .bytes = w->bytes,
	        .kernel = w->kernel,
	        .call = sim_total()->calls,
	};

	if (tell && w->kind != TL_NONE && w->kind != TL_OWN)
		tell(&p);
}

/* From the end of what was submitted before to the start of this work. */
static uint64_t gap_before(const struct sim_stream *s, const struct sim_work *w)
{
	uint64_t gap = w->kind != TL_NONE ? sim_config.gap_ns : 0;

	if (s->engine == w->engine)
		return gap;
	return gap +
	       (s->engine == TL_COMPUTE ? sim_config.to_engine_ns : sim_config.from_engine_ns);
}

void stream_submit(struct sim_stream *s, struct sim_work *w)
{
	struct sim_device *d = w->device ? w->device : s->ctx->device;
	struct sim_queue *q = w->kind != TL_NONE ? &s->queue[w->engine] : NULL;
	uint64_t start = later(stream_begin(s, q), w->not_before_ns);
	uint64_t tail = atomic_load_explicit(&s->tail_ns, memory_order_relaxed);

	start = later(start, tail + gap_before(s, w));
	s->engine = w->engine;
	if (w->kind != TL_NONE)
		atomic_store_explicit(&s->after_host, false, memory_order_relaxed);
	if (w->gpu_ns && w->kind != TL_NONE && w->kind != TL_OWN)
		start = sim_tl_place(&d->timeline, sim_tl_turn(w->engine, w->bytes), w->kind, start,
		                     w->gpu_ns);
	w->start_ns = start;
	w->end_ns = start + w->gpu_ns;
	stream_end(s, q, w->end_ns);
	tell_observer(s, d, w);
}

void stream_hold(struct sim_stream *s, uint64_t when_ns)
{
	raise_to(&s->tail_ns, when_ns);
}

uint64_t stream_tail(struct sim_stream *s)
{
	uint64_t tail = atomic_load_explicit(&s->tail_ns, memory_order_acquire);

	return s->legacy ? later(tail, others_tail(s)) : tail;
}

CUresult do_cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
	return do_cuStreamCreateWithPriority(phStream, Flags, 0);
}

CUresult do_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
	struct sim_ctx *ctx = ctx_current();
	struct sim_stream *s;

	if (!phStream || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	sim_cost(sim_config.stream_ns);
	s = stream_new(ctx, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*phStream = (CUstream)s;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamDestroy_v2(CUstream hStream)
{
	struct sim_stream *s;
	CUresult rc = stream_get(hStream, &s);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (s->legacy || s->per_thread)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_cost(sim_config.stream_ns);
	stream_free(s);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamSynchronize(CUstream hStream)
{
	uint64_t from = sim_tl_now();
	struct sim_stream *s;
	CUresult rc = stream_use(hStream, &s);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (unlikely(atomic_load(&s->capture)))
		return capture_breaks(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	rc = capture_unsafe();
	if (rc != CUDA_SUCCESS)
		return rc;
	sim_wait(stream_tail(s), atomic_load(&s->host_sent), true);
	sim_cost_since(from, sim_config.sync_ns);
	sim_total()->syncs++;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamQuery(CUstream hStream)
{
	struct sim_stream *s;
	CUresult rc = stream_use(hStream, &s);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (unlikely(atomic_load(&s->capture)))
		return capture_breaks(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	rc = capture_unsafe();
	if (rc != CUDA_SUCCESS)
		return rc;
	if (stream_tail(s) > sim_tl_now() || !hostfn_done(atomic_load(&s->host_sent)))
		return CUDA_ERROR_NOT_READY;
	data_settle();
	return CUDA_SUCCESS;
}
