/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU of a replay: streams, events, engines and queues, as far as their times go. For
 * replay*.c alone.
 */
#ifndef REPORT_REPLAY_INTERNAL_H
#define REPORT_REPLAY_INTERNAL_H

#include "report/analysis/replay/replay.h"
#include "shim/core/cuda/engines.h"
#include "shim/core/gpu_time/estimate.h"
#include "shim/core/work/work_class.h"

/* As fmax(), which is a call: none of these times is a NaN. */
static inline double later(double a, double b)
{
	return a > b ? a : b;
}

struct replay_queue { /* of a stream, for an engine */
	double *ends; /* of the last CUDA_QUEUE_ENTRIES entries; NULL: it never had as many */
	uint64_t entries;
};

struct replay_stream {
	double tail;   /* end of its last work */
	double wait;   /* end of what it was told to wait for */
	double side;   /* end of copies that its work does not wait for */
	double offset; /* what was found later than estimated, of all before */
	struct replay_queue queues[CUDA_ENGINES];
	enum cuda_engine engine; /* of its last work */
	uint32_t device;
	bool legacy, blocking;
	bool function; /* of the host's, with no work behind it */
};

struct replay_device {
	double tail;
	uint32_t tail_stream;
	double legacy, blocking;             /* ends of the work that each of the two waits for */
	double engine[CUDA_ENGINES];         /* ends of copies to the device and from it */
	double staged[CUDA_STAGING_BUFFERS]; /* of those that have the driver's buffers, last first
	                                      */
};

struct replay_gpu {
	const struct replay *replay;
	const struct replay_act *call_events;
	struct replay_stream *streams;
	struct replay_device devices[CALL_LOG_DEVICES];
	double *done; /* of event records: when what they mark is done */
};

void gpu_start(struct replay_gpu *g, const struct replay *r, const struct replay_act *call_events);
void gpu_end(struct replay_gpu *g);

/* When what call `i` waits for is done; -INFINITY: nothing is there. */
double gpu_awaited(const struct replay_gpu *g, size_t i);
/* When what an event record or a host function marks is done. */
double gpu_marked(const struct replay_gpu *g, uint32_t record);
/* It turned out done by then. */
void gpu_clip(struct replay_gpu *g, size_t i, double by);
/* When the queue that call i's work goes to has fewer than `entries` entries; -INFINITY: it always
 * had. */
double gpu_queued(const struct replay_gpu *g, size_t i, uint32_t entries);
/* The stream of call i, or of the event that it waits for, is so much later than estimated. */
void gpu_shift(struct replay_gpu *g, size_t i, double ns);
/* What call i's work waits for on the GPU, but for the space behind the work before it. */
double gpu_before(const struct replay_gpu *g, size_t i);
/* What call i's work starts later where the work before it on its stream is of another engine. */
double gpu_switch(const struct replay_gpu *g, size_t i);
/* The call returned: its work, its event. The end of the work; -INFINITY: none. */
double gpu_issue(struct replay_gpu *g, size_t i, double entry, double returned);
/* When all work is done. */
double gpu_last(const struct replay_gpu *g);

#endif
