/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_internal.h"

#define NEAR 4u /* segments looked at one by one */

/* ---- history ---- */

struct tf_thread *tl_find_thread(struct timeline *t, uint32_t thread)
{
	struct tl_thread *th = &t->threads[thread];
	const uint64_t *offset =
	        tf_entry(t->map, &tf_header(t->map)->threads, thread, sizeof(*offset));

	th->figures = offset ? tf_at(t->map, *offset, sizeof(*th->figures)) : NULL;
	return th->figures;
}

static uint64_t start_of(const struct tl_segment *s)
{
	return s->start_state & (TL_TICKS_MOST - 1);
}

static unsigned state_of(const struct tl_segment *s)
{
	return (unsigned)(s->start_state >> TL_STATE_SHIFT);
}

/* Takes a thread's oldest chunk from it; the chunk's ticks are added to the sums of its past. */
static void forget(struct timeline *t, struct tl_chunk *c)
{
	struct tl_thread *th = &t->threads[c->owner - 1];
	struct tl_chunk *newer = tl_chunk_at(t, c->newer);
	uint64_t at = th->past_until ? th->past_until : start_of(&c->segments[0]);

	if (!th->past_until)
		th->past_from = at;
	if (c->count) {
		uint64_t end = c->segments[c->count - 1].end, outside = end - at;
		for (unsigned state = 0; state < TL_HOST_STATES; state++) {
			th->past[state] += c->ticks[state];
			outside -= c->ticks[state];
		}
		th->past[TF_HOST_OUTSIDE] += outside;
		at = end;
	}
	th->past_until = at;
	th->oldest = c->newer;
	if (newer)
		newer->older = 0;
	else
		th->newest = 0;
}

static struct tl_chunk *new_chunk(struct timeline *t, uint32_t thread)
{
	struct tl_thread *th = &t->threads[thread];
	uint32_t place = t->chunk_last++ % TL_CHUNKS;
	struct tl_chunk *c = &t->chunks[place];

	if (c->owner)
		forget(t, c);
	c->owner = thread + 1;
	c->count = 0;
	memset(c->ticks, 0, sizeof(c->ticks));
	c->newer = 0;
	c->older = th->newest;
	if (th->newest)
		tl_chunk_at(t, th->newest)->newer = place + 1;
	else
		th->oldest = place + 1;
	th->newest = place + 1;
	return c;
}

/* Appends a segment to a thread; what overlaps the one before is left out. */
static inline void push(struct timeline *t, uint32_t thread, struct tf_thread *figures,
                        unsigned state, uint64_t start, uint64_t end)
{
	if (start < t->window)
		start = t->window;
	if (start >= end)
		return;
	struct tl_chunk *c = tl_chunk_at(t, t->threads[thread].newest);
	struct tl_segment *last = c && c->count ? &c->segments[c->count - 1] : NULL;
	if (last && start < last->end)
		start = last->end;
	if (start >= end)
		return;
	if (figures)
		figures->split_ticks[state < TF_HOSTS ? state : TF_HOST_OTHER] += end - start;
	if (last && last->end == start && state_of(last) == state) {
		last->end = end;
		c->ticks[state] += end - start;
		return;
	}
	if (!c || c->count == TL_CHUNK)
		c = new_chunk(t, thread);
	c->ticks[state] += end - start;
	c->segments[c->count++] =
	        (struct tl_segment){start | (uint64_t)state << TL_STATE_SHIFT, end};
}

void tl_nested(struct timeline *t, uint32_t thread, uint64_t start, uint64_t end, unsigned state)
{
	struct tl_thread *th = &t->threads[thread];
	uint32_t n = th->nested_count;

	if (n && th->nested[n - 1].end > start)
		return;
	if (n == TL_NESTED) { /* too many: the last one is extended over this one */
		th->nested[n - 1].end = end;
		return;
	}
	th->nested[n] = (struct tl_segment){start | (uint64_t)state << TL_STATE_SHIFT, end};
	th->nested_count++;
}

uint64_t tl_sum_nested(const struct timeline *t, uint32_t thread, uint64_t start)
{
	const struct tl_thread *th = &t->threads[thread];
	uint64_t ticks = 0;

	for (uint32_t i = 0; i < th->nested_count; i++)
		if (start_of(&th->nested[i]) >= start)
			ticks += th->nested[i].end - start_of(&th->nested[i]);
	return ticks;
}

