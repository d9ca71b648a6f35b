/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/model/model_gpu_pairs.h"
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

/* A graph starts otherwise than a kernel does: one of three kernels, a set and two copies came
 * out 2.1 us too short on one H200 and 2.7 too long on another, which is two standard deviations.
 */
#define GRAPH_START_NS 2600.0
/* Copies within a device came out 0.2 to 0.5 us too long. */
#define DEVICE_COPY_LESS_NS 500.0

/* On another H200, where a pair costs 1.6 us more, what the front end does (small sets, small
 * copies from pageable memory) came out 540 to 740 ns too long: a pair around it costs what it does
 * around a kernel. */
#define INLINE_LESS_NS 750.0

/* Assumed, not measured: where neither a link nor a copy tells the bus, PCIe 4 x16, bytes a ns. */
#define BUS_ASSUMED 25.0
/* A copy over the bus that no pair stands around, or one that holds its staging, goes at what
 * copies reach there, or so much faster; the former so much slower at most. */
#define BUS_BELOW 0.3
#define BUS_ABOVE 0.5

#define DEVIATION_LEAST 0.5
#define OTHERS_COUNT    2.0
#define FEW_DEGREES     8.0
#define PAIR_NS_MOST    1e15 /* eleven days: no event pair is longer */

/* What is to be known of a class beside the path of estimate.h. */
enum method { AS_ITS_PATH, SET_BETWEEN, COPY_ENGINE, PEER, BOUND, STAGED, HOST_ONLY };

static enum method copy_method(const struct tf_work *w)
{
	if (w->direction == SPY_DIR_HTOH)
		return HOST_ONLY;
	if (w->direction == SPY_DIR_PTOP)
		return PEER;
	if (estimate_is_staged(w))
		return STAGED;
	if (estimate_path(w) != ESTIMATE_ENGINE)
		return AS_ITS_PATH;
	return w->memory == SPY_MEM_PINNED &&
	                       (w->direction == SPY_DIR_HTOD || w->direction == SPY_DIR_DTOH)
	               ? COPY_ENGINE
	               : BOUND;
}

static enum method method_of(const struct tf_work *w)
{
	uint64_t bytes = work_size_floor(w->size);

	if (w->kind == TF_WORK_COPY)
		return copy_method(w);
	return w->kind == TF_WORK_SET && bytes > CUDA_SET_FRONT_BYTES &&
	                       bytes < CUDA_SET_KERNEL_BYTES
	               ? SET_BETWEEN
	               : AS_ITS_PATH;
}

bool pairs_good(const struct tf_pairs *p)
{
	return p->count && p->sum_ns >= 0 && p->sum_squares >= 0 &&
	       p->sum_ns <= (double)p->count * PAIR_NS_MOST &&
	       p->sum_squares <= (double)p->count * PAIR_NS_MOST * PAIR_NS_MOST;
}

struct model_pair_line pair_line_of(const struct tf_pairs *p)
{
	struct model_pair_line line = {.mean = NAN, .deviation = NAN};

	if (!pairs_good(p))
		return line;
	double n = (double)p->count;
	line.count = p->count;
	line.mean = p->sum_ns / n;
	if (p->count > 1)
		line.deviation =
		        sqrt(fmax(0, p->sum_squares - n * line.mean * line.mean) / (n - 1));
	return line;
}

/* Exact to 4 degrees of freedom, then the expansion about the normal quantile (Abramowitz and
 * Stegun 26.7.5), within 0.2 %. */
