/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recent calls of a process, played again with host and GPU times of their own, so that one
 * thing can be changed and the rest follows. For the what-ifs.
 *
 * First the calls are walked as they were: work is placed on the GPU by the order of its stream,
 * event records and waits, the rules of the legacy default stream, copy engines and the launch
 * latency, and each call's time is divided into what it took itself and what it waited for. That
 * gives struct replay_act. A replay then starts each call after the one before it and lets it wait
 * for what it waits for; unchanged, it comes to the time that the calls really took but for what
 * the model gets wrong.
 *
 * Times are ns. What is not changed in an act keeps its time: a program that would do something
 * else with the time it gains is not foreseen.
 */
#ifndef REPORT_REPLAY_H
#define REPORT_REPLAY_H

#include "report/model/call_log.h"

enum replay_wait {
	REPLAY_NO_WAIT,
	REPLAY_STREAM, /* for the work on its stream */
	REPLAY_DEVICE, /* for all work */
	REPLAY_EVENT,  /* for what an event record marks */
	REPLAY_STAGED, /* a copy by its caller: for the work before it on its stream; it ends when
	                  the call returns */
	REPLAY_BUFFER, /* a copy by its caller: for the copies that have the driver's buffers */
	REPLAY_OWN,    /* for its own work */
};

/* One call, beside its struct call_event. */
struct replay_act {
	double gap;   /* from the return of the call before it to its entry, but for `ours` */
	double ours;  /* time that was cudaspy's, before its entry */
	double own;   /* host time of the call itself; of a staged copy the copying too */
	double late;  /* its return after the end of what it waited for; negative where work is
	                 estimated too long */
	double gpu;   /* of its work, all items */
	double lead;  /* of its work: from the call's return to its start, where nothing holds it */
	double space; /* from the end of the work before it on its stream to its start, where both
	                 are of the same engine of the GPU */
	double shift; /* the queue behind this call was so much later than estimated */
	uint32_t before; /* the call that it follows, of another thread; CALL_LOG_NONE: its thread's
	                    last one */
	uint32_t event;  /* the call that recorded what it waits for, or CALL_LOG_NONE; of a host
	                    function: the call that names its stream */
	uint16_t flags;  /* REPLAY_... */
	uint8_t wait;    /* enum replay_wait */
};
#define REPLAY_SKIP   1u  /* a poll that stands in the one after it */
#define REPLAY_IN     2u  /* a copy that goes ahead of the work before it on its stream */
#define REPLAY_OUT    4u  /* a copy that the work behind it on its stream does not wait for */
#define REPLAY_PART   8u  /* goes to the GPU with the call before it: takes no place in the queue */
#define REPLAY_POLLS  16u /* waits by asking again and again */
#define REPLAY_GUESS  32u /* the time of its work is a guess */
#define REPLAY_READ   64u /* a copy whose end the host waits for outside CUDA */
#define REPLAY_TOLD   128u /* waits, before it is made, until a host function was called */
#define REPLAY_UNSURE 256u /* it may not: its thread may have had other things to do until then */

/* Which end of the interval of each class of work's time the replay takes. */
enum replay_level { REPLAY_MEAN, REPLAY_LOW, REPLAY_HIGH, REPLAY_LEVELS };

struct replay {
	const struct call_log *call_log;
	const struct call_event *given; /* of the call log, from the steady state on */
	struct replay_act *call_events; /* beside them */
	uint32_t *next;                 /* the next call of the same thread, or CALL_LOG_NONE */
	size_t count;
	double base;    /* time that they took, work that was left at the end included */
	double late;    /* usual return after the end of what was waited for */
	double waiting; /* sum of what the waits returned earlier or later than usual: what the
	                   model does not explain */
	double pieces, unknown; /* of work; of these without a known time */
	double gpu;             /* sum of `gpu` */
};

/* Prepares the replay of a process' steady state. Always to be freed. */
void replay_make(struct replay *r, const struct call_log *h, enum replay_level level);
void replay_free(struct replay *r);

/* The time that it takes with these acts (r->count), in place of r->base. */
double replay_run(const struct replay *r, const struct replay_act *call_events);

#endif
