/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most records are of launches that succeeded. This is what tl_take() does for such a launch,
 * written out in one place so that it is fast; launches with anything unusual about them go through
 * tl_take() itself.
 */
#include "shim/core/timeline/timeline_issue.h"
#include "shim/core/timeline/timeline_queue.h"

#define AHEAD 16u /* segments prefetched ahead: all chunks together do not fit into caches */

/* Makes the kernel's op and places it by estimate (no CUPTI). */
static inline void issue(struct timeline *t, uint32_t thread, struct tl_stream *s,
                         const struct tf_record *r, struct tf_work *work)
{
	struct tf_stream *row = tl_stream_row(t, s, t->threads[thread].device);
	struct tl_device *d = tl_device(t, s->device);
	struct tl_op *op = tl_begin_op(t, thread, r, TF_WORK_KERNEL, CUDA_ENGINE_COMPUTE);
	bool known, ends_last = d->last == s->tail;
	double variance;

	uint64_t ticks = tl_kernel_duration(t, work, &known, &variance);
	if (t->watch)
		ticks = t->watch->duration(t->watch->to, thread, r, work, ticks, &known);
	if (!known)
		op->flags |= TL_OP_UNKNOWN;
	tl_put(t, s, op, r, ticks, false);
	tl_append(t, s, op);
	if (known && variance > s->since_variance)
		s->since_variance = variance;
	tl_note_last(t, d, op, ends_last);
	if (row)
		tl_count_on(row, r, TF_WORK_KERNEL);
}

/* The merged host, known until `until`: outside CUDA until `from`, then in `state` until `end`. */
static inline void add_to_host(struct timeline *t, unsigned state, uint64_t until, uint64_t from,
                               uint64_t end)
{
	struct tf_slices *s = t->slices;

	if (s && slice_holds(s, &t->host_slice, until, end)) {
		uint64_t *ticks = s->slice[t->host_slice.index].host_ticks;
		uint64_t *all = tf_header(t->map)->host_ticks;
		ticks[TF_HOST_OUTSIDE] += from - until;
		all[TF_HOST_OUTSIDE] += from - until;
		ticks[state] += end - from;
		all[state] += end - from;
		return;
	}
	if (from > until)
		tl_to_host(t, NULL, TF_HOST_OUTSIDE, until, from);
	tl_to_host(t, NULL, state, from, end);
}

/* Adds a call that gave work to its thread's segments and to the merged host. */
static inline __attribute__((always_inline)) void
spent(struct timeline *t, uint32_t thread, uint64_t start, uint64_t end, struct tl_split split)
{
	const struct tl_thread *th = &t->threads[thread];
	struct tl_chunk *c = tl_chunk_at(t, th->newest);
	const uint64_t until = t->host_until, from = tl_max(start, t->window);
	const unsigned state = split.after;

	if (!c || !c->count || c->count == TL_CHUNK || !th->figures || th->nested_count ||
	    split.at > start || c->segments[c->count - 1].end >= tl_min(from, until + 1) ||
	    tl_max(from, until) >= end || state >= TF_HOSTS) {
		tl_spent(t, thread, start, end, split);
		tl_host(t, thread, end);
		return;
	}
	__builtin_prefetch(&c->segments[c->count] + AHEAD, 1);
	c->segments[c->count++] =
	        (struct tl_segment){from | (uint64_t)state << TL_STATE_SHIFT, end};
	c->ticks[state] += end - from;
	th->figures->split_ticks[state] += end - from;
	add_to_host(t, state, until, tl_max(from, until), end);
	t->host_thread = thread;
	t->host_issued = true;
	t->host_until = end;
	tf_header(t->map)->timeline_upto = end;
}

void timeline_launch(struct timeline *t, uint32_t thread, const struct tf_record *r,
                     struct tf_work *work)
{
	struct tl_split split = {r->start, TF_HOST_LAUNCH, TF_HOST_LAUNCH};

	if (!t->window || t->mode == TF_GPU_CUPTI || r->end < r->start ||
	    r->end >= TL_TICKS_MOST / 2 || thread >= TL_THREADS) {
		timeline_call(t, thread, r, SPY_CLASS_LAUNCH, work);
		return;
	}
	t->seen = tl_max(t->seen, r->end);
	if (t->mode == TF_GPU_OFF) {
		tl_called(t, thread, r->end);
	} else {
		struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
		split = tl_plain_launch(t, thread, s, r);
		tl_called(t, thread, r->end);
		issue(t, thread, s, r, work);
	}
	spent(t, thread, r->start, r->end, split);
}

/*
 * spent() for several launches at once: for as many of the first ones as follow each other without
 * overlap and lie within one chunk and one time slice, its sums are added once. Returns how many.
 */