double student_95(double degrees)
{
	static const double few[] = {12.706, 12.706, 4.303, 3.182, 2.776};
	const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	if (!(degrees >= 1))
		return few[0];
	if (degrees < 5)
		return few[(int)degrees];
	return z + (z3 + z) / (4 * degrees) +
	       (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}

static double normal_95(double deviation)
{
	return student_95(1e9) * deviation;
}

/* Half of a cost's interval: by Student where it was calibrated, else as the constants vary. */
static double half_of(const struct estimate_costs *costs, enum estimate_path path, int regime)
{
	enum estimate_path base = path == ESTIMATE_ENGINE ? ESTIMATE_KERNEL : path;
	const struct estimate_cost *cost = &costs->cost[base][regime];
	double deviation = sqrt(fmax(0, cost->variance));
	double half = cost->count > 1 ? student_95((double)cost->count - 1) * deviation
	                              : normal_95(deviation);

	return path == ESTIMATE_ENGINE ? hypot(half, normal_95(ESTIMATE_ENGINE_SD_NS)) : half;
}

/* Both regimes together, each pair less what `cost` says of its regime. `n`: so many pairs of equal
 * weight tell as much. */
struct pooled {
	double n, mean, deviation, shared; /* deviation, of a pair, NaN: one pair */
	double degrees;
	uint64_t samples;
};

/* By what each pair stands for, where that is known. */
static void weigh(struct pooled *p, const struct tf_work *w,
                  const struct model_pair_cost cost[TF_PAIRS], const struct tf_map *map)
{
	const struct tf_weights *weights = map ? weights_of(map, w) : NULL;
	struct weights_mean m;

	if (!weights || !weights_mean(weights, w->count, &m))
		return;
	p->n = m.degrees;
	p->mean = m.ns;
	p->shared = 0;
	for (int i = 0; i < TF_PAIRS; i++) {
		p->mean -= m.share[i] * cost[i].mean;
		p->shared += m.share[i] * cost[i].half;
	}
	p->deviation = sqrt(m.piece);
	p->degrees = fmin(m.degrees, (double)weights->pairs - 1);
}

static bool pool(struct pooled *to, const struct tf_work *w,
                 const struct model_pair_cost cost[TF_PAIRS], const struct tf_map *map)
{
	double sum = 0, squares = 0;

	*to = (struct pooled){.deviation = NAN};
	for (int i = 0; i < TF_PAIRS; i++) {
		const struct tf_pairs *p = &w->pairs[i];
		if (!pairs_good(p))
			continue;
		double n = (double)p->count, c = cost[i].mean;
		to->n += n;
		sum += p->sum_ns - n * c;
		squares += p->sum_squares - 2 * c * p->sum_ns + n * c * c;
		to->shared += n * cost[i].half;
		if (__builtin_add_overflow(to->samples, p->count, &to->samples))
			to->samples = UINT64_MAX;
	}
	if (!(to->n > 0))
		return false;
	to->mean = sum / to->n;
	to->shared /= to->n;
	if (to->n > 1)
		to->deviation = sqrt(fmax(0, squares - to->n * to->mean * to->mean) / (to->n - 1));
	to->degrees = to->n - 1;
	weigh(to, w, cost, map);
	return true;
}

/* What a pair around this class's work costs; of a staged copy, the least that it can. */
static const struct model_pair_cost *costs_of(const struct tf_work *w, enum method method,
                                              const struct model_calibration *c)
{
	return c->cost[method == BOUND ? ESTIMATE_INLINE : estimate_path(w)];
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
static struct model_work_time untimed_copy(const struct tf_work *w, enum method method,
                                           const struct model_calibration *c)
{
	struct model_work_time t = {.mean = by_bus(w, c), .deviation = NAN};

	if ((method != COPY_ENGINE && method != BOUND) || w->memory == SPY_MEM_PAGEABLE ||
	    !isfinite(t.mean))
		return (struct model_work_time){.deviation = NAN};
	t.known = true;
	t.below = BUS_BELOW * t.mean;
	t.above = BUS_ABOVE * t.mean;
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
static struct model_work_time pinned_copy(const struct tf_work *w, const struct pooled *p,
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
	t.shared *= c->costs.kind.off_ns / OFF_ON_AN_H200_NS;
	t.systematic = hypot(c->systematic, SYSTEMATIC_SHARE * t.mean);
	return t;
}

/* A few pairs may be alike by chance where others of the run differ: these count as two more. */
static double random_of(const struct pooled *p, const struct model_calibration *c)
{
	double mean = fmax(0, p->mean), others = c->deviation * mean, variance;

	if (!isfinite(p->deviation))
		return fmax(DEVIATION_LEAST, normal_95(c->deviation)) * mean;
	if (p->degrees >= FEW_DEGREES)
		return student_95(p->degrees) * p->deviation / sqrt(fmax(1, p->n));
	variance = (p->degrees * p->deviation * p->deviation + OTHERS_COUNT * others * others) /
	           (p->degrees + OTHERS_COUNT);
	return student_95(p->degrees) * fmax(p->deviation, sqrt(variance)) / sqrt(fmax(1, p->n));
}

static struct model_work_time time_of(const struct tf_work *w, const struct model_calibration *c)
{
	enum method method = method_of(w);
	struct model_work_time t = {.deviation = NAN};
	struct pooled p;

	if (w->exact_count && w->exact_ns >= 0 &&
	    w->exact_ns <= (double)w->exact_count * PAIR_NS_MOST) {
		t.known = t.exact = true;
		t.mean = w->exact_ns / (double)w->exact_count;
		return t;
	}
	if (method == STAGED)
		return staged_copy(w, c);
	if (method != HOST_ONLY && !pool(&p, w, costs_of(w, method, c), c->costs.map))
		return untimed_copy(w, method, c);
	if (method == HOST_ONLY)
		return t;
	if (method == COPY_ENGINE)
		return pinned_copy(w, &p, c);
	t.known = true;
	t.samples = p.samples;
	t.mean = p.mean;
	t.deviation = p.deviation;
	t.random = random_of(&p, c);
	t.shared = p.shared;
	t.mean = fmax(0, t.mean);
	t.systematic = hypot(c->systematic, SYSTEMATIC_SHARE * t.mean);
	if (w->kind == TF_WORK_GRAPH)
		t.systematic = hypot(t.systematic, GRAPH_START_NS);
	if (w->kind == TF_WORK_COPY && w->direction == SPY_DIR_DTOD)
		t.below = fmin(t.mean, DEVICE_COPY_LESS_NS);
	else if (method == PEER) /* not measured: it may start as a kernel does */
		t.above = ESTIMATE_ENGINE_NS;
	else if (method == AS_ITS_PATH && estimate_path(w) == ESTIMATE_INLINE)
		t.below = fmin(t.mean, INLINE_LESS_NS);
	else if (method == SET_BETWEEN) /* it may travel with the command */
		t.above = fmax(0,
		               c->cost[ESTIMATE_KERNEL][0].mean - c->cost[ESTIMATE_INLINE][0].mean);
	else if (method == BOUND)
		bound(&t, w, c);
	return t;
}

struct model_work_time work_time(const struct tf_work *w, const struct model_calibration *c)
{
	const struct tf_weights *weights = c->costs.map ? weights_of(c->costs.map, w) : NULL;
	struct model_work_time t = time_of(w, c);

	if (weights && !t.exact)
		t.tries = weights->tries;
	return t;
}

/* The spread within the classes that were timed more than once, relative to their means. */
static double pooled_deviation(const struct tf_work *works, uint32_t count,
                               const struct model_calibration *c)
{
	double squares = 0, degrees = 0;
	struct pooled p;

	for (uint32_t i = 0; i < count; i++) {
		enum method method = method_of(&works[i]);
		if (works[i].kind == TF_WORK_NONE || works[i].kind >= TF_WORK_EMPTY ||
		    method == COPY_ENGINE || method == BOUND || method == STAGED ||
		    method == HOST_ONLY ||
		    !pool(&p, &works[i], costs_of(&works[i], method, c), c->costs.map) ||
		    !(p.n > 1) || !(p.mean > 0) || !isfinite(p.deviation))
			continue;
		double more = (p.n - 1) * (p.deviation / p.mean) * (p.deviation / p.mean);
		if (!isfinite(more)) /* of a damaged file */
			continue;
		squares += more;
		degrees += p.n - 1;
	}
	return degrees > 0 ? sqrt(squares / degrees) : 0;
}

void calibrate(struct model_calibration *c, const struct tf_map *map, const struct tf_work *works,
               uint32_t count)
{
	*c = (struct model_calibration){.systematic = 0};
	estimate_costs(map, &c->costs);
	c->systematic = c->costs.kind.off_ns;
	for (int path = 0; path < ESTIMATE_PATHS; path++)
		for (int i = 0; i < TF_PAIRS; i++)
			c->cost[path][i] = (struct model_pair_cost){
			        fmax(0, c->costs.cost[path][i].ns), half_of(&c->costs, path, i)};
	c->deviation = pooled_deviation(works, count, c);
}
