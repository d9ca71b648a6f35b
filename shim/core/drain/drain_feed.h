/* SPDX-License-Identifier: Apache-2.0 */
/* What one record feeds. For drain.c alone. */
#ifndef SPY_DRAIN_FEED_H
#define SPY_DRAIN_FEED_H

#include "shim/core/drain/drain.h"

/* Whether this is a call, a range or time of ours; else it stands in a ring all the same: its `end`
 * is no tick. */
static inline bool drain_is_call(const struct tf_record *r)
{
	return r->call < TF_CALL_ACTIVITY;
}

/* Before the records of a round. False where there is no memory to feed them. */
bool drain_feed_begin(struct drain *d);
/* Gives back what drain_feed_begin() took. */
void drain_feed_end(struct drain *d);

/* A record of the ring of thread `index`. */
void drain_feed(struct drain *d, struct tf_thread *thread, uint32_t index,
                const struct tf_record *r);

/* Records that follow each other in a ring. */
struct drain_run {
	const struct tf_record *slots;
	uint64_t first, count; /* number of the first one; how many may be taken */
	uint64_t ready;        /* how many there are */
	uint64_t mask;         /* of the slots */
};

/*
 * Of the records of thread `index`, those at the front that are plain launches: at most
 * DRAIN_TWICE_MOST, all but the first one ended by `limit`. How many they were; the rest goes
 * through drain_feed().
 */
unsigned drain_feed_launches(struct drain *d, const struct tf_thread *thread, uint32_t index,
                             const struct drain_run *run, uint64_t limit);

/* A record of the ring of activities. */
void drain_feed_activity(struct drain *d, const struct tf_record *r);

#endif
