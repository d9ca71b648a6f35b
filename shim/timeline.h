/*
 * The timeline: what the GPU did when, and what the threads that fed it did meanwhile, rebuilt from
 * the records as the drain hands them over. Shared by the shim's collector, which runs it live, and
 * the reporter, which runs it on what a killed process left in its rings and on kept records.
 *
 * Without CUPTI a piece of work is given the mean duration of its class (struct tf_work, event
 * pairs less what a pair costs) and a start that follows from the order of streams, event records
 * and waits, the rules of the legacy default stream and the launch latency; every wait that really
 * waited puts it right. With CUPTI start and end are exact and come later, as activities.
 *
 * What comes out stands in the recording: struct tf_device_time, tf_slice.host_ticks, the header's
 * host_ticks, tf_thread.split_ticks, implicit_syncs and first_ticks, tf_kernel.queue_*, table
 * `streams`. Working memory is private, bounded, and lost when the process is killed: what follows
 * then starts afresh.
 */
#ifndef SPY_TIMELINE_H
#define SPY_TIMELINE_H

#include "shim/trace_map.h"

struct timeline;

/*
 * A timeline that writes into the recording `map`; NULL where there is no memory. Takes its memory
 * from the system directly (mmap), never from malloc.
 */
struct timeline *timeline_new(struct tf_map *map);
void timeline_free(struct timeline *t);

/*
 * One record of a thread: of calls of all threads in the order of `end`, nested ones before their
 * caller. `class` is the call's. A record that comes later than its order, by a preempted thread,
 * is taken as it comes.
 */
void timeline_call(struct timeline *t, uint32_t thread, const struct tf_record *r, unsigned class);

/* One TF_CALL_ACTIVITY record. */
void timeline_activity(struct timeline *t, const struct tf_record *r);

/*
 * No record that ends before tick `now` will come any more: settles what is certain. Idle time
 * still running is not booked.
 */
void timeline_advance(struct timeline *t, uint64_t now);

/* Settles all there is, up to tick `end`: the end of the process, or of the records. */
void timeline_finish(struct timeline *t, uint64_t end);

#endif
