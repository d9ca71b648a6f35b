/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/base/stats.h"
#include "report/model/model_gpu_pool.h"
#include "shim/core/gpu_time/weights.h"
#include "shim/core/work/work_class.h"

/*
 * Constants of the method beside those of estimate.h, ns. Measured on an H200, driver 580.159,
 * 2026-11-21, event pairs beside CUPTI's records of the same work; results in tests/gpu/results.
 */
/* What no sample shows: pairs lie about CUPTI's time of the same class by 0.25 us or 1 % and less
 * in 9 of 10 classes of PyTorch programs on an H200. The former is of the kind of GPU: gpu_kinds.h.
 */
#define SYSTEMATIC_SHARE  0.01
#define OFF_ON_AN_H200_NS 250.0
#define ENGINES_ELSEWHERE 1.6 /* assumed: wider by so much */

/* A graph starts otherwise than a kernel does: one of three kernels, a set and two copies came
 * out 2.1 us too short on one H200 and 2.7 too long on another, which is two standard deviations.
 */
#define GRAPH_START_NS 2600.0
/* Copies within a device came out 0.2 to 0.5 us too long. */
#define DEVICE_COPY_LESS_NS 500.0
/* Pinned copies of 4 bytes to the device, which the front end does, 0.4 to 0.5 us (JAX, an H100).
 */
#define FRONT_COPY_LESS_NS 550.0

/* On another H200, where a pair costs 1.6 us more, what the front end does (small sets, small
 * copies from pageable memory) came out 540 to 740 ns too long: a pair around it costs what it does
 * around a kernel. */
#define INLINE_LESS_NS 750.0

/* Assumed, not measured: where neither a link nor a copy tells the bus, PCIe 4 x16, bytes a ns. */
#define BUS_ASSUMED 25.0
/* A copy that holds its staging goes at what copies reach there, or so much faster. */
#define BUS_BELOW 0.3
/*
 * So much less, and more, a copy takes that no pair stands around: mostly one of a kind, as a
 * program begins. By CUPTI 19 kinds to the device, of 3 KiB to 64 MiB, took 0.33 to 2.0 times what
 * the bus tells, one 6.3; 14 kinds to the host 0.96 to 1.11, one 1.55 (JAX; H100 and H200).
 */
static const double untimed_below[] = {0.7, 0.3}, untimed_above[] = {1.1, 0.6};

#define DEVIATION_LEAST 0.5
#define OTHERS_COUNT    2.0
#define FEW_DEGREES     8.0
/* Of a class whose pieces differ the likelier length is taken to come up so often: so many pairs
 * are alike by chance. What is less likely than CHANCE_LEAST is left out of a 95 % interval. */
#define LIKELIER     0.8
#define CHANCE_LEAST 0.025

static double normal_95(double deviation)
{
	return stats_student_95(1e9) * deviation;
}

/* A cost and half of its interval: by Student where it was calibrated, else as the constants vary.
 */
static struct model_pair_cost told_of(const struct estimate_cost *cost,
                                      const struct estimate_cost *base, enum estimate_path path)
{
	double deviation = sqrt(fmax(0, base->variance));
	double half = base->count > 1 ? stats_student_95((double)base->count - 1) * deviation
	                              : normal_95(deviation);

	if (path == ESTIMATE_ENGINE)
		half = hypot(half, normal_95(ESTIMATE_ENGINE_SD_NS));
	return (struct model_pair_cost){fmax(0, cost->ns), half};
}

/* What an engine's pair rests on is a kernel's. */
static enum estimate_path base_of(enum estimate_path path)
{
	return path == ESTIMATE_ENGINE ? ESTIMATE_KERNEL : path;
}

/* What a pair around this class's work costs; of a staged copy, the least that it can. */
static void costs_of(const struct tf_work *w, enum pool_method method,
                     const struct model_calibration *c, struct model_pair_cost to[TF_PAIRS])
{
	enum estimate_path path = method == POOL_BOUND ? ESTIMATE_INLINE : estimate_path(w);

	for (int regime = 0; regime < TF_PAIRS; regime++) {
		struct estimate_cost cost = estimate_cost_of(&c->costs, path, w,
		                                             (enum tf_pair)regime),
		                     base = estimate_cost_of(&c->costs, base_of(path), w,
		                                             (enum tf_pair)regime);
		to[regime] = told_of(&cost, &base, path);
	}
}

/* By its bytes, where the bus is known; NaN. */
static double by_bus(const struct tf_work *w, const struct model_calibration *c)
{
	bool to_host = w->direction == SPY_DIR_DTOH;

	if ((!to_host && w->direction != SPY_DIR_HTOD) || !w->count)
		return NAN;
	return estimate_start_ns(to_host) +
	       (double)w->bytes / (double)w->count / c->costs.bus[to_host].rate;
}

