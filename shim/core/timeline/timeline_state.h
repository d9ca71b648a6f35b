/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the timeline keeps: of threads, of pieces of work, of streams, events and devices, of calls
 * whose work CUPTI tells; and all of it together. For timeline_internal.h. Its words:
 *
 * op        one piece of work for the GPU: a kernel, a copy, a set, or a whole graph launch, with
 *           the start and end that are estimated for it
 * outstanding  given to its stream, and by the estimate not ended yet
 * settled   ended: its start and end are corrected no more
 * booked    counted in its device's busy time, up to some tick
 * entry     an op in the launch queue of its stream and engine; the driver lets a stream have
 *           CUDA_QUEUE_ENTRIES of them, and a call that would add one more waits
 * segment   a stretch of a thread's time in one state; a chunk holds TL_CHUNK of them
 */
#ifndef SPY_TIMELINE_STATE_H
#define SPY_TIMELINE_STATE_H

#include <stdbool.h>
#include "shim/core/cuda/engines.h"
#include "shim/core/format/trace_format.h"
#include "shim/core/gpu_time/estimate.h"
#include "shim/core/work/slices.h"

#define TL_TICKS_MOST (1ull << 60) /* leaves room for a state beside it, and for sums */

/* ---- threads: the latest of their calls ---- */

#define TL_CHUNK   254u  /* segments of a chunk, which is a little more than 4 KiB */
#define TL_CHUNKS  1536u /* of all threads: 6 MiB */
#define TL_THREADS 65536u
#define TL_NESTED  8u /* nested calls kept apart until their caller returns */

/* States of a thread beside enum tf_host. */
enum {
	TL_HOST_ISSUE = TF_HOSTS, /* in an event, stream, graph or query call: told as OTHER of the
	                             host's time, but as LAUNCH of the GPU's idle time */
	TL_HOST_STATES,
	TL_HOST_UNKNOWN = 15, /* its chunk is gone and the sums do not tell either */
};

/* One call, or a part of it; the time between segments was spent outside CUDA. */
struct tl_segment {
	uint64_t start_state; /* start | state << 60 */
	uint64_t end;
};

#define TL_STATE_SHIFT 60

/* Chunks are given to threads in turn; when all are in use the one given out first is taken again,
 * which is always the oldest of the thread that has it. */
struct tl_chunk {
	uint32_t owner; /* thread + 1; 0 = free */
	uint32_t older, newer, count;
	uint64_t ticks[TL_HOST_STATES]; /* of its segments, by state */
	struct tl_segment segments[TL_CHUNK] __attribute__((aligned(64)));
};

struct tl_thread {
	struct tf_thread *figures; /* in the recording; NULL = not looked for, or not there */
	uint32_t newest, oldest;   /* chunks */
	uint32_t found, found_at; /* chunk and segment of the last look-up, where the next begins */
	uint16_t device;          /* current to the thread */
	uint16_t nested_count;
	/* Chunks that were taken from it: the time they covered, and ticks in each state. */
	uint64_t past_from, past_until;
	uint64_t past[TL_HOST_STATES];
	struct tl_segment nested[TL_NESTED];
};

/* ---- pieces of work, streams, events, devices ---- */

#define TL_OPS     65536u /* pieces of work known at most; 5.5 MiB */
#define TL_OPS_FEW 4096u  /* at the start: what the queue holds, and a round of the collector's */
#define TL_STREAMS 4096u
#define TL_EVENTS  16384u
#define TL_KERNELS 4096u /* kernels whose mean over all shapes is kept */

