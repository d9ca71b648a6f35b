/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the files of this folder work together: events.c feeds the records, events_given.c remembers
 * what calls gave until it is placed, events_streams.c tells streams apart, events_times.c says how
 * long work takes, events_lay.c where one piece ends and the next begins, events_names.c what
 * calls, kernels, threads and ranges are called.
 */
#ifndef REPORT_MODEL_EVENTS_INTERNAL_H
#define REPORT_MODEL_EVENTS_INTERNAL_H

#include "report/model/events/events.h"
#include "report/model/events/events_store.h"
#include "report/reader/clock.h"
#include "shim/core/drain/drain_feed.h"
#include "shim/core/timeline/timeline.h"

/* ---- what was given, and is not placed yet ---- */

/* More than the timeline knows: with CUPTI the last 131,072 calls. */
#define GIVEN_BITS 18
#define GIVEN_MOST (1u << GIVEN_BITS)

struct events_given {
	struct events_work work; /* what is known of it by its call; `timed`: of an estimate */
	uint64_t cause;          /* 0 = a free place */
	uint64_t start;          /* of the parts so far; 0 = there are none */
	uint64_t takes;          /* ticks, as far as is known; 0 = it is not */
	uint32_t next;           /* with the same hash, or free too: place + 1 */
	uint32_t older, newer;   /* place + 1 */
	bool placed;
};

/* Places are used again at once, the last that became free first: those in use stay in caches. */
struct events_givens {
	struct events_given *all;
	uint32_t *heads; /* by hash: place + 1 */
	uint32_t used;   /* places that ever were */
	uint32_t free, oldest, newest;
	uint64_t unplaced; /* forgotten before */
};

void givens_start(struct events_givens *g);
void givens_end(struct events_givens *g);
/* Room for what a call gives; the oldest is forgotten. */
struct events_given *given_add(struct events_givens *g, uint64_t cause);
struct events_given *given_find(struct events_givens *g, uint64_t cause);
/* Nothing more will be heard of it. */
void given_end(struct events_givens *g, struct events_given *old);
/* Those that were never placed. */
uint64_t givens_unplaced(const struct events_givens *g);

/* ---- streams ---- */

struct events_stream_place;
struct events_streams {
	struct events_stream_place *by_key;
	uint32_t count;
	bool is_default[EVENTS_STREAMS];
};
void streams_end(struct events_streams *s);
/* The index of the stream that a record names. */
uint32_t stream_of(struct events_streams *s, const struct tf_record *r, uint32_t thread,
                   uint32_t device);
/* The handle means another stream from now on. */
void stream_made(struct events_streams *s, const struct tf_record *r);

/* ---- how long work takes ---- */

#define MEASURED_MOST (1u << 20)
#define MEASURED_NS   1e6
struct events_measured {
	uint64_t start; /* entry of the call, or a little before */
	uint64_t cls;
	double ns;
	bool used;
};

struct events_times {
	struct events_class *classes;     /* TF_WORKS */
	struct events_measured *measured; /* by start */
	size_t measured_count;
	uint64_t measured_most; /* ticks from such a start to its call's */
};
void times_find(struct events_times *t, struct recording *r, const struct clock *clock,
                struct events_store *s);
void times_end(struct events_times *t);
/* What events around the work of this call told, once; NaN = nothing. */
double times_measured(const struct events_times *t, unsigned kind, const struct tf_record *r);

/* ---- where pieces that follow one another meet ---- */

struct run;

struct events {
	struct recording *recording, own;
	struct warnings warnings; /* the model has them */
	struct clock clock;
	struct tf_header *header;
	struct tf_work *works; /* the recording's table, or NULL */
	struct tf_thread **threads;
	uint16_t *device; /* current to each thread */
	uint8_t *roles;   /* by call id: enum cuda_role + 1; 0 = not looked for */
	struct events_store store;
	struct events_times times;
	struct events_givens givens;
	struct events_streams streams;
	struct drain drain;
	struct timeline_watch watch;
	const struct events_to *to;
	struct events_figures *figures;
	struct run *runs[TF_DEVICES_TIMED];
	uint32_t number;
	uint64_t tick_most; /* no record ends later */
	bool learns;        /* what is told of how long work takes comes with the records */
};

/* The same as events_open() of a recording that is the caller's: its figures are worth nothing
 * afterwards. */
struct events *events_of(struct recording *r, uint32_t first);

/* Tells a piece that was placed by an estimate, or holds it back until it is known what follows.
 * `expected`: ticks that it takes as far as is known; 0 = it is not. */
void lay_work(struct events *e, const struct events_work *w, uint64_t expected);
/* Tells what was held back. */
void lay_rest(struct events *e);

#endif
