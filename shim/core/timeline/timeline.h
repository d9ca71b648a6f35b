/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline: what the GPU did when, and what the threads that fed it did meanwhile, rebuilt from
 * the records as the drain hands them over. Shared by the shim's collector, which runs it live, and
 * the reporter, which runs it on what a killed process left in its rings.
 *
 * Without CUPTI a piece of work is given the mean duration of its class (estimate.h) and a start
 * that follows from the order of streams, event records and waits, the rules of the legacy default
 * stream and the launch latency; every wait that really waited puts it right. With CUPTI start and
 * end are exact and come later, as activities: the calls wait for them. With CUDASPY_GPU=off there
 * is no work and no device, only what the threads did; all of a wait then counts as useful and no
 * launch as back-pressure or contention.
 *
 * What comes out stands in the recording: struct tf_device_time, tf_slice.host_ticks, the header's
 * host_ticks (their sum = timeline_upto - window_start), tf_thread.split_ticks, implicit_syncs and
 * first_ticks, tf_kernel.queue_*, tf_work.exact_*, table `streams`. Working memory is private,
 * bounded (timeline_bytes()), and lost when the process is killed: what follows then starts afresh
 * where these figures end.
 */
#ifndef SPY_TIMELINE_H
#define SPY_TIMELINE_H

#include <stdbool.h>
#include "shim/core/format/trace_map.h"

struct timeline;

/*
 * A timeline that writes into the recording `map`; NULL where there is no memory. Takes its memory
 * from the system directly (mmap), never from malloc.
 */
struct timeline *timeline_new(struct tf_map *map);
void timeline_free(struct timeline *t);

/* Nothing was drained into the recording before: all that there will be comes this way. */
void timeline_is_first(struct timeline *t);

/*
 * Who draws the timeline is told of each piece of work that it places, in the order of their start
 * on each stream of a device, or, with CUPTI, of all. A piece that is long comes in parts.
 */
struct timeline_piece {
	uint64_t start, end; /* ticks */
	uint64_t cause;      /* TF_CAUSE() of its call; 0 = unknown */
	uint32_t kernel;     /* of a graph's node; else its call says which */
	uint8_t device;
	uint8_t kind;    /* enum tf_work_kind */
	bool last;       /* no more parts of it follow */
	bool estimated;  /* its times are no records of CUPTI's */
	bool graph_node; /* one of a graph's */
};

struct timeline_watch {
	void *to;
	void (*placed)(void *to, const struct timeline_piece *p);
	/* How long the work of this call takes, ticks, where more is known of it than the mean of
	 * its class; else `ticks`. `known`: that is not guessed. */
	uint64_t (*duration)(void *to, uint32_t thread, const struct tf_record *r,
	                     const struct tf_work *work, uint64_t ticks, bool *known);
};
/* Nobody watches at first. `w` must outlive it. */
void timeline_watch(struct timeline *t, const struct timeline_watch *w);

/*
 * One record of a thread: of calls of all threads in the order of `end`, nested ones before their
 * caller. `cls` is the call's, `work` the class of its work, NULL where it gave none. A record
 * that comes later than its order, by a preempted thread, is taken as it comes.
 */
void timeline_call(struct timeline *t, uint32_t thread, const struct tf_record *r, unsigned cls,
                   struct tf_work *work);
#define TIMELINE_OWN SPY_CLASS_COUNT /* the class of a TF_CALL_OWN record */

/* The same of a launch without result and without flags but TF_PTDS, TF_SAMPLED and TF_STALLED: a
 * short way for most records. */
void timeline_launch(struct timeline *t, uint32_t thread, const struct tf_record *r,
                     struct tf_work *work);

/* Several of them, one after the other of one thread. */
void timeline_launches(struct timeline *t, uint32_t thread, const struct tf_record *r,
                       struct tf_work *const *works, unsigned n);

/* One event pair of a class, of a TF_CALL_SAMPLE record: already counted in `work`. */
void timeline_sample(struct timeline *t, const struct tf_work *work);

/* One TF_CALL_ACTIVITY record. */
void timeline_activity(struct timeline *t, const struct tf_record *r);

/*
 * No record that ends before tick `now` will come any more: settles what is certain, up to the
 * return of the last call, which is the end of the window as far as is known. Idle time still
 * running is not booked.
 */
void timeline_advance(struct timeline *t, uint64_t now);

/*
 * Settles all there is, up to the end of the window: the return of the last call of all threads.
 * More records may follow; what they say of the time before is then not taken.
 */
void timeline_finish(struct timeline *t);

#endif
