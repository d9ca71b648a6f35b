/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way of a launch of the program's own that succeeded, which most records are: what
 * tl_take() does with it, in one piece. What is unusual about it goes the long way.
 */
#include "shim/core/timeline/timeline_issue.h"
#include "shim/core/timeline/timeline_queue.h"

#define AHEAD 16u /* segments fetched ahead: chunks are more than caches hold */

/* It is placed where an estimate has it, and nothing is known better by CUPTI. */
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

/* [from, end) of a state, and [upto, from) outside CUDA. */
static inline void add_to_host(struct timeline *t, unsigned state, uint64_t upto, uint64_t from,
                               uint64_t end)
{
	struct tf_slices *s = t->slices;

	if (s && slice_holds(s, &t->host_slice, upto, end)) {
		uint64_t *ticks = s->slice[t->host_slice.index].host_ticks;
		uint64_t *all = tf_header(t->map)->host_ticks;
		ticks[TF_HOST_OUTSIDE] += from - upto;
		all[TF_HOST_OUTSIDE] += from - upto;
		ticks[state] += end - from;
		all[state] += end - from;
		return;
	}
	if (from > upto)
		tl_to_host(t, NULL, TF_HOST_OUTSIDE, upto, from);
	tl_to_host(t, NULL, state, from, end);
}

/* Into the thread's history, and the merged host's: of a call that gave work. */
static inline void spent(struct timeline *t, uint32_t thread, uint64_t start, uint64_t end,
                         struct tl_split split)
{
	const struct tl_thread *th = &t->threads[thread];
	struct tl_chunk *c = tl_chunk_at(t, th->newest);
	const uint64_t upto = t->host_upto, from = tl_max(start, t->window);
	const unsigned state = split.after;

	if (!c || !c->count || c->count == TL_CHUNK || !th->figures || th->nested_count ||
	    split.at > start || c->segments[c->count - 1].end >= tl_min(from, upto + 1) ||
	    tl_max(from, upto) >= end || state >= TF_HOSTS) {
		tl_spent(t, thread, start, end, split);
		tl_host(t, thread, end);
		return;
	}
	__builtin_prefetch(&c->segments[c->count] + AHEAD, 1);
	c->segments[c->count++] =
	        (struct tl_segment){from | (uint64_t)state << TL_STATE_SHIFT, end};
	th->figures->split_ticks[state] += end - from;
	add_to_host(t, state, upto, tl_max(from, upto), end);
	t->host_thread = thread;
	t->host_issued = true;
	t->host_upto = end;
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
 * Of launches that are nothing but time of their thread, those at the front that come each behind
 * the one before, within one chunk and one slice of time; how many they were. What spent() does
 * with them, with its sums kept until the last one.
 */
static unsigned spent_alike(struct timeline *t, uint32_t thread, const struct tf_record *r,
                            unsigned n)
{
	struct tl_thread *th = &t->threads[thread];
	struct tl_chunk *c = tl_chunk_at(t, th->newest);
	struct tf_slices *s = t->slices;
	const uint64_t from = t->host_upto;
	uint64_t upto = from, calls = 0;
	unsigned i = 0;

	if (!c || !c->count || !th->figures || th->nested_count || !s || from < t->window ||
	    c->segments[c->count - 1].end > from || !slice_holds(s, &t->host_slice, from, from))
		return 0;
	const unsigned room = (unsigned)tl_min(n, c->count < TL_CHUNK ? TL_CHUNK - c->count : 0);
	const uint64_t behind = tl_min(t->host_slice.to, TL_TICKS_MOST / 2);
	struct tl_segment *to = &c->segments[c->count];
	for (; i < room; i++) {
		const uint64_t start = r[i].start, end = r[i].end;
		if (start <= upto || start >= end || end >= behind)
			break;
		if (i % 4 == 0) /* a cache line's */
			__builtin_prefetch(&to[i] + AHEAD, 1);
		to[i] = (struct tl_segment){start | (uint64_t)TF_HOST_LAUNCH << TL_STATE_SHIFT,
		                            end};
		calls += end - start;
		upto = end;
	}
	if (!i)
		return 0;
	uint64_t *ticks = s->slice[t->host_slice.index].host_ticks,
	         *all = tf_header(t->map)->host_ticks, outside = upto - from - calls;
	ticks[TF_HOST_OUTSIDE] += outside;
	all[TF_HOST_OUTSIDE] += outside;
	ticks[TF_HOST_LAUNCH] += calls;
	all[TF_HOST_LAUNCH] += calls;
	c->count += i;
	th->figures->split_ticks[TF_HOST_LAUNCH] += calls;
	t->host_thread = thread;
	t->host_issued = true;
	t->host_upto = tf_header(t->map)->timeline_upto = upto;
	t->seen = tl_max(t->seen, upto);
	if (thread != t->last_thread)
		t->others_end = t->last_end;
	t->last_thread = thread;
	t->last_end = upto;
	return i;
}

void timeline_launches(struct timeline *t, uint32_t thread, const struct tf_record *r,
                       struct tf_work *const *works, unsigned n)
{
	for (unsigned i = 0; i < n;) {
		unsigned alike = n > 1 && t->window && t->mode == TF_GPU_OFF && thread < TL_THREADS
		                         ? spent_alike(t, thread, &r[i], n - i)
		                         : 0;
		if (alike) {
			i += alike;
			continue;
		}
		timeline_launch(t, thread, &r[i], works[i]);
		i++;
	}
}
