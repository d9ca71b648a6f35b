/* SPDX-License-Identifier: Apache-2.0 */
/* What the timeline keeps of pieces of work, of streams and events, and of devices. For
 * timeline_internal.h. */
#ifndef SPY_TIMELINE_STREAMS_H
#define SPY_TIMELINE_STREAMS_H

#include "shim/core/cuda/engines.h"
#include "shim/core/format/trace_format.h"

#define TL_OPS     65536u /* pieces of work known at most; 5.5 MiB */
#define TL_OPS_FEW 4096u  /* at the start: what the queue holds, and a round of the collector's */
#define TL_STREAMS 4096u
#define TL_EVENTS  16384u
#define TL_KERNELS 4096u /* kernels whose mean over all shapes is kept */

/* One piece of work; ids count submissions from 1, `id & ops_mask` is its place. */
struct tl_op {
	uint64_t id;
	uint64_t start, end; /* plus (its stream's shift - `shift`) until TL_OP_SETTLED */
	int64_t shift;
	uint64_t returned; /* return of its call */
	uint64_t entered;  /* entry of its call: it cannot have started before */
	uint64_t ready;    /* when it would have started with nothing before it */
	uint64_t booked;   /* up to where it stands in the device's figures */
	uint64_t next;     /* id of the next one on its stream */
	uint32_t stream;   /* place + 1 */
	uint32_t generation;
	uint32_t kernel;
	uint32_t entry; /* its number in its queue */
	uint16_t thread;
	uint8_t kind; /* enum tf_work_kind */
	uint8_t flags;
	uint8_t engine;    /* enum cuda_engine */
	uint8_t functions; /* of the host's, behind it on its stream; saturating */
};
#define TL_OP_COMM    1u   /* a kernel of a communication library */
#define TL_OP_COUNTED 2u   /* stands in the figures of its kernel */
#define TL_OP_UNKNOWN 4u   /* of a class without a known duration */
#define TL_OP_CHAINED 8u   /* held back by its launch, or the ops before it on its stream, alone */
#define TL_OP_SETTLED 16u  /* ended; its stream's shift counts no more */
#define TL_OP_CUT     32u  /* its end comes from a wait, not from its class */
#define TL_OP_NODE    64u  /* of a graph, and the piece before it on its device was too */
#define TL_OP_EVENT   128u /* an event was recorded behind it */

struct tl_queue {             /* of a stream, for an engine */
	uint32_t entries;     /* ops given to it so far */
	uint32_t proof;       /* of these: before the stream was last known to be empty */
	uint32_t outstanding; /* ops from the stream's `head` on */
	uint8_t lasting;      /* whether calls take longer, one after the other */
	uint64_t back; /* id of the last op CUDA_QUEUE_ENTRIES entries before the next, or the first
	                */
};

struct tl_stream {
	uint64_t handle, owner; /* owner: device or thread of a default stream; else 0 */
	uint32_t generation;    /* 0 = a free place */
	struct tf_stream *row;  /* in table `streams`; NULL = none yet, or no room */
	uint32_t flags;         /* of the row */
	uint16_t device;
	bool has_device, row_sought;
	bool blocking;         /* it and the legacy default stream wait for each other */
	uint32_t since_proof;  /* ops since it was last known to be empty */
	uint32_t unknown;      /* of these: of unknown duration */
	uint64_t since_ticks;  /* what the ops since then take, by estimate */
	double since_variance; /* of the class among them that varies most, ns squared */
	uint32_t active;       /* place in its device's list + 1 */
	uint64_t head;         /* ids of ops: the first not ended, by estimate */
	uint64_t book;         /* the first not wholly booked */
	uint64_t tail;
	/* The last op that began later than the one before it made it: behind it they follow each
	 * other closely, and move together. */
	uint64_t loose;
	int64_t shift;    /* what ops that have not ended move by: struct tl_op */
	uint64_t settled; /* end of the last op that ended */
	/* Beside the op before it, the next op waits for this one, of another stream: of the events
	 * that the stream waits for, the one that ends last. 0 = none. */
	uint64_t wait;
	struct tl_queue queues[CUDA_ENGINES];
};

struct tl_event {
	uint64_t handle;
	uint64_t op;   /* id of the last op before it on its stream */
	uint64_t wait; /* of an op of another stream that has to end too before the event is done */
	uint8_t functions; /* of the host's that stand between `op` and it */
	uint64_t used;
};

enum tl_union { TL_ANY, TL_OWN, TL_KERNEL, TL_COPY, TL_UNIONS }; /* OWN: all but communication */

struct tl_turn {
	uint64_t start;
	uint32_t stream; /* place + 1 */
};

struct tl_device {
	struct tf_device_time *time; /* NULL: not yet, no room, or damaged */
	struct tf_busy *slice;       /* all that is booked just now lies in it; NULL = not sure */
	bool tried;
	uint64_t until[TL_UNIONS]; /* end of each union so far */
	uint64_t begun;            /* since when it was busy without a break, until up to[TL_ANY] */
	struct tf_stream *copy_row;    /* of the stream whose copy ends last */
	uint32_t legacy;               /* its legacy default stream, place + 1 */
	uint64_t engine[CUDA_ENGINES]; /* ids of the copies that engines make last */
	/* Ids of the ops that have the driver's buffers: the last one's first. */
	uint64_t staged[CUDA_STAGING_BUFFERS];
	uint64_t last; /* id of the op that ends last, by estimate */
	uint32_t actives;
	uint32_t active[TL_STREAMS]; /* streams with work outstanding or not wholly booked, + 1 */
};

/* A stretch of work to be booked: of an op, or an activity. */
struct tl_piece {
	uint64_t start, end;
	uint64_t returned;     /* of its call; 0 = its call is unknown */
	struct tf_stream *row; /* of its stream */
	uint16_t thread, device;
	uint8_t kind, flags;
};

#endif
