/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/gpu_time/weights.h"

#include <math.h>
#include "shim/core/work/work_class.h"

#define RECENT  8.0 /* pairs that tell how long work takes now */
#define NS_MOST 1e15

/* ---- where ---- */

static uint32_t *place_of(const struct tf_map *map, const struct tf_work *w)
{
	uint32_t index = work_index(map, w);
	struct tf_weight_places *p = tf_at(map, tf_header(map)->weights, sizeof(*p));

	return p && index < TF_WORKS ? &p->at[index] : NULL;
}

struct tf_weights *weights_of(const struct tf_map *map, const struct tf_work *w)
{
	const uint32_t *at = place_of(map, w);

	return at ? tf_at(map, (uint64_t)*at * TF_PLACE_BYTES, sizeof(struct tf_weights)) : NULL;
}

struct tf_weights *weights_make(struct tf_map *map, const struct tf_work *w)
{
	struct tf_header *h = tf_header(map);

	if (!h->weights)
		h->weights = map->alloc(map, sizeof(struct tf_weight_places));
	uint32_t *at = place_of(map, w);
	if (!at)
		return NULL;
	if (!*at) {
		uint64_t offset = map->alloc(map, sizeof(struct tf_weights));
		if (offset / TF_PLACE_BYTES <= UINT32_MAX)
			*at = (uint32_t)(offset / TF_PLACE_BYTES);
	}
	return weights_of(map, w);
}

/* ---- the sums ---- */

static double square(double x)
{
	return x * x;
}

/* What the end of a series adds to the sums of the ends; `sign` -1: it is one no more. */
static void add_end(struct tf_weights *to, const struct weights_series *s, double sign)
{
	double spread = s->spread;

	if (spread < 0)
		spread = 0;
	to->end_weight[s->regime] += sign * s->gap;
	to->end_ns += sign * s->gap * s->ns;
	to->end_squares += sign * square(s->gap);
	to->end_both += sign * s->half * s->gap;
	to->end_spread += sign * square(s->gap) * spread;
	to->end_both_spread += sign * s->half * s->gap * spread;
	to->end_apart_ns += sign * square(s->gap) * s->ns;
	to->end_apart += sign * square(s->gap * s->ns);
}

/* A pair counts for `more` than it did. */
static void add_weight(struct tf_weights *to, struct weights_series *s, double more)
{
	double squares = square(s->half + more) - square(s->half);

	s->half += more;
	to->weight[s->regime] += more;
	to->sum_ns += more * s->ns;
	to->squares += squares;
	if (s->spread < 0)
		return;
	to->told += squares;
	to->spread += squares * s->spread;
}

/* The difference to a neighbour becomes known. */
static void tell(struct tf_weights *to, struct weights_series *s, double other)
{
	s->spread = square(s->ns - other) / 2;
	to->told += square(s->half);
	to->spread += square(s->half) * s->spread;
}

static void add_recent(struct tf_weights *to, int regime, double ns)
{
	double part = 1 / (to->pairs < RECENT ? (double)to->pairs : RECENT);

	to->recent_ns += part * (ns - to->recent_ns);
	to->recent_busy += part * ((regime == TF_PAIR_BUSY) - to->recent_busy);
}

/* Launches that the first pair of a series stands for. Where a series was lost sight of (a table
 * was full, another process goes on), those before were counted: no more than are left. */
static double first_gap(const struct tf_weights *to, uint64_t nth, uint64_t count)
{
	uint64_t left = count > to->covered ? count - to->covered : 1;

	return (double)(nth < left ? nth : left);
}

void weights_add(struct tf_weights *to, struct weights_series *s, uint64_t nth, uint64_t count,
                 int regime, double ns)
{
	bool first = !s->nth;

	if (nth <= s->nth || to->pairs == UINT32_MAX)
		return;
	double gap = first ? first_gap(to, nth, count) : (double)(nth - s->nth);
	if (first) {
		s->before[TF_PAIR_IDLE] = s->before[TF_PAIR_BUSY] = -1;
	} else {
		add_end(to, s, -1);
		add_weight(to, s, gap / 2);
		if (s->spread < 0 && s->regime == regime)
			tell(to, s, ns);
	}
	s->nth = nth;
	s->ns = ns;
	s->gap = gap;
	s->regime = regime;
	s->half = 0;
	s->spread = -1;
	add_weight(to, s, first ? gap : gap / 2);
	if (s->before[regime] >= 0)
		tell(to, s, s->before[regime]);
	s->before[regime] = ns;
	add_end(to, s, 1);
	to->covered += (uint64_t)gap;
	to->pairs++;
	add_recent(to, regime, ns);
}

/* ---- the mean ---- */

/*
 * The variance of the ends' mean by how many launches are behind each. That they are proportional
 * to the distance g ahead of it is a guess: both are taken to vary by as much as themselves, by
 * chance and since a busy machine spoils samples.
 */
static double apart(const struct tf_weights *w, double ends)
{
	double ns = w->end_ns / ends,
	       sum = w->end_apart - 2 * ns * w->end_apart_ns + square(ns) * w->end_squares;

	return sum > 0 ? 2 * sum / square(ends) : 0;
}

bool weights_mean(const struct tf_weights *w, uint64_t count, struct weights_mean *mean)
{
	double ends = w->end_weight[TF_PAIR_IDLE] + w->end_weight[TF_PAIR_BUSY], tail = 0, sum = 0;

	if (!w->pairs)
		return false;
	if (count > w->covered && ends >= 0.5)
		tail = (double)(count - w->covered) / ends;
	for (int i = 0; i < TF_PAIRS; i++) {
		mean->share[i] = w->weight[i] + tail * w->end_weight[i];
		sum += mean->share[i];
		if (!(mean->share[i] >= 0))
			return false;
	}
	double more = 2 * tail * w->end_both + square(tail) * w->end_squares,
	       squares = w->squares + more,
	       spread = w->spread + 2 * tail * w->end_both_spread + square(tail) * w->end_spread;
	mean->ns = (w->sum_ns + tail * w->end_ns) / sum;
	mean->degrees = square(sum) / squares;
	/* Of a damaged file. */
	if (!(sum > 0 && sum < 1e18) || !(mean->ns >= 0 && mean->ns < NS_MOST) ||
	    !(mean->degrees > 0 && mean->degrees < 1e18))
		return false;
	for (int i = 0; i < TF_PAIRS; i++)
		mean->share[i] /= sum;
	mean->piece = w->told > 0 ? spread / (w->told + more) : NAN;
	if (!(mean->piece >= 0 && mean->piece < square(NS_MOST)))
		mean->piece = NAN;
	/* Recordings made before have no sums of it. */
	mean->division =
	        tail > 0 && w->end_apart > 0 ? apart(w, ends) * square(tail * ends / sum) : 0;
	if (!(mean->division < square(NS_MOST)))
		mean->division = 0;
	mean->variance = mean->piece / mean->degrees + mean->division;
	return true;
}

bool weights_recent(const struct tf_weights *w, struct weights_mean *mean)
{
	if (!w->pairs || !(w->recent_ns >= 0 && w->recent_ns < NS_MOST) ||
	    !(w->recent_busy >= 0 && w->recent_busy <= 1))
		return false;
	mean->ns = w->recent_ns;
	mean->share[TF_PAIR_IDLE] = 1 - w->recent_busy;
	mean->share[TF_PAIR_BUSY] = w->recent_busy;
	return true;
}
