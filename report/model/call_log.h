/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recent calls of one process, one after the other, as the replay and the findings need them:
 * who called what when, what it gave to the GPU on which stream, and how long that takes there.
 * Taken from the records that a recording keeps (CUDASPY_KEEP, CUDASPY_TRACE) while it is open; it
 * stands on its own afterwards. For the model, which makes it, the replay and the findings.
 *
 * Times are ns since the process' window began. Nothing here is trusted to be consistent with the
 * model's exact figures: records may be missing (`lost`), or older than what is kept (`from`).
 * Indexes in an act are always valid for the tables below, or CALL_LOG_NONE where that is said.
 */
#ifndef REPORT_CALL_LOG_H
#define REPORT_CALL_LOG_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/core/cuda/copies.h"
#include "shim/core/cuda/roles.h"
#include "shim/core/format/classes.h"
#include "shim/core/format/trace_format.h"

#define CALL_LOG_RECORDS 262144u    /* the latest so many are taken, of each of a few processes */
#define CALL_LOG_ALL     1048576u   /* and so many of all of a run */
#define CALL_LOG_NONE    UINT32_MAX /* no such index */
#define CALL_LOG_DEVICES TF_DEVICES_TIMED /* whose work is placed; others go in with these */

/* Flags of a call, as its record has them. */
#define CALL_EVENT_CAPTURED TF_CAPTURED /* into a graph: it did nothing */
#define CALL_EVENT_FIRST    TF_FIRST    /* launch of this kernel by its thread */

/* One call, as the program made it; what calls nested in it took stands in it. */
struct call_event {
	double start, end; /* entry and return */
	/*
	 * Of its work on the GPU, one call's (an item's where there are several), ns. Exact in
	 * CUPTI mode (then `gpu_start` is known), else the mean of the class; NaN: not known, or no
	 * work.
	 */
	double gpu, gpu_start;
	uint64_t bytes;   /* copy, set, alloc (0 where a free's is not known) */
	uint64_t address; /* copy, set: destination; alloc: what was given or freed; graph: its
	                     handle; 0 = not known */
	uint64_t source;  /* copy */
	float nested_sync, nested_alloc, nested_module; /* ns inside of it */
	float ours;      /* ns right before `start` that were cudaspy's, not the program's */
	uint32_t call;   /* index in `calls` */
	uint32_t stream; /* index in `streams`; CALL_LOG_NONE = of no stream */
	uint32_t work;   /* index in `works`; CALL_LOG_NONE = it gave the GPU no work */
	uint32_t event;  /* one number an event handle; CALL_LOG_NONE = none */
	uint32_t graph;  /* the recording's number of an instantiated graph, or CALL_LOG_NONE */
	uint32_t items;  /* launches or copies in this call, at least 1 */
	uint32_t site;   /* the recording's number of its call site, from 1; 0 = none was taken */
	uint16_t thread; /* index in `threads` */
	uint16_t device; /* current to the thread, as far as is known */
	uint16_t flags;  /* CALL_EVENT_..., and others of its record */
	int16_t result;  /* 0 = success */
	uint8_t cls, level, role;  /* enum spy_class, spy_level, cuda_role */
	uint8_t kind;              /* enum tf_work_kind; TF_WORK_NONE where it gave no work */
	uint8_t direction, memory; /* of copies and sets; memory of an alloc too */
	bool async;                /* of a copy */
	bool is_free;              /* of an alloc */
};

struct call_log_call { /* one intercepted call */
	char name[56];
	uint8_t cls, level, role;
};

struct call_log_thread {
	uint64_t tid; /* with the process: finds the model's thread */
	char name[24];
};

struct call_log_stream { /* a handle that came to mean another stream has a row for each */
	uint64_t handle; /* 0: a default stream */
	uint32_t
	        flags; /* CU_STREAM_NON_BLOCKING (1), TF_STREAM_LEGACY, TF_STREAM_PER_THREAD,
	                  TF_STREAM_UNSEEN: its making was not seen, taken for a non-blocking one */
	uint32_t device;
	uint32_t thread;      /* of a per-thread default stream; else CALL_LOG_NONE */
	uint64_t call_events; /* that name it */
};