/* One piece of work. Ids count all ops from 1; op `id` is at ops[id & ops_mask]. */
struct tl_op {
	uint64_t id;
	/* Estimates. Until TL_OP_SETTLED the stream's shift less `shift` is to be added: so all
	 * outstanding ops of a stream can be moved by one store (tl_start_on()). */
	uint64_t start, end;
	int64_t shift;
	uint64_t returned; /* return of its call */
	uint64_t entered;  /* entry of its call: it cannot have started before */
	uint64_t ready;    /* when it would have started had the GPU had nothing else to do */
	uint64_t booked;   /* up to here it is counted in the device's busy time */
	uint64_t next;     /* id of the next one on its stream */
	uint32_t stream;   /* place + 1 */
	uint32_t generation;
	uint32_t kernel;
	uint32_t entry; /* its number in the launch queue, from 1 */
	uint16_t thread;
	uint8_t kind; /* enum tf_work_kind */
	uint8_t flags;
	uint8_t engine;    /* enum cuda_engine */
	uint8_t functions; /* host functions (cuLaunchHostFunc) right behind it on its stream;
	                      saturating */
};
#define TL_OP_COMM    1u /* a kernel of a communication library */
#define TL_OP_COUNTED 2u /* stands in the figures of its kernel */
#define TL_OP_UNKNOWN 4u /* of a class without a known duration */
#define TL_OP_CHAINED                                                                              \
	8u /* nothing but its own launch, or ops before it that are CHAINED too, set               \
	      its start: a wait for it tells the launch latency */
#define TL_OP_SETTLED 16u  /* ended; its stream's shift counts no more */
#define TL_OP_CUT     32u  /* a wait of the host told its end, not the mean of its class */
#define TL_OP_NODE    64u  /* a graph's node, and so was the piece before it on its device */
#define TL_OP_EVENT   128u /* an event was recorded behind it */

struct tl_queue {             /* the launch queue of a stream for one engine */
	uint32_t entries;     /* ops that it was given so far */
	uint32_t proof;       /* `entries` when a wait last showed that the stream was empty */
	uint32_t outstanding; /* entries not ended, by estimate */
	uint8_t lasting;      /* rises with calls that take longer than usual, falls with others */
	/* Id of the op that must end before the next call finds room: CUDA_QUEUE_ENTRIES entries
	 * before the next one, or the oldest known. */
	uint64_t back;
};

struct tl_stream {
	uint64_t handle, owner; /* owner: device or thread of a default stream; else 0 */
	uint32_t generation;    /* 0 = a free place */
	struct tf_stream *row;  /* in table `streams`; NULL = none yet, or no room */
	uint32_t flags;         /* of the row */
	uint16_t device;
	bool has_device, row_sought;
	bool blocking;         /* it and the legacy default stream wait for each other */
	uint32_t since_proof;  /* ops since a wait last showed that it was empty */
	uint32_t unknown;      /* of these: of unknown duration */
	uint64_t since_ticks;  /* what the ops since then take, by estimate */
	double since_variance; /* of the class among them that varies most, ns squared */
	uint32_t active;       /* place in its device's list + 1 */
	/* Ids of ops on it: the first outstanding one, the first not wholly booked, the last. */
	uint64_t head, book, tail;
	/* The last op with a gap before it. Those behind it start as soon as the one before ends:
	 * when it moves, they all move by as much. */
	uint64_t loose;
	int64_t shift;    /* added to the times of outstanding ops: struct tl_op */
	uint64_t settled; /* end of the last op that ended */
	/* The op of another stream that the next op here waits for, by cuStreamWaitEvent() or the
	 * rules of the legacy default stream; of several the one that ends last. 0 = none. */
	uint64_t wait;
	struct tl_queue queues[CUDA_ENGINES];
};

struct tl_event {
	uint64_t handle;
	uint64_t op;   /* id of the last op before it on its stream */
	uint64_t wait; /* id of an op of another stream that has to end too before it completes */
	uint8_t functions; /* host functions between `op` and it */
	uint64_t used;     /* larger = recorded later */
};

/* Of which the time that at least one of them ran is counted. OWN: all but communication. */
enum tl_union { TL_ANY, TL_OWN, TL_KERNEL, TL_COPY, TL_UNIONS };

struct tl_turn { /* a stream whose next op is to be booked */
	uint64_t start;
	uint32_t stream; /* place + 1 */
};

