/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch queue of a stream: CUDA_QUEUE_ENTRIES pieces of work, then a call waits for the oldest
 * to end. Times are ticks without the stream's offset. For replay*.c alone.
 */
#ifndef REPORT_REPLAY_QUEUE_H
#define REPORT_REPLAY_QUEUE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "shim/core/cuda/engines.h"

struct replay_queue {
	double *ends; /* of the last CUDA_QUEUE_ENTRIES entries; NULL: it never had as many */
	uint64_t entries;
	uint64_t settled; /* entries so far that were seen to be done */
	double by;        /* at that tick */
};

/* One that may fill up (replay_queue_end()). */
static inline void replay_queue_start(struct replay_queue *q)
{
	q->ends = alloc_zeroed(CUDA_QUEUE_ENTRIES, sizeof(double));
}

static inline void replay_queue_end(struct replay_queue *q)
{
	free(q->ends);
}

static inline void replay_queue_add(struct replay_queue *q, double end)
{
	if (q->ends)
		q->ends[q->entries % CUDA_QUEUE_ENTRIES] = end;
	q->entries++;
}

/* All that is in it was done by then. */
static inline void replay_queue_settle(struct replay_queue *q, double by)
{
	q->settled = q->entries;
	q->by = by;
}

/* When it has fewer than so many entries; -INFINITY: it has. */
static inline double replay_queue_left(const struct replay_queue *q, uint32_t entries)
{
	if (!q->ends || q->entries < entries)
		return -INFINITY;
	uint64_t entry = q->entries - entries;
	return fmin(q->ends[entry % CUDA_QUEUE_ENTRIES], entry < q->settled ? q->by : INFINITY);
}

#endif
