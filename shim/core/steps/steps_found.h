/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of finding steps, for its own files: steps_found.c (the threads looked at, and their
 * events), steps_marker.c (the look over them that chooses a marker), steps_loop.c (the steps
 * that a marker makes).
 */
#ifndef SPY_STEPS_FOUND_H
#define SPY_STEPS_FOUND_H

#include "shim/core/steps/steps.h"

#define STEP_HISTORY                                                                               \
	65536u              /* events kept of a thread: 3 MiB, of which only what is used counts   \
	                     */
#define STEP_BUCKETS  32u   /* what symbols are counted by when steps are compared */
#define STEP_ODD_MOST 3u    /* odd steps in a row: from now on they are the rule */
#define LOOK_SYMBOLS  2048u /* different ones in one look; others mark no steps */
#define LOOK_SLOTS    8192u
#define ALIKE_LEAST   0.75 /* steps of a loop, on average */

/* 0 = none. The coarse one says which kernel, graph, kind of copy, or wait; the fine one also the
 * launch's shape or the copy's size. Apart from the events: a look goes over all of them. */
struct steps_symbols {
	uint32_t coarse, fine;
};

struct steps_event {
	uint64_t start, end, bytes;
	uint32_t id; /* as tf_loop.marker */
	uint16_t items;
	uint8_t cls, pageable;
};

struct steps_segment { /* a step */
	uint64_t start, end;
	uint64_t events; /* with a symbol */
	struct tf_counts counts;
	uint32_t buckets[STEP_BUCKETS];
};

struct steps_detector { /* of one thread */
	bool used;
	bool no_more;      /* there is no room for another loop */
	bool marker_waits; /* the marker is a wait */
	bool whole;        /* its steps are told from the thread's first event on */
	bool inside;       /* `now` is a step under way */
	bool has_typical, first_waits;
	uint32_t thread;
	uint32_t marker; /* symbol; 0 = undecided */
	uint32_t loop;
	uint32_t held_count;
	/* the last launch: what told it from others, and its symbols; 0 = there was none */
	uint64_t launch[3];
	struct steps_symbols launch_symbols;
	uint64_t count;  /* events ever; the last STEP_HISTORY of them are in `events` */
	uint64_t looked; /* events when last looked over */
	uint64_t last_end;
	struct steps_segment now, typical;        /* typical: the last one that was not odd */
	struct steps_segment held[STEP_ODD_MOST]; /* odd ones since */
	struct steps_segment cut; /* `now` when it had as many events as the typical one */
	struct steps_symbols symbols[STEP_HISTORY];
	struct steps_event events[STEP_HISTORY];
};

struct steps_candidate { /* a symbol that may be the marker */
	uint32_t symbol;
	uint8_t cls;
	uint64_t id;
	uint32_t seen, first, last; /* occurrences; events before the first and last one */
	/* Of those that may mark steps by how often they occur: */
	bool compare;
	uint32_t met, at; /* occurrences compared so far; events before the last of them */
	uint32_t last_length;
	uint64_t differ, compared; /* sums over pairs of neighbours among what lies between */
	/* Counts modulo 65536: what lies between two occurrences is less. */
	uint16_t so_far[STEP_BUCKETS], segment[STEP_BUCKETS];
};

struct steps_look {
	uint32_t count;
	uint16_t slots[LOOK_SLOTS]; /* by symbol: index in `candidates` + 1 */
	struct steps_candidate candidates[LOOK_SYMBOLS];
};

/* ---- the events kept ---- */

static inline const struct steps_event *event_at(const struct steps_detector *d, uint64_t n)
{
	return &d->events[n % STEP_HISTORY];
}

static inline const struct steps_symbols *symbols_at(const struct steps_detector *d, uint64_t n)
{
	return &d->symbols[n % STEP_HISTORY];
}

static inline uint64_t first_kept(const struct steps_detector *d)
{
	return d->count > STEP_HISTORY ? d->count - STEP_HISTORY : 0;
}

/* ---- steps_marker.c ---- */

/* Looks over the events kept, and takes another marker where a better one is among them. What was
 * in the look before does not matter. */
void steps_look(struct steps_look *l, struct steps_detector *d, struct tf_map *map);

/* ---- steps_loop.c ---- */

/* Event `n`, which is kept, comes to a detector with a marker. */
void steps_walk(struct steps_detector *d, struct tf_map *map, uint64_t n);
/* From now on the candidate marks the thread's steps: those among the events kept are found anew,
 * but for what an older marker has told of events that are kept no more. */
void steps_take_marker(struct steps_detector *d, struct tf_map *map,
                       const struct steps_candidate *c);
/* No event comes any more: ends the last step, if what came after the loop does not hide it. */
void steps_end_last(struct steps_detector *d, struct tf_map *map);

#endif
