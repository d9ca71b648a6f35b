/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulation of the recent calls of a process, in which one thing can be changed to see how long
 * they would take then. For the what-ifs.
 *
 * First the calls are walked as they were recorded: work is placed on the GPU by stream order,
 * event records and waits, the rules of the legacy default stream, copy engines and launch latency;
 * and each call's time is divided into its own and its wait for the GPU. The result is an act for
 * each call (struct replay_act). A replay then lets each call begin after the one before it and
 * wait for what it waited for. Without a change it takes the time that the calls really took, but
 * for errors of the model.
 *
 * Times are ns. What a change does not touch keeps its time: that a program might do something else
 * with the time it gains is not foreseen.
 */
#ifndef REPORT_REPLAY_H
#define REPORT_REPLAY_H

#include "report/model/call_log.h"

enum replay_wait {
	REPLAY_NO_WAIT,
	REPLAY_STREAM, /* for the work on its stream */
	REPLAY_DEVICE, /* for all work */
	REPLAY_EVENT,  /* for what an event record marks */
	REPLAY_STAGED, /* a staged copy that holds its caller: for the work before it on its stream;
	                  it ends when the call returns */
	REPLAY_BUFFER, /* a staged copy that does not: for the copies that use the driver's buffers
	                */
	REPLAY_OWN,    /* for its own work */
};

/* One call, beside its struct call_event. */
struct replay_act {
	double gap;  /* from the return of the call that it follows to its entry, less `ours` */
	double ours; /* time that cudaspy took before its entry */
	double own;  /* host time of the call itself; of a staged copy the copying too */
	double late; /* from the end of what it waited for to its return; negative where that end is
	                estimated too late */
	double gpu;  /* time of its work on the GPU, all items */
	double lead; /* from its return to the start of its work on an idle GPU */
	double space; /* from the end of the work before on its stream to the start of its own, on
	                 the same engine */
	double shift; /* correction: its stream is so much later than estimated, from this call on
	               */
	uint32_t before; /* the call that it follows, of another thread; CALL_LOG_NONE: its thread's
	                    last one */
	uint32_t event;  /* the call that recorded what it waits for, or CALL_LOG_NONE; of a host
	                    function: the call that names its stream; what-if: of a record: the
	                    copy whose end alone it marks */
	uint32_t held; /* the call of another thread that had the driver's lock, or CALL_LOG_NONE */
	double let_go; /* from the return of that call to its own */
	uint16_t flags; /* REPLAY_... */
	uint8_t wait;   /* enum replay_wait */
};
#define REPLAY_SKIP 1u /* a query repeated by the thread's next call, which stands for both */
#define REPLAY_IN   2u /* what-if: a copy that does not wait for the work before it on its stream */
#define REPLAY_OUT                                                                                 \
	4u              /* what-if: a copy that the work behind it on its stream does not wait for \
	                 */
#define REPLAY_PART  8u /* what-if: one launch with the call before it: no entry in the queue */
#define REPLAY_POLLS 16u /* waits by asking again and again */
#define REPLAY_GUESS 32u /* the time of its work is a guess */
#define REPLAY_READ  64u /* a copy whose end the host waits for outside CUDA */
/* Calls from such a copy to the next work, at most. */
#define REPLAY_LOOK_AHEAD 512u
#define REPLAY_TOLD                                                                                \
	128u               /* its thread waited for a host function to run before it made the call \
	                    */
#define REPLAY_UNSURE 256u /* or it did not, and was busy with other things until then */
#define REPLAY_ALONE                                                                               \
	512u /* what-if: a copy whose end its own event marks alone, and that event's record */
#define REPLAY_AHEAD                                                                               \
	1024u /* what-if: with REPLAY_IN, a copy that is given a step ahead: when the copies were  \
	       * that the work before it needed */
#define REPLAY_STALLED                                                                             \
	2048u /* the host was held up before it (replay_stalls.c): no work of the program's */

/* More time than this (ns) between two calls is not the cost of issuing them, as a framework has
 * it, but work of its own, or the host was held up. */
#define REPLAY_LONGEST_GAP 100e3

/* GPU time of each class of work: its mean, or the low or high end of its interval. */
enum replay_level { REPLAY_MEAN, REPLAY_LOW, REPLAY_HIGH, REPLAY_LEVELS };

struct replay {
	const struct call_log *call_log;
	const struct call_event *given; /* of the call log, from the steady state on */
	struct replay_act *call_events; /* beside them */
	uint32_t *next;                 /* the next call of the same thread, or CALL_LOG_NONE */
	size_t count;
	double base;    /* time that they took, up to the end of their last work, and `around` */
	double around;  /* before the first of them and behind that end, of the time of which all
	                   calls are there: no change takes it away. 0 where the calls, by far most
	                   of it, stand for it too */
	double late;    /* median of `late` over the waits */
	double waiting; /* sum over the waits of |late - median|: what the model does not explain */
	double pieces, unknown; /* of work; of these without a known time */
	double gpu;             /* sum of `gpu` */
	double stalled;         /* sum of the gaps that are REPLAY_STALLED */
	size_t stalls;          /* ... and how many they are */
};

/* Prepares the replay of a process' steady state. Always to be freed. */
void replay_make(struct replay *r, const struct call_log *h, enum replay_level level);
void replay_free(struct replay *r);

/* How long the calls take with these acts (r->count of them), to be compared with r->base. */
double replay_run(const struct replay *r, const struct replay_act *call_events);

#endif