static unsigned spent_alike(struct timeline *t, uint32_t thread, const struct tf_record *r,
                            unsigned n)
{
	struct tl_thread *th = &t->threads[thread];
	struct tl_chunk *c = tl_chunk_at(t, th->newest);
	struct tf_slices *s = t->slices;
	const uint64_t from = t->host_until;
	uint64_t until = from, calls = 0;
	unsigned i = 0;

	if (!c || !c->count || !th->figures || th->nested_count || !s || from < t->window ||
	    c->segments[c->count - 1].end > from || !slice_holds(s, &t->host_slice, from, from))
		return 0;
	const unsigned room = (unsigned)tl_min(n, c->count < TL_CHUNK ? TL_CHUNK - c->count : 0);
	const uint64_t behind = tl_min(t->host_slice.to, TL_TICKS_MOST / 2);
	struct tl_segment *to = &c->segments[c->count];
	for (; i < room; i++) {
		const uint64_t start = r[i].start, end = r[i].end;
		if (start <= until || start >= end || end >= behind)
			break;
		if (i % 4 == 0) /* a cache line's */
			__builtin_prefetch(&to[i] + AHEAD, 1);
		to[i] = (struct tl_segment){start | (uint64_t)TF_HOST_LAUNCH << TL_STATE_SHIFT,
		                            end};
		calls += end - start;
		until = end;
	}
	if (!i)
		return 0;
	uint64_t *ticks = s->slice[t->host_slice.index].host_ticks,
	         *all = tf_header(t->map)->host_ticks, outside = until - from - calls;
	ticks[TF_HOST_OUTSIDE] += outside;
	all[TF_HOST_OUTSIDE] += outside;
	ticks[TF_HOST_LAUNCH] += calls;
	all[TF_HOST_LAUNCH] += calls;
	c->count += i;
	c->ticks[TF_HOST_LAUNCH] += calls;
	th->figures->split_ticks[TF_HOST_LAUNCH] += calls;
	t->host_thread = thread;
	t->host_issued = true;
	t->host_until = tf_header(t->map)->timeline_upto = until;
	t->seen = tl_max(t->seen, until);
	if (thread != t->last_thread)
		t->others_end = t->last_end;
	t->last_thread = thread;
	t->last_end = until;
	return i;
}

/* What all ops of one class get: looked up once for a run of launches of the class. */
struct alike {
	const struct tf_work *work;
	uint64_t ticks;
	double variance;
	uint8_t flags; /* TL_OP_COMM, TL_OP_UNKNOWN */
};

static struct alike alike_of(struct timeline *t, const struct tf_work *work, uint32_t kernel)
{
	struct alike a = {.work = work};
	bool known;

	a.ticks = tl_kernel_duration(t, work, &known, &a.variance);
	a.flags = (uint8_t)((tl_is_comm(t, kernel) ? TL_OP_COMM : 0) | (known ? 0 : TL_OP_UNKNOWN));
	if (!known)
		a.variance = 0;
	return a;
}

/* Kernels' ops of the stream with smaller ids are in none of its lists any more. */
static uint64_t oldest_op(const struct tl_stream *s)
{
	uint64_t oldest = tl_min(s->tail, s->queues[CUDA_ENGINE_COMPUTE].back);

	if (s->head)
		oldest = tl_min(oldest, s->head);
	return s->book ? tl_min(oldest, s->book) : oldest;
}

/* When the stream's first op outstanding ends. */
static inline uint64_t first_end(struct timeline *t, const struct tl_stream *s)
{
	const struct tl_op *op = tl_op(t, s->head);

	return op ? tl_end_on(s, op) : UINT64_MAX;
}

/* The entry of the queue's `back`; where it has none, one so old that tl_find_back() is called. */
static uint32_t back_entry(struct timeline *t, const struct tl_queue *q)
{
	const struct tl_op *back = tl_op(t, q->back);

	return back ? back->entry : q->entries - CUDA_QUEUE_ENTRIES - TL_BACK_LAGS;
}

/*
 * timeline_launch()'s work on the GPU's side for several launches at once: for as many of the first
 * ones as go to one stream that waits for no other, with room in the launch queue, what is the same
 * for all of them is looked up once. Returns how many.
 */
static unsigned __attribute__((noinline))
place_alike(struct timeline *t, uint32_t thread, const struct tf_record *r,
            struct tf_work *const *works, unsigned n)
{
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	struct tl_device *d = tl_device(t, s->device);
	struct tl_queue *q = &s->queues[CUDA_ENGINE_COMPUTE];
	struct tl_op *before = tl_op(t, s->tail);
	const struct tl_op *last = tl_op(t, d->last);

	if (!s->has_device || !s->row || !s->active || s->wait || d->legacy || !before ||
	    t->watch || t->last_op - s->tail >= TL_OPS_FEW / 2 || t->threads[thread].nested_count)
		return 0;
	const uint64_t others = thread == t->last_thread ? t->others_end : t->last_end,
	               oldest = oldest_op(s), stream = r->stream,
	               latency = tl_start_latency(t) + (r->flags & TF_STALLED ? t->stall : 0);
	const uint32_t place = tl_place(t, s), generation = s->generation;
	const uint16_t call = r->call, flags = r->flags;
	uint64_t since_ticks = 0, kernels = 0, ends = first_end(t, s),
	         last_end = last ? tl_op_end(t, last) : 0,
	         free_at = tl_end_on(s, before) + tl_space(t, before, CUDA_ENGINE_COMPUTE);
	uint32_t typical = t->call_typical[call], back = back_entry(t, q);
	uint8_t chained = before->flags & TL_OP_CHAINED;
	struct alike a = alike_of(t, works[0], r->launch.kernel);
	unsigned i = 0;

