/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of a stretch of events that may mark steps, and how much alike what lies between two
 * occurrences of each is. Found in two passes over the events. For steps_marker.c, which chooses
 * among them.
 */
#ifndef SPY_STEPS_CANDIDATES_H
#define SPY_STEPS_CANDIDATES_H

#include "shim/core/steps/steps_found.h"

#define LOOK_SYMBOLS 2048u /* different ones in one look; others mark no steps */
#define LOOK_SLOTS   8192u
#define OCCUR_MANY   12u
#define ALIKE_FEW    0.95 /* where the marker occurs less than OCCUR_MANY times */

#define ANCHORS 3u

struct steps_candidate { /* a symbol that may be the marker */
	uint32_t symbol;
	uint8_t cls;
	uint64_t id;
	uint32_t seen, first, last; /* occurrences; events before the first and last one */
	/* Of those that may mark steps by how often they occur: */
	bool compare;
	uint32_t met, at; /* occurrences compared so far; events before the last of them */
	uint32_t last_length;
	uint32_t anchored[ANCHORS]; /* pieces that hold such an anchor */
	uint32_t anchors_at[ANCHORS];
	uint64_t differ, compared; /* sums over pairs of neighbours among what lies between */
	/* Counts modulo 65536: what lies between two occurrences is less. */
	uint16_t so_far[STEP_BUCKETS], segment[STEP_BUCKETS];
};

struct steps_look {
	uint32_t count, anchors;    /* candidates; waits and uploads among the events */
	uint16_t slots[LOOK_SLOTS]; /* by symbol: index in `candidates` + 1 */
	struct steps_candidate candidates[LOOK_SYMBOLS];
};

/* Finds the candidates among the events from number `from` on, which are kept, pairs of events too
 * where d->pairs says so, and compares those that occur as a marker does. How many of the events
 * have symbols; 0 = nothing was compared. */
uint32_t steps_compare(struct steps_look *l, const struct steps_detector *d, uint64_t from);

/* A symbol's candidate; NULL = it has none. */
struct steps_candidate *steps_candidate_of(struct steps_look *l, uint32_t symbol);

static inline double alike_of(const struct steps_candidate *c)
{
	return c->compared ? 1 - (double)c->differ / (double)c->compared : 0;
}

static inline double length_of(const struct steps_candidate *c)
{
	return (double)(c->last - c->first) / (c->seen - 1);
}

/*
 * How much alike what lies between must be. Of many symbols without any order some come at even
 * distances a few times by chance, and long stretches of the same mixture are alike: few
 * occurrences must be the more exact.
 */
static inline double alike_least(const struct steps_candidate *c)
{
	return c->seen < OCCUR_MANY ? ALIKE_FEW : ALIKE_LEAST;
}

static inline bool may_mark(const struct steps_candidate *c)
{
	return c->compare && alike_of(c) >= alike_least(c);
}

#endif