struct tl_device {
	struct tf_device_time *time; /* NULL: not yet, no room, or damaged */
	struct tf_busy *slice;       /* the time slice that all of what is being booked lies in;
	                                NULL = it may lie in several */
	bool tried;
	uint64_t until[TL_UNIONS];  /* up to here each of them is counted */
	uint64_t begun;             /* since then it is busy without a break, up to until[TL_ANY] */
	struct tf_stream *copy_row; /* of the stream whose copy ends last */
	uint32_t legacy;            /* its legacy default stream, place + 1 */
	uint64_t engine[CUDA_ENGINES]; /* ids of the copies that engines make last */
	/* Ids of the copies that used the driver's staging buffers last, newest first. */
	uint64_t staged[CUDA_STAGING_BUFFERS];
	uint64_t last; /* id of the op that ends last, by estimate */
	uint32_t actives;
	uint32_t active[TL_STREAMS]; /* streams with work outstanding or not wholly booked, + 1 */
};

/* A stretch of an op, or of an activity of CUPTI's, to be booked. */
struct tl_piece {
	uint64_t start, end;
	uint64_t returned;     /* of its call; 0 = its call is unknown */
	struct tf_stream *row; /* of its stream */
	uint16_t thread, device;
	uint8_t kind, flags;
};

/* ---- calls whose work CUPTI tells, and what it tells ---- */

#define TL_DELAYED        131072u /* calls that wait for activities: 12 MiB */
#define TL_PIECES         65536u
#define TL_ORPHANS        8192u /* activities without their call; a multiple of TL_ORPHANS_BESIDE */
#define TL_ORPHANS_BESIDE 8u    /* that share a place of the hash table */
/* So many calls of one function without an activity, in a row: from then on such calls do not wait
 * for one. */
#define TL_MUTE 16u

struct tl_delayed { /* a call that is taken once CUPTI has told its work's times */
	struct tf_record r;
	uint64_t gpu_start, gpu_end;
	uint32_t work;         /* place in the recording's `works` + 1 */
	uint32_t round;        /* of tl_exact_advance(): when its last activity came */
	struct tf_stream *row; /* of its stream, once taken */
	uint16_t thread;
	uint8_t cls;
	uint8_t waits;  /* for an activity */
	uint8_t device; /* of its activities */
};

/* Calls that waited for an activity in vain, by cause: when it comes at last its time counts for
 * the class of its work. */
#define TL_GIVEN_UP        262144u
#define TL_GIVEN_UP_BESIDE 8u /* that share a place of the hash table */

struct tl_given_up {
	uint64_t cause; /* 0 = none */
	uint32_t work;  /* as tl_delayed's; 0 = none, or no one activity has its time */
	uint16_t call;
	bool told; /* its activity came, or the first of them */
};

struct tl_activity {
	uint64_t start, end, cause;
	uint32_t kernel;
	uint8_t device, kind;
	bool graph_node, guessed, estimated;
};

struct tl_exact {
	uint64_t head, tail; /* of `delayed`; counters that are never reset */
	uint32_t round, activities;
	uint32_t orphans; /* so many there ever were */
	uint32_t given_ups;
	struct tl_delayed delayed[TL_DELAYED];
	uint32_t by_cause[TL_DELAYED * 2]; /* place + 1 */
	struct tl_activity heap[TL_PIECES];
	/* Activities that came before their call's record: the call has not returned, or the
	 * collector has not drained it yet. Hashed by cause. */
	struct tl_activity orphan[TL_ORPHANS];
	struct tl_given_up given_up[TL_GIVEN_UP]; /* hashed by cause; its pages are touched as they
	                                             are needed */
	uint16_t mute[TL_THREADS];        /* by call id: calls in a row without an activity */
	uint64_t graph[TF_DEVICES_TIMED]; /* cause of the last booked piece, where it was a
	                                     graph's node; else 0 */
};

/* ---- all of it ---- */

struct tl_mean { /* of a kernel, over its shapes */
	uint32_t kernel, count;
	double sum_ns;
};

