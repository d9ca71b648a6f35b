/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is still to do on each stream, call by call: a small account of the GPU for the findings,
 * which ask it at a call. Work begins when its call has returned and what is ahead of it in its
 * stream has ended, and lasts as long as its class does on average; a wait that has returned says
 * that what it waited for has ended.
 *
 * Not `paced`, it is no account of what was but of what could be: each piece of work begins as soon
 * as the streams, events and waits allow, however late the host gave it.
 */
#ifndef REPORT_FLOW_H
#define REPORT_FLOW_H

#include "report/model/call_log.h"

#define FLOW_STREAMS 64u /* with work to do at a time; a program with more is not followed */

struct flow_stream {
	uint32_t stream;     /* index in the call log's streams */
	double until, after; /* when its last work ends; when an event lets it go on; ns */
};

struct flow_event { /* what was ahead of it as it was recorded */
	uint32_t stream;
	double until;
};

struct flow {
	const struct call_log *h;
	bool paced;
	bool alone; /* the legacy default stream and the blocking ones leave one another alone */
	bool full;  /* there were too many streams at a time: nothing here holds */
	struct flow_stream busy[FLOW_STREAMS];
	size_t count;
	struct flow_event *events;
	double base;            /* not paced: the waits so far have returned */
	double pieces, unknown; /* calls that gave work; of these: without a known duration */
};

void flow_start(struct flow *f, const struct call_log *h, bool paced);
void flow_end(struct flow *f);

/* The call has returned. In the order of the call log. */
void flow_add(struct flow *f, const struct call_event *a);

/*
 * When the work given so far ends, of all streams of a device but one (CALL_LOG_NONE: of all).
 * INFINITY: not known; -INFINITY: there is none.
 */
double flow_ends(const struct flow *f, uint32_t device, uint32_t but);
/* When a call that gives work could have begun it: what is ahead of it has ended; -INFINITY: at
 * once. Asked before flow_add(). */
double flow_lets(const struct flow *f, const struct call_event *a);

/* The call gave the GPU work. */
bool flow_is_work(const struct call_event *a);
/* A copy whose call waits for the work ahead of it, and that has been made when it returns. */
bool flow_is_blocking(const struct call_event *a);
/* The call frees memory, or loads or unloads code: all work of the device has ended when it
 * returns. */
bool flow_is_device_wait(const struct call_event *a);
/* The call waits: it is there for that, copies what must be ready then, or frees memory that may be
 * in use. */
bool flow_is_wait(const struct call_event *a);

#endif