/* The pair holds the host's staging: it is the most that the copy took. */
static void bound(struct model_work_time *t, const struct tf_work *w,
                  const struct model_calibration *c)
{
	double top = t->mean + t->random + t->shared;
	double bytes = w->count ? (double)w->bytes / (double)w->count : 0;
	double ns = by_bus(w, c), low;

	if (isfinite(ns)) {
		t->mean = fmin(top, ns);
		low = t->mean * (1 - BUS_BELOW);
	} else {
		t->mean = fmin(top, ESTIMATE_OUT_NS + bytes / BUS_ASSUMED);
		low = fmin(t->mean, bytes / ESTIMATE_BUS_MOST);
	}
	t->below = t->mean - low;
	t->above = fmax(0, top - t->mean);
	t->random = t->shared = t->systematic = 0;
}

/* A copy over the bus that no pair stands around, such as a blocking one of pinned memory. What is
 * staged takes longer than its bytes. */
static struct model_work_time untimed_copy(const struct tf_work *w, enum pool_method method,
                                           const struct model_calibration *c)
{
	struct model_work_time t = {.mean = by_bus(w, c), .deviation = NAN};

	if ((method != POOL_COPY_ENGINE && method != POOL_BOUND) || w->memory == SPY_MEM_PAGEABLE ||
	    !isfinite(t.mean))
		return (struct model_work_time){.deviation = NAN};
	t.known = true;
	t.below = untimed_below[w->direction == SPY_DIR_DTOH] * t.mean;
	t.above = untimed_above[w->direction == SPY_DIR_DTOH] * t.mean;
	return t;
}

/* By its calls, each of which tells. */
static struct model_work_time staged_copy(const struct tf_work *w,
                                          const struct model_calibration *c)
{
	struct estimate_range r = estimate_staged_class(&c->costs, w);
	struct model_work_time t = {.deviation = NAN};

	if (!isfinite(r.ns))
		return t;
	t.known = t.by_calls = true;
	t.samples = w->count;
	t.mean = r.ns;
	t.below = r.ns - r.low;
	t.above = r.high - r.ns;
	t.systematic = c->systematic;
	return t;
}

/* By its shortest pair and its bytes. */
static struct model_work_time pinned_copy(const struct tf_work *w, const struct pool *p,
                                          const struct model_calibration *c)
{
	struct estimate_mean m = estimate_pinned(&c->costs, w);
	struct model_work_time t = {
	        .known = isfinite(m.ns), .samples = p->samples, .deviation = NAN};

	if (!t.known) /* of a damaged file */
		return (struct model_work_time){.deviation = NAN};
	t.mean = fmax(0, m.ns);
	t.shared = normal_95(sqrt(fmax(0, m.variance)));
	/* That engines wake elsewhere as they do there, nobody has measured. */
	t.shared *= c->costs.kind.source == GPU_UNMEASURED
	                    ? ENGINES_ELSEWHERE
	                    : c->costs.kind.off_ns / OFF_ON_AN_H200_NS;
	t.systematic = hypot(c->systematic, SYSTEMATIC_SHARE * t.mean);
	return t;
}

/*
 * A few pairs may be alike by chance where others of the run differ: these count as two more. Where
 * hardly any class has pieces of several lengths, or so many pairs would hardly be alike by chance,
 * the others are those of one length.
 */
static double random_of(const struct pool *p, const struct model_calibration *c)
{
	double mean = fmax(0, p->mean), others, variance;

	if (!isfinite(p->deviation))
		return fmax(DEVIATION_LEAST, normal_95(c->deviation)) * mean;
	if (p->degrees >= FEW_DEGREES)
		return stats_student_95(p->degrees) * p->deviation / sqrt(fmax(1, p->n));
	others = c->mixed * pow(LIKELIER, (double)p->samples) > CHANCE_LEAST ? c->deviation
	                                                                     : c->plain_deviation;
	others *= mean;
	variance = (p->degrees * p->deviation * p->deviation + OTHERS_COUNT * others * others) /
	           (p->degrees + OTHERS_COUNT);
	return stats_student_95(p->degrees + OTHERS_COUNT) * fmax(p->deviation, sqrt(variance)) /
	       sqrt(fmax(1, p->n));
}

static struct model_work_time time_of(const struct tf_work *w, const struct model_calibration *c)
{
	enum pool_method method = pool_method(w);
	struct model_work_time t = {.deviation = NAN};
	struct model_pair_cost cost[TF_PAIRS];
	struct pool p;

