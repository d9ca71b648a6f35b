/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each event pair of a class stands for, and the mean that follows: struct tf_weights has the
 * sums. For the drain, which feeds them pair by pair in bounded memory, and estimate.h.
 */
#ifndef SPY_WEIGHTS_H
#define SPY_WEIGHTS_H

#include "shim/core/format/trace_map.h"

/* The last pair of a series. Zeroed: none yet. */
struct weights_series {
	uint64_t nth;   /* which launch of its series; 0 = none */
	double ns, gap; /* the pair; launches since the one before it */
	double half;    /* what it counts for so far */
	double spread;  /* half of its squared difference to a neighbour; below 0: none known */
	double before[TF_PAIRS]; /* the last of each kind; below 0: none */
	int regime;
};

/* The sums of a class; NULL where it has none. weights_make() makes them; NULL: no room. */
struct tf_weights *weights_of(const struct tf_map *map, const struct tf_work *w);
struct tf_weights *weights_make(struct tf_map *map, const struct tf_work *w);

/* The next pair of a series, at its nth launch; `count`: launches of the class so far. One that
 * comes out of order is left out. */
void weights_add(struct tf_weights *to, struct weights_series *series, uint64_t nth, uint64_t count,
                 int regime, double ns);

/* By the pairs, in which what they cost still is. */
struct weights_mean {
	double ns;
	double variance;        /* of the mean, by chance; NaN: not known */
	double division;        /* the part of it that is how launches behind the last pairs of
	                           several series were divided among these; 0: of one series */
	double degrees;         /* of freedom: so many pairs of equal weight tell as much */
	double piece;           /* variance of one piece beside its neighbours; NaN: not known */
	double share[TF_PAIRS]; /* of the weight: pairs on an idle and on a busy stream */
};

/* False where there is none. `count`: launches of the class. */
bool weights_mean(const struct tf_weights *w, uint64_t count, struct weights_mean *mean);

/* The same of the last pairs alone: only `ns` and `share`. */
bool weights_recent(const struct tf_weights *w, struct weights_mean *mean);

#endif
