/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record of a ring: a call, a sample, a piece of GPU work, a range. A part of trace_format.h.
 */
#ifndef SPY_TRACE_RECORDS_H
#define SPY_TRACE_RECORDS_H

#include <stdint.h>
#include "shim/core/format/classes.h"

/* One call, as the program made it (or, with TF_NESTED, a timed call inside it). */
struct tf_record {
	uint64_t start; /* ticks */
	uint64_t end;
	uint16_t call;
	uint16_t thread; /* index in table `threads` */
	uint16_t flags;  /* TF_NESTED ... */
	int16_t result;  /* CUresult or cudaError_t; 0 = success */
	uint64_t stream; /* handle as given; 0 = default stream (see TF_PTDS) */
	union {
		struct {                       /* launch */
			uint32_t kernel;       /* index in table `kernels` */
			uint32_t shared_bytes; /* dynamic */
			uint32_t grid_x;
			uint16_t grid_y, grid_z;
			uint16_t block_x, block_y;
			uint8_t block_z, cluster_x, cluster_y, cluster_z;
			uint32_t items; /* launches in this call: 1, or more for a multi-device
			                   launch */
			uint32_t reserved;
		} launch;
		struct { /* copy and set */
			uint64_t bytes;
			uint64_t dst;
			uint64_t src;
			uint16_t items;    /* copies in this call (batch), saturating */
			uint8_t direction; /* enum spy_direction */
			uint8_t memory;    /* enum spy_memory */
			uint8_t async;
			uint8_t reserved[3];
		} copy;
		struct { /* alloc: bytes and address; free: address, bytes 0 where not known */
			uint64_t bytes;
			uint64_t address;
			uint8_t is_free;
			uint8_t memory; /* enum spy_memory of what is allocated: pinned, device,
			                   managed */
			uint8_t reserved[14];
		} alloc;
		struct {                /* graph launch, instantiate, update */
			uint32_t graph; /* index in table `graphs` */
			/* of a launch: index + 1 of the first graph that did the same; 0 = what it
			 * does is not known, it is a class of its own */
			uint32_t content;
			uint64_t handle;
			/* of a launch: index + 1 in table `graph_nodes` of what it holds; 0 = not
			 * known */
			uint32_t nodes;
			uint32_t reserved;
			uint64_t spare;
		} graph;
		struct { /* event record, wait, synchronize */
			uint64_t event;
			uint64_t spare[3];
		} event;
		struct {                 /* TF_CALL_ACTIVITY */
			uint32_t device; /* or TF_DEVICE_OF_CALL */
			uint32_t stream; /* CUPTI's number */
			uint64_t bytes;
			uint32_t kernel;     /* index in table `kernels` */
			uint32_t graph_node; /* it ran inside a graph */
			uint64_t spare;
		} activity;
		struct { /* TF_CALL_RANGE; saturating */
			uint32_t launches, graph_launches, syncs, copies, pageable_copies, sets,
			        allocs;
			uint32_t bytes_low; /* see tf_range_bytes() */
		} range;
		uint64_t arg[4];
	};
};
#define TF_NESTED                                                                                  \
	0x0001u             /* made inside another call: that of the thread's next record without  \
	                       this flag */
#define TF_CAPTURED 0x0002u /* went into a graph under capture, not to the GPU */
#define TF_PTDS     0x0004u /* stream 0 means the per-thread default stream */
#define TF_FIRST    0x0008u /* this thread's first launch of the kernel */
#define TF_NO_ARGS  0x0010u /* the union was not filled: no driver call was seen inside */
#define TF_SAMPLED  0x0020u /* the sampler recorded an event before and after this work */
#define TF_STALLED  0x0040u /* and launched its stall kernel (header `stall_ns`) ahead of it */
#define TF_OWN                                                                                     \
	0x0080u         /* nested, but made by the program itself: in a signal handler or a        \
	                   callback */
#define TF_SITE 0x4000u /* the last 24 bits are its call site: trace_sites.h */