	for (; i < n; i++) {
		const uint64_t start = r[i].start, end = r[i].end, ticks = end - start;
		if (r[i].stream != stream || r[i].call != call || r[i].flags != flags ||
		    end < start || end >= TL_TICKS_MOST / 2)
			break;
		if (ends <= start) {
			tl_retire(t, s, start);
			ends = first_end(t, s);
		}
		uint8_t lasting = q->lasting;
		if (q->outstanding > CUDA_QUEUE_ENTRIES ||
		    (typical && !tl_had_place(t, s, q, ticks, typical, &lasting)) ||
		    (others > start && tl_is_long(t, typical, ticks)))
			break;
		q->lasting = lasting;
		tl_learn(&typical, ticks, s->since_proof >= TL_QUEUE_FULL);
		if (works[i] != a.work)
			a = alike_of(t, works[i], r[i].launch.kernel);
		const uint64_t id = ++t->last_op;
		struct tl_op *op = &t->ops[id & t->ops_mask];
		const bool free = op->stream == place && op->generation == generation &&
		                  op->engine == CUDA_ENGINE_COMPUTE && op->id < oldest &&
		                  !(op->flags & TL_OP_EVENT);
		if (op->id && !free && !tl_is_free(t, op)) {
			op = tl_take_place(t, op, id);
			before = tl_op(t, s->tail);
			ends = first_end(t, s);
			back = back_entry(t, q);
		}
		tl_fetch_ops(t, id);
		const uint64_t ready = end + latency, from = tl_max(ready, free_at);
		if (free_at <= ready) {
			s->loose = id;
			chained = TL_OP_CHAINED;
		}
		op->id = id;
		op->start = from;
		op->end = from + a.ticks;
		op->shift = s->shift;
		op->returned = end;
		op->entered = start;
		op->ready = ready;
		op->booked = op->next = 0;
		op->stream = place;
		op->generation = generation;
		op->kernel = r[i].launch.kernel;
		op->entry = ++q->entries;
		op->thread = (uint16_t)thread;
		op->kind = TF_WORK_KERNEL;
		op->flags = a.flags | chained;
		op->engine = CUDA_ENGINE_COMPUTE;
		op->functions = 0;
		before->next = s->tail = id;
		before = op;
		free_at = op->end + t->space[CUDA_ENGINE_COMPUTE][CUDA_ENGINE_COMPUTE];
		if (!s->head) {
			s->head = id;
			ends = op->end;
		}
		if (!s->book)
			s->book = id;
		s->since_proof++;
		s->unknown += (a.flags & TL_OP_UNKNOWN) != 0;
		since_ticks += a.ticks;
		if (last_end <= op->end) {
			last_end = op->end;
			d->last = id;
		}
		q->outstanding++;
		if (q->entries + 1 - back > CUDA_QUEUE_ENTRIES + TL_BACK_LAGS) {
			q->back = tl_find_back(t, q, op);
			back = back_entry(t, q);
		}
		if (a.variance > s->since_variance)
			s->since_variance = a.variance;
		kernels += r[i].launch.items ? r[i].launch.items : 1;
	}
	if (!i)
		return 0;
	t->call_typical[call] = typical;
	s->since_ticks += since_ticks;
	s->row->kernels += kernels;
	for (unsigned k = 0; k < i; k++)
		t->seen = tl_max(t->seen, r[k].end);
	tl_called(t, thread, r[i - 1].end);
	return i;
}

/* The host's side of launches that place_alike() has placed on the GPU. */
static void spent_all(struct timeline *t, uint32_t thread, const struct tf_record *r, unsigned n)
{
	for (unsigned i = 0; i < n;) {
		unsigned alike = spent_alike(t, thread, &r[i], n - i);
		if (!alike) {
			const struct tl_split split = {r[i].start, TF_HOST_LAUNCH, TF_HOST_LAUNCH};
			spent(t, thread, r[i].start, r[i].end, split);
			alike = 1;
		}
		i += alike;
	}
}

/* Takes as many of the first launches together as it can; how many. */
static unsigned take_alike(struct timeline *t, uint32_t thread, const struct tf_record *r,
                           struct tf_work *const *works, unsigned n)
{
	if (t->mode == TF_GPU_OFF)
		return spent_alike(t, thread, r, n);
	if (t->mode != TF_GPU_SAMPLE)
		return 0;
	unsigned alike = place_alike(t, thread, r, works, n);
	spent_all(t, thread, r, alike);
	return alike;
}

void timeline_launches(struct timeline *t, uint32_t thread, const struct tf_record *r,
                       struct tf_work *const *works, unsigned n)
{
	for (unsigned i = 0; i < n;) {
		unsigned alike = n > 1 && t->window && thread < TL_THREADS
		                         ? take_alike(t, thread, &r[i], &works[i], n - i)
		                         : 0;
		if (!alike) {
			timeline_launch(t, thread, &r[i], works[i]);
			alike = 1;
		}
		i += alike;
	}
}
