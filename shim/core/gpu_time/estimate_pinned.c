/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/gpu_time/estimate_pinned.h"

#include <math.h>
#include "shim/core/work/work_class.h"

#define BUS_BYTES  (1u << 20) /* of a pinned copy that tells what the bus lets through */
#define CONTRADICT 3.0        /* standard deviations between two figures for the same */
/* How often a copy engine is asleep: for one pair, all of them where they are alike; so many tell
 * enough. Standard deviation: 0.9 us where all were alike, 2 to 3.5 us where some were awake. */
#define ASLEEP_ONE       0.6
#define ASLEEP_ALIKE     (ESTIMATE_ENGINE_NS / CUDA_WAKE_NS)
#define ASLEEP_PAIRS     16
#define ASLEEP_DIFFER_NS 1300.0
/* The bus may be another than was thought: so much counts a case that does not fit it. */
#define FIT_LEAST 0.02
/* In a pair around a copy, beside its bytes: what it costs, and the copy's start. */
#define BESIDE_NS 5000.0

bool estimate_is_pinned(const struct tf_work *w)
{
	return w->kind == TF_WORK_COPY && w->memory == SPY_MEM_PINNED &&
	       (w->direction == SPY_DIR_HTOD || w->direction == SPY_DIR_DTOH) &&
	       estimate_path(w) == ESTIMATE_ENGINE;
}

bool estimate_tells_bus(const struct tf_work *w)
{
	return estimate_is_pinned(w) && w->size >= work_size_bucket(BUS_BYTES);
}

static double square(double x)
{
	return x * x;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* e to the -x for x >= 0, near enough for a weight. */
static double decay(double x)
{
	return 1 / square(square(square(1 + x / 8)));
}

/* Bytes of the copies that a class's pairs are told of. */
static double floor_of(const struct tf_work *w)
{
	return (double)work_size_floor(w->size);
}

double estimate_pair_ns(const struct tf_work *w, uint64_t bytes, double ns)
{
	double least = floor_of(w);

	if (!estimate_is_pinned(w) || !(least > 0) || !((double)bytes > least) || ns <= BESIDE_NS)
		return ns;
	return BESIDE_NS + (ns - BESIDE_NS) * (least / (double)bytes);
}

/* What copies of so many bytes take on the bus, and beside it. */
static struct estimate_mean by_bytes(const struct estimate_bus *bus, double start, double bytes)
{
	double on_bus = bytes / bus->rate;
	/* from least to most: four standard deviations */
	double off = on_bus * (bus->most - bus->least) / bus->rate / 4;

	if (!(bus->rate > 0))
		return (struct estimate_mean){NAN, NAN};
	return (struct estimate_mean){start + on_bus, square(ESTIMATE_BESIDE_SD_NS) + square(off)};
}

/* The pairs of a class of pinned copies, each less what it costs where the engine is awake. */
struct awake {
	double count, least, spread; /* `spread`: variance of one pair */
	struct estimate_mean mean;
};

static bool awake_of(const struct estimate_costs *costs, const struct tf_work *w, struct awake *a)
{
	double sum = 0, squares = 0;

	*a = (struct awake){.least = INFINITY};
	for (int regime = 0; regime < TF_PAIRS; regime++) {
		const struct tf_pairs *p = &w->pairs[regime];
		if (!estimate_pairs_good(p))
			continue;
		double n = (double)p->count, cost = costs->cost[ESTIMATE_KERNEL][regime].least,
		       least = smaller((double)p->least_ns, p->sum_ns / n) - cost;
		a->count += n;
		sum += p->sum_ns - n * cost;
		squares += p->sum_squares - 2 * cost * p->sum_ns + n * square(cost);
		if (least < a->least)
			a->least = least;
	}
	if (!(a->count > 0))
		return false;
	a->mean.ns = sum / a->count;
	if (a->count > 1)
		a->spread = (squares - sum * a->mean.ns) / (a->count - 1);
	if (!(a->spread > square(ESTIMATE_PAIR_SD_NS)))
		a->spread = square(ESTIMATE_PAIR_SD_NS);
	a->mean.variance = a->spread / a->count;
	return true;
}

/* How likely the engine was asleep for the shortest of so many pairs: where they differ as pairs of
 * either kind do, or more, hardly. */
static double asleep_of(const struct awake *a)
{
	double differ = square(a->spread / square(ASLEEP_DIFFER_NS)), all = 1;

	for (double n = 0; n < a->count && n < ASLEEP_PAIRS; n++)
		all *= ASLEEP_ONE;
	if (!(differ < 1e9))
		return all;
	return all + (ASLEEP_ALIKE - all) / (1 + differ);
}

/* One case: the shortest pair says `pair`. Joins what the bytes say, unless they contradict;
 * multiplies *weight by how well the two fit. */
static struct estimate_mean join(struct estimate_mean pair, struct estimate_mean bytes,
                                 double *weight)
{
	double sum = pair.variance + bytes.variance,
	       apart = square(pair.ns - bytes.ns) / sum; /* of NaN: nothing is known of the bus */

	if (!(apart >= 0))
		return pair;
	double fit = decay(apart / 2);
	*weight *= fit > FIT_LEAST ? fit : FIT_LEAST;
	if (apart > square(CONTRADICT))
		return pair;
	return (struct estimate_mean){
	        pair.ns + pair.variance / sum * (bytes.ns - pair.ns),
	        pair.variance * bytes.variance / sum,
	};
}

/* Both cases, by how likely each is. */
static struct estimate_mean shortest(const struct awake *a, struct estimate_mean bytes)
{
	double up = asleep_of(a), weight[] = {1 - up, up};
	struct estimate_mean awake = {a->least, square(ESTIMATE_AWAKE_SD_NS)},
	                     asleep = {a->least - CUDA_WAKE_NS,
	                               awake.variance + square(ESTIMATE_WAKE_SD_NS)};

	awake = join(awake, bytes, &weight[0]);
	asleep = join(asleep, bytes, &weight[1]);
	up = weight[1] / (weight[0] + weight[1]);
	double ns = awake.ns + up * (asleep.ns - awake.ns);
	return (struct estimate_mean){ns, (1 - up) * (awake.variance + square(awake.ns - ns)) +
	                                          up * (asleep.variance + square(asleep.ns - ns))};
}

struct estimate_mean estimate_pinned(const struct estimate_costs *costs, const struct tf_work *w)
{
	bool to_host = w->direction == SPY_DIR_DTOH;
	const struct estimate_bus *bus = &costs->bus[to_host];
	double start = estimate_start_ns(to_host), bytes = floor_of(w),
	       mean = w->count ? (double)w->bytes / (double)w->count : NAN;
	struct awake a;

	if (!awake_of(costs, w, &a))
		return by_bytes(bus, start, mean);
	if (estimate_tells_bus(w)) /* they would confirm themselves */
		bus = &costs->told;
	struct estimate_mean m = shortest(&a, by_bytes(bus, start, bytes));
	/* How much of the others' length is the copies' own is not known for sure. */
	double above = a.mean.ns - a.least;
	if (above > ESTIMATE_WAKE_MOST_NS)
		m.ns += above - ESTIMATE_WAKE_MOST_NS;
	m.variance += square(above / 3) + a.mean.variance;
	if (bytes > 0 && mean > bytes && m.ns > start) {
		m.ns = start + (m.ns - start) * (mean / bytes);
		m.variance *= square(mean / bytes);
	}
	return m;
}
