/* SPDX-License-Identifier: Apache-2.0 */
/* What the timeline keeps of calls whose work CUPTI tells, and of what it tells. For
 * timeline_internal.h. */
#ifndef SPY_TIMELINE_ACTIVITIES_H
#define SPY_TIMELINE_ACTIVITIES_H

#include <stdbool.h>
#include "shim/core/format/trace_format.h"
#include "shim/core/timeline/timeline_threads.h"

#define TL_DELAYED        131072u /* calls that wait for activities: 12 MiB */
#define TL_PIECES         65536u
#define TL_ORPHANS        8192u /* a multiple of TL_ORPHANS_BESIDE */
#define TL_ORPHANS_BESIDE 8u
#define TL_MUTE           16u /* calls without an activity, in a row, after which none is waited for */

struct tl_delayed {
	struct tf_record r;
	uint64_t gpu_start, gpu_end;
	uint32_t work;         /* place in the recording's `works` + 1 */
	uint32_t round;        /* of its last activity */
	struct tf_stream *row; /* of its stream, once taken */
	uint16_t thread;
	uint8_t cls;
	uint8_t waits;  /* for an activity */
	uint8_t device; /* of its activities */
};

struct tl_activity {
	uint64_t start, end, cause;
	uint32_t kernel;
	uint8_t device, kind;
	bool graph_node, guessed, estimated;
};

struct tl_exact {
	uint64_t head, tail;                 /* of `delayed`; free-running */
	uint32_t round, activities, orphans; /* orphans: ever, free-running */
	struct tl_delayed delayed[TL_DELAYED];
	uint32_t by_cause[TL_DELAYED * 2]; /* place + 1 */
	struct tl_activity heap[TL_PIECES];
	/* Of calls that are not known yet, by cause: those that have not returned, and with a
	 * collector that is late those whose records it has not taken. */
	struct tl_activity orphan[TL_ORPHANS];
	uint16_t mute[TL_THREADS];        /* by call id */
	uint64_t graph[TF_DEVICES_TIMED]; /* cause of the piece booked last, if a graph's node */
};

#endif
