/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a process as a graph would have them: which calls belong to each, which steps do the
 * same work in the same order, and what stands in the way of capturing them. For whatif*.c alone.
 */
#ifndef REPORT_WHATIF_STEPS_H
#define REPORT_WHATIF_STEPS_H

#include "report/analysis/replay/replay.h"
#include "report/analysis/whatif/whatif.h"

#define STEP_PIECES 3u /* pieces of work of a step that is worth capturing */
#define STEP_SEEN   3u /* times that a step's sequence is there: else it is not repeated */
#define STEP_GRAPHS 8u /* different sequences: the most common ones, each a graph of its own */
/* Up to so long may a step's longest stretch outside CUDA be the framework's own (guards, grouping
 * of tensors, hooks), which a graph takes away: of 47 us nearly all went, and 1.6 ms in a program
 * in JAX that was then compiled as a whole; of 2.4 ms hardly anything. Chosen between these. */
#define WHATIF_FRAMEWORK_NS 2e6
/* What is beyond that goes at best to this share (whatif_text.c tells it): in 14 programs with
 * stretches of 2.4 to 57 ms the graph gained 0.70 to 1.17 times what is said where it stays. */
#define WHATIF_STRETCH_GOES 0.2

struct whatif_step {
	double start, end;      /* as a call log's times */
	uint16_t thread;        /* whose step it is; its helpers' calls belong to it too */
	bool repeats;           /* it is one of the sequences to capture */
	uint32_t next;          /* of the same thread, or CALL_LOG_NONE */
	uint32_t pieces, waits; /* waits: points at which the host waits */
	/* The work in its order, with shapes and streams; the same by names alone. */
	uint64_t sequence, names;
	uint32_t stays; /* the call before which the host does what no graph takes away */
	double gap;     /* how long that is, ns; 0 = there is nothing */
};

struct whatif_steps {
	const struct replay *replay;
	struct whatif_step *steps;
	size_t count, repeated; /* in the calls that were kept; of these, to be captured */
	uint32_t *of;           /* of each call: its step, or CALL_LOG_NONE */
	uint32_t *next;         /* the next call of the same steps, or CALL_LOG_NONE */
	uint16_t *leader;       /* of each thread: whose steps its calls belong to */
	bool together;          /* the steps are of all threads */
	uint16_t busiest;       /* the thread that calls most */
	double usual;           /* host time between two calls of a step, the median */
};
#define STEP_NO_THREAD UINT16_MAX

struct model;

/* Of a process (index in the model). Always to be freed. */
void whatif_steps_make(struct whatif_steps *s, const struct model *m, size_t process,
                       const struct replay *r);
void whatif_steps_free(struct whatif_steps *s);

/* Finds which of them are alike; a part of whatif_steps_make(). */
void whatif_steps_compare(struct whatif_steps *s);

/* What goes into the graph. */
bool whatif_step_piece(const struct call_event *a, const struct replay_act *r);
/* The host waits here for the GPU's work; copies to the device are inputs and are none. */
bool whatif_step_wait(const struct call_event *a, const struct replay_act *r);
/* An allocation or free that no graph takes. */
bool whatif_step_divides(const struct call_event *a);

/* What stands in the way of capturing the steps. */
void whatif_steps_blocked(const struct whatif_steps *s, struct whatif_result *to);

#endif
