/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU as a replay simulates it: when the work of streams, event records, engines and launch
 * queues ends. For replay*.c alone.
 */
#ifndef REPORT_REPLAY_INTERNAL_H
#define REPORT_REPLAY_INTERNAL_H

#include "report/analysis/replay/replay.h"
#include "report/analysis/replay/replay_queue.h"
#include "shim/core/cuda/engines.h"
#include "shim/core/gpu_time/estimate.h"
#include "shim/core/work/work_class.h"

/* As fmax(), which is a call: none of these times is a NaN. */
static inline double later(double a, double b)
{
	return a > b ? a : b;
}

struct replay_stream {
	double tail;   /* end of its last work */
	double wait;   /* end of what it was told to wait for */
	double side;   /* end of its REPLAY_OUT copies */
	double marked; /* of those that are not REPLAY_ALONE */
	double offset; /* sum of the acts' `shift` so far */
	/* When its latest row of REPLAY_AHEAD copies was given, and the row before. */
	double given, ahead;
	uint64_t row;                             /* the device's `others` then, + 1 */
	uint64_t row_waits;                       /* the replay's `waits` when it began */
	struct replay_queue queues[CUDA_ENGINES]; /* by engine */
	enum cuda_engine engine;                  /* of its last work */
	uint32_t device;
	bool legacy, blocking;
	bool function; /* the last thing on it is a host function */
};

struct replay_device {
	double tail;
	uint32_t tail_stream;
	double legacy, blocking; /* end of the legacy default stream's work, which
	                            blocking streams wait for; and the reverse */
	uint64_t others; /* pieces of work so far that are not REPLAY_AHEAD: they end the rows, once
	                    the host waited since too, where it ever does */
	double engine[CUDA_ENGINES];          /* ends of copies to the device and from it */
	uint32_t engine_stream[CUDA_ENGINES]; /* of these copies, or CALL_LOG_NONE */
	double staged[CUDA_STAGING_BUFFERS];  /* ends of the copies that used the driver's staging
	                                         buffers last, newest first */
};

struct replay_gpu {
	const struct replay *replay;
	const struct replay_act *call_events;
	struct replay_stream *streams;
	struct replay_device devices[CALL_LOG_DEVICES];
	uint64_t waits; /* calls so far that wait and are not REPLAY_AHEAD */
	double *done; /* of event records: when what they mark is done; of REPLAY_IN and REPLAY_OUT
	                 copies: their end */
};

/* Marks the acts before which the host was held up. */
void replay_find_stalls(struct replay *r);

void replay_gpu_start(struct replay_gpu *g, const struct replay *r,
                      const struct replay_act *call_events);
void replay_gpu_end(struct replay_gpu *g);

/* When what call `i` waits for is done; -INFINITY: there is nothing. */
double replay_gpu_awaited(const struct replay_gpu *g, size_t i);
/* When what an event record or a host function marks is done. */
double replay_gpu_marked(const struct replay_gpu *g, uint32_t record);
/* What call `i` waits for was done by tick `by`: later estimates are cut. */
void replay_gpu_clip(struct replay_gpu *g, size_t i, double by);
/* When the launch queue of call i's work has fewer than `entries` entries; -INFINITY: it has. */
double replay_gpu_queued(const struct replay_gpu *g, size_t i, uint32_t entries);
/* All on the stream of call i, or of the event that it waits for, is `ns` later than estimated. */
void replay_gpu_shift(struct replay_gpu *g, size_t i, double ns);
/* When what call i's work waits for on the GPU ends, without `space`. */
double replay_gpu_before(const struct replay_gpu *g, size_t i);
/* How much later call i's work starts because the work before it ran on another engine. */
double replay_gpu_switch(const struct replay_gpu *g, size_t i);
/* Call i returned: places its work, or notes its event or host function. The end of the work;
 * -INFINITY: there is none. */
double replay_gpu_issue(struct replay_gpu *g, size_t i, double entry, double returned);
/* When all work is done. */
double replay_gpu_last(const struct replay_gpu *g);

#endif