	if (w->exact_count && w->exact_ns >= 0 &&
	    w->exact_ns <= (double)w->exact_count * PAIR_NS_MOST) {
		t.known = t.exact = true;
		t.mean = w->exact_ns / (double)w->exact_count;
		return t;
	}
	if (method == POOL_STAGED)
		return staged_copy(w, c);
	if (method == POOL_HOST_ONLY)
		return t;
	costs_of(w, method, c, cost);
	if (!pool_pairs(&p, w, cost, c->costs.map))
		return untimed_copy(w, method, c);
	if (method == POOL_COPY_ENGINE)
		return pinned_copy(w, &p, c);
	t.known = true;
	t.samples = p.samples;
	t.mean = p.mean;
	t.deviation = p.deviation;
	t.random = hypot(random_of(&p, c), normal_95(sqrt(p.division)));
	t.shared = p.shared;
	t.mean = fmax(0, t.mean);
	t.systematic = hypot(c->systematic, SYSTEMATIC_SHARE * t.mean);
	if (w->kind == TF_WORK_GRAPH)
		t.systematic = hypot(t.systematic, GRAPH_START_NS);
	if (w->kind == TF_WORK_COPY && w->direction == SPY_DIR_DTOD)
		t.below = fmin(t.mean, DEVICE_COPY_LESS_NS);
	else if (method == POOL_AS_ITS_PATH && w->kind == TF_WORK_COPY &&
	         estimate_path(w) == ESTIMATE_KERNEL)
		t.below = fmin(t.mean, FRONT_COPY_LESS_NS);
	else if (method == POOL_PEER) /* not measured: it may start as a kernel does */
		t.above = ESTIMATE_ENGINE_NS;
	else if (method == POOL_AS_ITS_PATH && estimate_path(w) == ESTIMATE_INLINE)
		t.below = fmin(t.mean, INLINE_LESS_NS);
	else if (method == POOL_SET_BETWEEN) /* it may travel with the command */
		t.above = fmax(0,
		               c->cost[ESTIMATE_KERNEL][0].mean - c->cost[ESTIMATE_INLINE][0].mean);
	else if (method == POOL_BOUND)
		bound(&t, w, c);
	return t;
}

struct model_work_time model_work_time(const struct tf_work *w, const struct model_calibration *c)
{
	const struct tf_weights *weights = c->costs.map ? weights_of(c->costs.map, w) : NULL;
	struct model_work_time t = time_of(w, c);

	if (weights && !t.exact)
		t.tries = weights->tries;
	return t;
}

/* What pairs around one and the same work differ by: the variance of those of the calibration. */
static double noise_of(const struct estimate_costs *costs)
{
	double most = 0;

	for (int regime = 0; regime < TF_PAIRS; regime++) {
		const struct estimate_cost *cost = &costs->cost[ESTIMATE_KERNEL][regime];
		if (cost->count > 1 && !estimate_is_crowded(cost))
			most = fmax(most, cost->spread);
	}
	return most;
}

struct spread {
	double squares, degrees;
};

static double deviation_of(const struct spread *s)
{
	return s->degrees > 0 ? sqrt(s->squares / s->degrees) : 0;
}

/*
 * The spread within the classes that were timed more than once, relative to their means, less what
 * pairs differ by around any work: of all, and of those whose pieces are of one length; and which
 * part of the classes with enough pairs has pieces of several (one half more of each, as few
 * classes tell little).
 */
static void spread_of(const struct tf_work *works, uint32_t count, struct model_calibration *c)
{
	struct spread all = {0, 0}, plain = {0, 0};
	double noise = noise_of(&c->costs), told = 0, mixed = 0;
	struct model_pair_cost cost[TF_PAIRS];
	struct pool p;

	for (uint32_t i = 0; i < count; i++) {
		enum pool_method method = pool_method(&works[i]);
		if (works[i].kind == TF_WORK_NONE || works[i].kind >= TF_WORK_EMPTY ||
		    method == POOL_COPY_ENGINE || method == POOL_BOUND || method == POOL_STAGED ||
		    method == POOL_HOST_ONLY)
			continue;
		costs_of(&works[i], method, c, cost);
		if (!pool_pairs(&p, &works[i], cost, c->costs.map) || !(p.n > 1) || !(p.mean > 0) ||
		    !isfinite(p.deviation))
			continue;
		double more = fmax(0, p.deviation * p.deviation - noise) / (p.mean * p.mean);
		if (!isfinite(more)) /* of a damaged file */
			continue;
		bool differs = more > MODEL_MIXED_SHARE * MODEL_MIXED_SHARE;
		all.squares += (p.n - 1) * more;
		all.degrees += p.n - 1;
		if (!differs) {
			plain.squares += (p.n - 1) * more;
			plain.degrees += p.n - 1;
		}
		if (p.samples >= (uint64_t)FEW_DEGREES) {
			told++;
			mixed += differs;
		}
	}
	c->deviation = deviation_of(&all);
	c->plain_deviation = deviation_of(&plain);
	c->mixed = (mixed + 0.5) / (told + 1);
}

void model_calibrate(struct model_calibration *c, const struct tf_map *map,
                     const struct tf_work *works, uint32_t count)
{
	*c = (struct model_calibration){.systematic = 0};
	estimate_costs(map, &c->costs);
	c->systematic = c->costs.kind.off_ns;
	for (int path = 0; path < ESTIMATE_PATHS; path++)
		for (int i = 0; i < TF_PAIRS; i++)
			c->cost[path][i] = told_of(&c->costs.cost[path][i],
			                           &c->costs.cost[base_of(path)][i], path);
	spread_of(works, count, c);
}
