/* SPDX-License-Identifier: Apache-2.0 */
/* What the timeline keeps of a thread: the latest of its calls. For timeline_internal.h. */
#ifndef SPY_TIMELINE_THREADS_H
#define SPY_TIMELINE_THREADS_H

#include "shim/core/format/trace_format.h"

#define TL_CHUNK   254u  /* segments of a chunk: 4 KiB, and a little */
#define TL_CHUNKS  1536u /* of all threads: 6 MiB */
#define TL_THREADS 65536u
#define TL_NESTED  8u /* nested calls kept apart until their caller returns */

/* States of a thread beside enum tf_host. */
enum {
	TL_HOST_ISSUE = TF_HOSTS, /* event, stream, graph and query calls: OTHER of the host, but a
	                             cost of launching to the GPU */
	TL_HOST_STATES,
	TL_HOST_UNKNOWN = 15, /* not known any more */
};

/* One call, or a part of it; the time between segments was spent outside CUDA. */
struct tl_segment {
	uint64_t start_state; /* start | state << 60 */
	uint64_t end;
};

#define TL_STATE_SHIFT 60

/* Chunks are handed out round and round: the oldest of all is always its thread's oldest. */
struct tl_chunk {
	uint32_t owner; /* thread + 1; 0 = free */
	uint32_t older, newer, count;
	uint64_t ticks[TL_HOST_STATES]; /* of its segments, by state */
	struct tl_segment segments[TL_CHUNK] __attribute__((aligned(64)));
};

struct tl_thread {
	struct tf_thread *figures; /* in the recording; NULL = not looked for, or not there */
	uint32_t newest, oldest;   /* chunks */
	uint32_t found, found_at;  /* the chunk and segment that a time was found in last */
	uint16_t device;           /* current to the thread */
	uint16_t nested_count;
	/* What it did before its oldest chunk, in sum: of chunks that were taken from it. */
	uint64_t past_from, past_upto;
	uint64_t past[TL_HOST_STATES];
	struct tl_segment nested[TL_NESTED];
};

#endif