struct call_log_work {      /* a class of GPU work, see shim/core/work/work_class.h */
	const char *kernel; /* its name, of the model, which outlives it; NULL = no kernel */
	uint8_t kind, direction, memory;
	bool async, exact;
	uint32_t grid[3], block[3], shared_bytes;
	uint64_t graph;         /* handle of a graph; of the first one of equal content */
	uint64_t bytes;         /* of a copy or set, on average */
	double mean, low, high; /* of one piece, ns; NaN = not known */
	uint64_t call_events;   /* that gave it */
};

struct call_log_piece { /* a stretch of time whose calls stand earlier in the log than they were */
	double start, end, moved; /* as they were; by so much */
};

struct call_log {
	struct call_event *call_events; /* by start; never NULL */
	size_t count;
	struct call_log_call *calls;
	size_t call_count;
	struct call_log_thread *threads;
	size_t thread_count;
	struct call_log_stream *streams;
	size_t stream_count;
	struct call_log_work *works;
	size_t work_count;
	uint32_t events;  /* numbers below it are used */
	uint64_t records; /* taken, those of nested calls, samples, ranges too */
	uint64_t all;     /* calls that the process made, by its exact counters */

	double window;      /* the process' window up to tear-down; NaN = unknown: no call events */
	double from, until; /* all calls that started in it are here, but for lost ones */
	bool whole;         /* `from` is the window's start: nothing is older */
	bool lost;          /* records found a ring full: there are holes */
	double judged; /* ns that [steady, window) stands for: it, or all stretches of a loop */
	double busy;   /* of a phase: share in which the busiest device worked; 0 = not known */
	struct call_log_piece *joined; /* by time; NULL: all stand where they were */
	size_t joined_count;
	bool left_out;    /* the process has no part in the phase that is judged */
	double steady;    /* where start-up ended, by the time slices; 0 where it cannot be told */
	double coverage;  /* share of [steady, window) that lies in [from, up to); NaN = unknown */
	double per_call;  /* ns that recording one call took */
	double off_apart; /* of half an interval in `works`: the share that is off by chance, in one
	                     class this way and in another that way */
	double cpu_wait;  /* share of the steady time of the threads that give the GPU work in which
	                     they waited for a CPU; NaN = unknown */
};

/* Where what began at `start` stands in the log; NaN: its time is not in it. */
static inline double call_log_place(const struct call_log *h, double start)
{
	for (size_t i = 0; i < h->joined_count; i++)
		if (start < h->joined[i].end)
			return start >= h->joined[i].start ? start - h->joined[i].moved : NAN;
	return h->joined_count ? NAN : start;
}

/* Its copy or set, as the rules of shim/core/cuda have it. */
static inline struct cuda_copy call_event_copy(const struct call_event *a)
{
	return (struct cuda_copy){
	        .direction = (enum spy_direction)a->direction,
	        .memory = (enum spy_memory)a->memory,
	        .async = a->async,
	        .bytes = a->bytes,
	};
}

/* The copy or set holds its caller. */
static inline bool call_event_holds(const struct call_event *a)
{
	struct cuda_copy c = call_event_copy(a);

	return a->cls == SPY_CLASS_SET ? cuda_set_holds(c)
	                               : a->cls == SPY_CLASS_COPY && cuda_copy_holds(c);
}

struct model_part;

/* Takes the recent calls of an opened recording into p->process->call_log; after the works and the
 * overview. */
void model_add_call_log(struct model_part *p);
void call_log_free(struct call_log *h);

/* The first call that starts at or after `ns`; h->count where there is none. */
size_t call_log_at(const struct call_log *h, double ns);
/* The first call of the steady state that is held; h->count where there is none. */
size_t call_log_steady(const struct call_log *h);

#endif