static void push_split(struct timeline *t, uint32_t thread, struct tf_thread *figures,
                       struct tl_split split, uint64_t start, uint64_t end)
{
	if (split.at > start)
		push(t, thread, figures, split.before, start, tl_min(end, split.at));
	push(t, thread, figures, split.after, tl_max(start, split.at), end);
}

/* A call that is partly a wait, or in which other calls are nested. */
static void __attribute__((noinline))
spent_in_parts(struct timeline *t, uint32_t thread, struct tf_thread *figures, uint64_t start,
               uint64_t end, struct tl_split split)
{
	struct tl_thread *th = &t->threads[thread];

	for (uint32_t i = 0; i < th->nested_count; i++) {
		const struct tl_segment *n = &th->nested[i];
		uint64_t inner = tl_min(n->end, end);
		push_split(t, thread, figures, split, start, tl_min(start_of(n), end));
		push(t, thread, figures, state_of(n), tl_min(start_of(n), end), inner);
		if (inner > start)
			start = inner;
	}
	th->nested_count = 0;
	push_split(t, thread, figures, split, start, end);
}

void tl_spent(struct timeline *t, uint32_t thread, uint64_t start, uint64_t end,
              struct tl_split split)
{
	struct tf_thread *figures = tl_thread_of(t, thread);

	if (t->threads[thread].nested_count || split.at > start)
		spent_in_parts(t, thread, figures, start, end, split);
	else
		push(t, thread, figures, split.after, start, end);
}

void tl_own(struct timeline *t, uint32_t thread, uint64_t start, uint64_t end)
{
	push(t, thread, tl_thread_of(t, thread), TF_HOST_OWN, start, end);
}

/* ---- what a thread did in a stretch of time ---- */

/* Of chunks that are gone only sums are known: [from, to) is divided by each state's share. */
static uint64_t divide_past(struct timeline *t, const struct tl_thread *th, uint64_t from,
                            uint64_t to, tl_stretch *tell, void *context)
{
	double all = (double)(th->past_until - th->past_from), done = 0;
	uint64_t at = from;

	for (unsigned state = 0; state < TL_HOST_STATES; state++) {
		done += (double)th->past[state];
		uint64_t until =
		        from + (uint64_t)((double)(to - from) * (all > 0 ? done / all : 1));
		until = state == TL_HOST_STATES - 1 ? to : tl_min(until, to);
		if (until > at)
			tell(t, context, state, at, until);
		at = tl_max(at, until);
	}
	return to;
}

/* The part of [from, to) before a thread's oldest segment, at `first`. */
static uint64_t divide_before(struct timeline *t, const struct tl_thread *th, uint64_t first,
                              uint64_t from, uint64_t to, tl_stretch *tell, void *context)
{
	uint64_t known = t->resumed ? t->began : 0;

	to = tl_min(to, first);
	if (from < tl_min(known, to)) {
		tell(t, context, TL_HOST_UNKNOWN, from, tl_min(known, to));
		from = tl_min(known, to);
	}
	if (from < tl_min(th->past_until, to))
		from = divide_past(t, th, from, tl_min(th->past_until, to), tell, context);
	if (from < to)
		tell(t, context, TF_HOST_OUTSIDE, from, to);
	return to;
}