/* It is how CUDA carries out the call around it, not a call that the program made. */
static inline int tf_is_part(const struct tf_record *r)
{
	return (r->flags & (TF_NESTED | TF_OWN)) == TF_NESTED;
}

/*
 * Records in the rings that are not calls have these call ids:
 *
 * TF_CALL_SAMPLE    GPU time of one piece of work. `start`: entry of the call that gave it; `end`:
 *                   nanoseconds between our two events, as the driver tells it; `result`: enum
 *                   tf_pair; `thread`: enum tf_work_kind; `stream`: TF_NTH(), which launch of its
 *                   series it is (see struct tf_weights), 0 = unknown; `flags` and the union as in
 *                   the work's own record. Calibration: kinds TF_WORK_EMPTY and TF_WORK_NULL,
 *                   device in launch.kernel.
 * TF_CALL_FACTS     what the driver tells of a kernel, once for each class of launches: the union
 *                   as in its launches, `start` = registers a thread | blocks an SM << 16 | warps
 *                   an SM holds at most << 32 | static shared memory in bytes << 48 (saturating).
 * TF_CALL_ACTIVITY  CUPTI's record of one piece of work, in ring `activity_ring`: `start` and `end`
 *                   in ticks on the GPU; `thread`: enum tf_work_kind; `stream`: which call gave it,
 *                   TF_CAUSE() of its thread and entry, 0 = unknown; union `activity`.
 * TF_CALL_RANGE     an NVTX range that ended: `start` and `end` in ticks; `thread`: index in table
 *                   `ranges`; `flags`: TF_RANGE_...; `result`, of a kept one: its thread's index in
 *                   table `threads` + 1, 0 = not known; `stream`: API time of its launches and the
 *                   high part of its copies' bytes, see tf_range_bytes(); union `range`: what the
 *                   thread that pushed it did meanwhile, and all threads that have no ranges of
 *                   their own, by their exact counters.
 *
 * TF_CALL_OWN       time that the shim took of the thread: `start` and `end` in ticks. It lies
 * right before the call of the next record (or before another such record's time), or right behind
 * the call before. Short ones have no record: own_time.h.
 */
#define TF_CALL_SAMPLE          0xffffu
#define TF_CALL_FACTS           0xfffeu
#define TF_CALL_ACTIVITY        0xfffdu
#define TF_CALL_RANGE           0xfffcu
#define TF_CALL_OWN             0xfffbu
#define TF_CALL_LEAST           TF_CALL_OWN /* of these */
#define TF_DEVICE_OF_CALL       UINT32_MAX  /* the one current to the call that gave the work */
#define TF_NTH(series, nth)     ((uint64_t)(series) << 40 | ((nth)&0xffffffffffu))
#define TF_NTH_SERIES(stream)   ((uint32_t)((stream) >> 40))
#define TF_NTH_NTH(stream)      ((stream)&0xffffffffffu)
#define TF_CAUSE(thread, start) ((uint64_t)(thread) << 48 | ((start)&0xffffffffffffu))

enum tf_work_kind {
	TF_WORK_NONE,
	TF_WORK_KERNEL,
	TF_WORK_GRAPH,
	TF_WORK_COPY,
	TF_WORK_SET,
	TF_WORK_EMPTY, /* calibration: nothing between the events */
	TF_WORK_NULL,  /* calibration: an empty kernel of ours */
	TF_WORK_KINDS
};
/* Whether the stream was idle or busy when the first event of a pair was recorded. */
enum tf_pair { TF_PAIR_IDLE, TF_PAIR_BUSY, TF_PAIRS };

#define TF_RANGE_STARTED   0x0100u /* nvtxRangeStart, not push and pop: nested in no range */
#define TF_RANGE_NO_COUNTS 0x0200u /* ended by another thread: what it did is not known */

/* A range's copied bytes and the API time of its launches: 48 bits each, saturating. */
static inline uint64_t tf_range_bytes(const struct tf_record *r)
{
	return (r->stream >> 48) << 32 | r->range.bytes_low;
}

static inline uint64_t tf_range_launch_ticks(const struct tf_record *r)
{
	return r->stream & 0xffffffffffffu;
}

#endif