struct tl_known { /* a class's duration as last asked for */
	uint64_t stamp;
	double ns;
	double rate;     /* ticks a ns, as `ticks` was computed with */
	uint64_t ticks;  /* TL_TICKS_MOST = unknown */
	double variance; /* between its pieces, ns squared */
	/* Of a class of kernels, as long as `version` is the timeline's. */
	uint64_t version, kernel_ticks;
	bool is_known;
};

struct tl_kernel {                 /* what was found of a kernel */
	struct tf_kernel *figures; /* NULL = not looked for, or not there */
	struct tf_hist *queue;     /* of queue times; NULL as well */
	bool named, comm;          /* `comm`: of a communication library */
};

struct timeline {
	struct tf_map *map;
	const struct timeline_watch *watch; /* NULL = nobody */
	unsigned mode;                      /* enum tf_gpu_mode */
	bool resumed; /* an earlier timeline of the recording ended: its memory is gone */
	uint64_t began;
	double ticks_per_ns;
	uint64_t window; /* its start; 0 = it has not begun */
	uint64_t seen;   /* the latest end of a call */

	/* The merged host: one line of time, of whichever thread issued work last. */
	uint64_t host_until;
	uint32_t host_thread; /* that issued last, or called last */
	bool host_issued;

	/* ticks */
	uint64_t start_latency; /* from a launch's return to its kernel's start, at most */
	uint64_t latency;       /* that, and from a kernel's end to a wait's return, together */
	/* Between an op and the next on its stream, by their engines. */
	uint64_t space[CUDA_ENGINES][CUDA_ENGINES];
	uint64_t noise;      /* waits shorter than this found nothing to wait for */
	uint64_t stall;      /* the sampler's, ahead of a timed launch */
	uint64_t short_work; /* guessed for work that has no class */
	uint64_t function;   /* what an empty host function adds between two ops */
	uint32_t latencies;  /* waits that `latency` was learned from */
	bool costs_due;
	/* As estimate_costs_among() asks. */
	uint64_t calibrated;
	bool copies_timed;
	bool host_functions; /* some were given to a graph, or to a stream that is not known */
	uint64_t costs_version;
	uint64_t version; /* counts changes of what durations of kernels follow from */
	struct estimate_costs costs;

	struct tf_slices *slices; /* of the recording */
	struct tf_work *works;    /* NULL = not looked for, or not there */
	struct slice_cursor host_slice, device_slice;

	/* The last call: its thread and end; and the last end of a call of any other thread. */
	uint32_t last_thread;
	uint64_t last_end, others_end;

	/* the stream asked for last */
	struct {
		uint64_t handle;
		uint32_t thread, generation, place;
		uint16_t flags, device;
	} recent;

	uint64_t last_op;
	uint64_t ops_mask; /* places in use, less one: doubled while old ops are in use */
	uint32_t generation;
	uint64_t event_uses;
	struct tl_device device[TF_DEVICES_TIMED];
	struct tl_turn turns[TL_STREAMS];
	uint32_t line[TL_OPS]; /* scratch of tl_finished(): places of the ops it moves */
	struct tl_op ops[TL_OPS];
	struct tl_stream streams[TL_STREAMS];
	struct tl_event events[TL_EVENTS];
	struct tl_mean means[TL_KERNELS];
	struct tl_known known[TF_WORKS];
	/* What a call takes where it waits for nothing (tl_learn()), ticks: by class of work, by
	 * call id. */
	uint32_t work_typical[TF_WORKS];
	uint32_t call_typical[TL_THREADS];
	uint8_t roles[TL_THREADS]; /* enum cuda_role + 1, by call id; 0 = not looked for */
	struct tl_kernel kernels[TF_KERNELS_MAX];

	uint32_t chunk_last;
	struct tl_chunk chunks[TL_CHUNKS];
	struct tl_thread threads[TL_THREADS];
	struct tl_exact exact;
};

#endif
