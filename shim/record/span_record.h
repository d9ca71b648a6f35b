/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The return of a recorded call: its figures and its record in the ring. Part of the hot path; for
 * span.h and span.c.
 */
#ifndef SPY_SPAN_RECORD_H
#define SPY_SPAN_RECORD_H

#define SPY_PREFETCH 8 /* records ahead */

static inline bool ring_has_room(const struct spy_tls *t)
{
	return t->head != t->limit;
}

static inline struct tf_record *ring_next(const struct spy_tls *t)
{
	return t->slots + (t->head & t->mask);
}

/* Prefetches a cache line for writing: the drain read it on another core. */
static inline void ring_own_soon(void *line)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(char *)line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/* Gives the record in the next slot to the drain. */
static inline void ring_publish(struct spy_tls *t, struct tf_record *slot)
{
	/* Release: the record is complete before the drain can see it. Pairs with drain_all().
	 */
	__atomic_store_n(&t->ring->head, ++t->head, __ATOMIC_RELEASE);
	ring_own_soon(slot +
	              SPY_PREFETCH); /* may be past the ring's end: a prefetch cannot fault */
}

/*
 * The rest of spy_record_at() for a call with anything unusual: it failed or returned "not ready",
 * found the ring full, was a first launch, started the recording, or its call site is wanted.
 */
void spy_record_rest(struct spy_span *s, int result, uint64_t end, struct spy_caller caller)
        __attribute__((cold));

static inline void spy_add_time(uint64_t *sum, uint64_t *max, uint64_t ticks)
{
	spy_count(sum, ticks);
	if (unlikely(ticks > *max))
		__atomic_store_n(max, ticks, __ATOMIC_RELAXED);
}

/* Counts that NVTX ranges are told by (shim/nvtx/nvtx.h): of calls that succeeded. */
static inline __attribute__((always_inline)) void spy_count_kind(struct tf_thread *th, unsigned cls)
{
	if (cls == SPY_CLASS_SYNC)
		spy_count(&th->syncs, 1);
	else if (cls == SPY_CLASS_ALLOC)
		spy_count(&th->allocs, 1);
}

/* Counts a call that returned at `end` and took `ticks`. */
static inline __attribute__((always_inline)) void spy_count_call(struct tf_thread *th,
                                                                 const struct spy_span *s,
                                                                 unsigned call, unsigned cls,
                                                                 uint64_t ticks, uint64_t end)
{
	struct tf_call_stat *stat = &th->calls[call];

	__atomic_store_n(&th->last_return, end, __ATOMIC_RELAXED);
	spy_count(&stat->calls, 1);
	spy_add_time(&stat->sum_ticks, &stat->max_ticks, ticks);
	if (cls == SPY_CLASS_LAUNCH && s->kernel)
		spy_add_time(&s->kernel->sum_ticks, &s->kernel->max_ticks, ticks);
	else if (cls == SPY_CLASS_COPY && s->copy)
		spy_add_time(&s->copy->sum_ticks, &s->copy->max_ticks, ticks);
}

/* Classes of calls that may take long: of each that did, the call site is recorded. */
static inline bool spy_class_may_last(unsigned cls)
{
	return cls == SPY_CLASS_SYNC || cls == SPY_CLASS_COPY || cls == SPY_CLASS_ALLOC ||
	       cls == SPY_CLASS_MODULE || cls == SPY_CLASS_GRAPH;
}

/* Counts the call and publishes its record. False: spy_record_rest() has to, the call is unusual.
 */
static inline __attribute__((always_inline)) bool
spy_record_at(struct spy_span *s, unsigned call, unsigned cls, int result, uint64_t end)
{
	struct spy_tls *t = &spy_tls;
	struct tf_thread *th = t->thread;
	struct tf_record *r = s->rec;

	spy_count_call(th, s, call, cls, end - r->start, end);
	/* site_from 0 becomes the largest number: no call takes so long. */
	if (spy_class_may_last(cls) && unlikely(end - r->start > spy_gate_page.gate.site_from - 1))
		s->unusual |= SPAN_SITE;
	if (unlikely(result | s->unusual))
		return false;
	spy_count_kind(th, cls);
	r->end = end;
	ring_publish(t, r);
	/* Release: whoever finds no call in flight finds all that was counted of the last one. */
	__atomic_store_n(&th->in_call, 0, __ATOMIC_RELEASE);
	return true;
}

#endif
