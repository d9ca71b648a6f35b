/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records that a recording keeps, one after the other once more: each call, what it gave to the
 * GPU and when that ran there, each NVTX range. For exports that draw or list them.
 *
 * When work ran is what CUPTI recorded, or where the timeline of shim/core places it: it is run
 * again over the records, with what is known in the end of how long work takes, and of the work
 * that events stood around with what they told. Memory is bounded whatever the length.
 *
 * The recording is changed (its private copy in memory), and its figures are worth nothing
 * afterwards. Records are not trusted: those that cannot be are counted and left out.
 */
#ifndef REPORT_EVENTS_H
#define REPORT_EVENTS_H

#include "report/reader/clock.h"
#include "report/reader/reader.h"
#include "shim/core/cuda/roles.h"

#define EVENTS_NONE    UINT32_MAX
#define EVENTS_STREAMS 4096u /* told apart; those beyond are taken for one */

struct events_call {
	const struct tf_record *record;
	uint32_t number; /* counts calls, from 1 on */
	uint32_t stream; /* index of a stream; EVENTS_NONE = of none */
	uint16_t thread; /* in table `threads` */
	uint16_t device; /* current to the thread, as far as is known */
	uint8_t cls, level, role;
	bool part;  /* inside the next call of this thread that is none */
	bool works; /* gives the GPU work */
};

/* Whose word a piece's times are. */
enum events_timed {
	EVENTS_BY_CUPTI,
	EVENTS_BY_EVENTS, /* its length: two events of ours stood around it */
	EVENTS_BY_CLASS,  /* its length: the mean of work like it */
	EVENTS_GUESSED    /* its length: nothing like it was ever timed */
};

struct events_work {
	const struct tf_record
	        *record; /* of its call; NULL = not known, and so are the next three */
	uint32_t number;
	uint16_t thread;
	uint32_t stream;
	uint64_t start, end; /* ticks */
	uint32_t cls;        /* its class: index in the recording's table `works`, or EVENTS_NONE */
	uint32_t kernel;     /* index in table `kernels` */
	uint8_t device;
	uint8_t kind; /* enum tf_work_kind */
	uint8_t timed;
	bool node;  /* a graph's */
	bool first; /* of its call */
};

struct events_range {
	const struct tf_record *record;
	uint32_t range;  /* in table `ranges` */
	uint32_t thread; /* in table `threads`; EVENTS_NONE = not known */
};

struct events_to {
	void *to;
	void (*call)(void *to, const struct events_call *c);
	/* Of each stream of a device in the order of their start, or nearly; behind their call. */
	void (*work)(void *to, const struct events_work *w);
	void (*range)(void *to, const struct events_range *r); /* NULL = not asked for */
};

struct events_class { /* of GPU work: what a piece takes, ns, as known in the end; NaN = not known
	               */
	double mean, low, high;
	uint64_t samples;
};

struct events_figures {
	uint64_t records, calls, works, ranges;
	uint64_t unplaced;    /* work that the timeline found no place for */
	uint64_t left_out;    /* records that cannot be */
	uint64_t from, until; /* ticks: the records reach over it; both 0 = there are none */
	bool whole;           /* nothing is older, and nothing between is missing */
};

struct events;

/* `first`: the number before that of the first call. */
struct events *events_open(struct recording *r, const struct clock *clock, uint32_t first);
/* TF_WORKS of them; valid until it is closed. */
const struct events_class *events_classes(const struct events *e);
/* The legacy default stream of a device. */
bool events_stream_is_default(const struct events *e, uint32_t stream);
/* Tells all there is, and what it came to. */
void events_tell(struct events *e, const struct events_to *to, struct events_figures *figures);
/* The number of the last call. */
uint32_t events_last(const struct events *e);
void events_close(struct events *e);

#endif