/* The first segment that ends after `tick`. */
static uint32_t first_after(const struct tl_chunk *c, uint64_t tick)
{
	uint32_t low = 0, high = c->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (c->segments[middle].end > tick)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Whether what the thread did at `tick` stands in this chunk, or behind its end: the chunk begins
 * before, and the next one does not. */
static bool covers(struct timeline *t, const struct tl_chunk *c, uint64_t tick)
{
	const struct tl_chunk *newer = tl_chunk_at(t, c->newer);

	return start_of(&c->segments[0]) <= tick &&
	       !(newer && start_of(&newer->segments[0]) <= tick);
}

/* Whether tick `from` lies behind the end of segment `*i` - 1 of this chunk of the thread and
 * before the end of segment `*i`, or of one near it, which `*i` then becomes. */
static inline bool is_near(const struct tl_chunk *c, uint32_t thread, uint64_t from, uint32_t *i)
{
	uint32_t at = *i, count = c->count;

	if (c->owner != thread + 1 || !at || at >= count || c->segments[at - 1].end > from)
		return false;
	for (uint32_t near = 0; near < NEAR && at < count; near++, at++)
		if (c->segments[at].end > from) {
			*i = at;
			return true;
		}
	return false;
}

/*
 * The chunk of the thread that covers tick `from`, or its oldest one; NULL where it has none. `*i`:
 * the first segment in it that ends later. Asked for times that go up: looks near the place found
 * last first.
 */
static struct tl_chunk *seek(struct timeline *t, uint32_t thread, uint64_t from, uint32_t *i)
{
	struct tl_thread *th = &t->threads[thread];
	struct tl_chunk *c = tl_chunk_at(t, th->found), *next = c ? tl_chunk_at(t, c->newer) : NULL;

	if (c && is_near(c, thread, from, &th->found_at)) {
		*i = th->found_at;
		return c;
	}
	if (c && c->owner == thread + 1 && next && !covers(t, c, from))
		c = next;
	if (!c || c->owner != thread + 1 || !covers(t, c, from))
		for (c = tl_chunk_at(t, th->newest);
		     c && c->older && start_of(&c->segments[0]) > from;)
			c = tl_chunk_at(t, c->older);
	if (!c)
		return NULL;
	*i = th->found_at = first_after(c, from);
	th->found = (uint32_t)(c - t->chunks) + 1;
	return c;
}

void tl_divide(struct timeline *t, uint32_t thread, uint64_t from, uint64_t to, tl_stretch *tell,
               void *context)
{
	uint32_t i = 0;

	if (from >= to)
		return;
	struct tl_chunk *c = seek(t, thread, from, &i);
	uint64_t first = c ? start_of(&c->segments[0]) : to;
	if (from < first)
		from = divide_before(t, &t->threads[thread], first, from, to, tell, context);
	for (; c && from < to; c = tl_chunk_at(t, c->newer), i = 0) {
		for (; i < c->count && from < to; i++) {
			const struct tl_segment *s = &c->segments[i];
			uint64_t start = tl_min(start_of(s), to), end = tl_min(s->end, to);
			if (start > from) {
				tell(t, context, TF_HOST_OUTSIDE, from, start);
				from = start;
			}
			if (end > from) {
				tell(t, context, state_of(s), from, end);
				from = end;
			}
		}
	}
	if (from < to)
		tell(t, context, TF_HOST_OUTSIDE, from, to);
}

/* Where [from, to) is the thread's last segment and the time outside CUDA before it, as mostly;
 * else false. */
static inline bool divide_last(struct timeline *t, uint32_t thread, uint64_t from, uint64_t to,
                               tl_stretch *tell, void *context)
{
	const struct tl_chunk *c = tl_chunk_at(t, t->threads[thread].newest);

	if (!c || c->count < 2 || c->segments[c->count - 2].end > from)
		return false;
	const struct tl_segment *last = &c->segments[c->count - 1];
	uint64_t start = start_of(last);
	if (start < from || last->end != to)
		return false;
	if (start > from)
		tell(t, context, TF_HOST_OUTSIDE, from, start);
	tell(t, context, state_of(last), start, to);
	return true;
}

/* ---- the merged host ---- */

void tl_to_host(struct timeline *t, void *context, unsigned state, uint64_t start, uint64_t end)
{
	struct tf_slices *s = t->slices;

	if (state == TL_HOST_UNKNOWN)
		state = TF_HOST_OUTSIDE;
	if (state >= TF_HOSTS)
		state = TF_HOST_OTHER;
	tf_header(t->map)->host_ticks[state] += end - start;
	if (s)
		slices_add(t->map, s, &t->host_slice, s->slice, sizeof(s->slice[0]),
		           offsetof(struct tf_slice, host_ticks) + state * sizeof(uint64_t), start,
		           end);
}

void tl_host(struct timeline *t, uint32_t thread, uint64_t until)
{
	t->host_thread = thread;
	t->host_issued = true;
	if (until <= t->host_until)
		return;
	if (!divide_last(t, thread, t->host_until, until, tl_to_host, NULL))
		tl_divide(t, thread, t->host_until, until, tl_to_host, NULL);
	t->host_until = until;
	tf_header(t->map)->timeline_upto = until;
}
