/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/gpu_time/estimate.h"

#include <math.h>
#include "shim/core/gpu_time/estimate_pinned.h"
#include "shim/core/gpu_time/root.h"
#include "shim/core/gpu_time/weights.h"
#include "shim/core/work/work_class.h"

#define BUS_PAIRS      4u           /* of a class: fewer may be off by a tail */
#define BUS_BYTES_MOST (1ull << 34) /* few copies are larger, and smaller ones tell as well */
#define DEVICES_MOST   64u          /* devices whose calibration is looked for */
#define STEP_NS        32.0         /* of the GPU's timer: a spread below it is not known */

enum estimate_path estimate_path(const struct tf_work *w)
{
	if (w->kind == TF_WORK_SET)
		return w->size <= work_size_bucket(CUDA_SET_FRONT_BYTES) ? ESTIMATE_INLINE
		                                                         : ESTIMATE_KERNEL;
	if (w->kind != TF_WORK_COPY || w->direction == SPY_DIR_DTOD)
		return ESTIMATE_KERNEL;
	if (w->memory == SPY_MEM_PAGEABLE && w->direction == SPY_DIR_HTOD &&
	    w->size <= work_size_bucket(CUDA_COPY_INLINE_BYTES))
		return ESTIMATE_INLINE;
	if (w->memory == SPY_MEM_PINNED && w->direction == SPY_DIR_HTOD && w->async &&
	    w->size <= work_size_bucket(CUDA_COPY_FRONT_BYTES))
		return ESTIMATE_KERNEL;
	return ESTIMATE_ENGINE;
}

bool estimate_is_staged(const struct tf_work *w)
{
	return w->kind == TF_WORK_COPY && w->memory == SPY_MEM_PAGEABLE &&
	       (w->direction == SPY_DIR_HTOD || w->direction == SPY_DIR_DTOH) && w->staged_ns > 0 &&
	       w->staged_ns < 1e18 && w->count && w->count < 1ull << 53 &&
	       (estimate_path(w) == ESTIMATE_ENGINE ||
	        !(w->pairs[TF_PAIR_IDLE].count || w->pairs[TF_PAIR_BUSY].count));
}

bool estimate_pairs_good(const struct tf_pairs *p)
{
	return p->count && isfinite(p->sum_ns) && p->sum_ns >= 0 && p->sum_ns < 1e18 &&
	       p->sum_squares >= 0 && p->sum_squares < 1e36;
}

static void add(struct tf_pairs *to, const struct tf_pairs *p)
{
	if (!estimate_pairs_good(p))
		return;
	if (!to->count || p->least_ns < to->least_ns)
		to->least_ns = p->least_ns;
	to->count = p->count < UINT32_MAX - to->count ? to->count + p->count : UINT32_MAX;
	to->sum_ns += p->sum_ns;
	to->sum_squares += p->sum_squares;
}

/* Of these pairs; INFINITY: one does not tell. */
static double variance_of(const struct tf_pairs *p)
{
	double n = (double)p->count, mean = p->sum_ns / n;

	return p->count > 1 ? (p->sum_squares - n * mean * mean) / (n - 1) : INFINITY;
}

/* Mean, the variance of that mean, and the shortest. */
static struct estimate_cost mean_of(const struct tf_pairs *p)
{
	double n = (double)p->count, mean = p->sum_ns / n, least = (double)p->least_ns;
	double spread = variance_of(p);

	if (!isfinite(spread))
		spread = ESTIMATE_PAIR_SD_NS * ESTIMATE_PAIR_SD_NS;
	else if (!(spread > STEP_NS * STEP_NS / 12))
		spread = STEP_NS * STEP_NS / 12;
	return (struct estimate_cost){
	        mean, least < mean ? least : mean, spread / n, p->count, spread, mean};
}

bool estimate_is_crowded(const struct estimate_cost *cost)
{
	return cost->spread > ESTIMATE_CROWDED_SD_NS * ESTIMATE_CROWDED_SD_NS;
}

/* Alone a pair costs as much in one regime as in the other, and little more than the shortest. */
static void find_alone(struct estimate_cost cost[TF_PAIRS])
{
	for (int regime = 0; regime < TF_PAIRS; regime++) {
		struct estimate_cost *c = &cost[regime];
		const struct estimate_cost *other = &cost[!regime];
		if (estimate_is_crowded(c))
			c->alone = estimate_is_crowded(other) || other->ns > c->ns
			                   ? c->least + ESTIMATE_PAIR_SD_NS
			                   : other->ns;
	}
}

/* The calibration of a kind, of all devices together, in each regime. */
static void calibration(const struct tf_map *map, uint64_t devices, enum tf_work_kind kind,
                        double otherwise, struct estimate_cost out[TF_PAIRS])
{
	struct tf_pairs sum[TF_PAIRS] = {{0}};

	for (uint32_t device = 0; device < DEVICES_MOST; device++) {
		struct tf_work key = {.kind = (uint8_t)kind, .id = device};
		const struct tf_work *w = devices >> device & 1 ? work_known(map, &key) : NULL;
		for (int regime = 0; w && regime < TF_PAIRS; regime++)
			add(&sum[regime], &w->pairs[regime]);
	}
	for (int regime = 0; regime < TF_PAIRS; regime++) {
		if (sum[regime].count)
			out[regime] = mean_of(&sum[regime]);
		else if (sum[!regime].count)
			out[regime] = mean_of(&sum[!regime]);
		else
			out[regime] = (struct estimate_cost){
			        otherwise, otherwise, ESTIMATE_PAIR_SD_NS * ESTIMATE_PAIR_SD_NS,
			        0,         0,         otherwise};
	}
	find_alone(out);
}

static bool is_exact(const struct tf_work *w)
{
	return w->exact_count && w->exact_count < 1ull << 53 && isfinite(w->exact_ns) &&
	       w->exact_ns >= 0 && w->exact_ns < 1e18;
}

static double exact_ns(const struct tf_work *w)
{
	return w->exact_ns / (double)w->exact_count;
}

/* Whether these pairs differ by as much as those of a calibration that waited. One pair: no. */
static bool may_wait(const struct tf_pairs *p, const struct estimate_cost *cost)
{
	return p->count > 1 && estimate_pairs_good(p) && variance_of(p) >= cost->spread / 4;
}

struct estimate_cost estimate_cost_of(const struct estimate_costs *costs, enum estimate_path path,
                                      const struct tf_work *w, enum tf_pair regime)
{
	struct estimate_cost cost = costs->cost[path][regime];

	if (!estimate_is_crowded(&cost) || may_wait(&w->pairs[regime], &cost))
		return cost;
	cost.ns = cost.alone;
	/* What is told by the other regime's pairs, or by the shortest, is off by as much as that
	 * is from process to process. */
	cost.variance +=
	        ESTIMATE_PAIR_SD_NS * ESTIMATE_PAIR_SD_NS - cost.spread / (double)cost.count;
	return cost;
}

/* Its mean by its pairs, less than 0 where they cost less than is thought; NaN: there are none. */
static double by_pairs(const struct estimate_costs *costs, const struct tf_work *w, bool recent)
{
	enum estimate_path path = estimate_path(w);
	const double cost[TF_PAIRS] = {
	        [TF_PAIR_IDLE] = estimate_cost_of(costs, path, w, TF_PAIR_IDLE).ns,
	        [TF_PAIR_BUSY] = estimate_cost_of(costs, path, w, TF_PAIR_BUSY).ns};
	const struct tf_weights *weights = weights_of(costs->map, w);
	struct weights_mean m;
	double sum = 0, count = 0;

	if (weights && (recent ? weights_recent(weights, &m) : weights_mean(weights, w->count, &m)))
		return m.ns - m.share[TF_PAIR_IDLE] * cost[TF_PAIR_IDLE] -
		       m.share[TF_PAIR_BUSY] * cost[TF_PAIR_BUSY];

	for (int regime = 0; regime < TF_PAIRS; regime++) {
		const struct tf_pairs *p = &w->pairs[regime];
		if (!estimate_pairs_good(p))
			continue;
		sum += p->sum_ns - (double)p->count * cost[regime];
		count += (double)p->count;
	}
	return count > 0 ? sum / count : NAN;
}

/* The best of this run's large pinned copies of a direction; the link where there are none. */
static struct estimate_bus find_bus(const struct tf_map *map, const struct estimate_costs *costs,
                                    bool to_host)
{
	double start = estimate_start_ns(to_host), best = 0, took = NAN, sd = 0;
	struct tf_work key = {.kind = TF_WORK_COPY,
	                      .direction = to_host ? SPY_DIR_DTOH : SPY_DIR_HTOD,
	                      .memory = SPY_MEM_PINNED};

	for (key.async = 0; key.async < 2; key.async++)
		for (key.size = 0; key.size <= work_size_bucket(BUS_BYTES_MOST); key.size++) {
			if (!estimate_tells_bus(&key))
				continue;
			const struct tf_work *w = work_known(map, &key);
			bool timed =
			        w && w->count &&
			        (w->exact_count || (uint64_t)w->pairs[TF_PAIR_IDLE].count +
			                                           w->pairs[TF_PAIR_BUSY].count >=
			                                   BUS_PAIRS);
			struct estimate_mean m = {NAN, NAN};
			if (timed)
				m = is_exact(w) ? (struct estimate_mean){exact_ns(w), 0}
				                : estimate_pinned(costs, w);
			double ns = m.ns - start;
			double rate = ns > 0 ? (double)w->bytes / (double)w->count / ns : 0;
			if (rate > best) {
				best = rate;
				took = ns;
				sd = root(m.variance);
			}
		}
	if (best > costs->told.most) /* the best of several is rather too good */
		best = costs->told.most;
	return best > 0 ? estimate_bus_timed(best, took, sd) : costs->told;
}

/* By pairs on idle streams, where none of them waited for other work. */
static void tell_kind(struct gpu_figures *kind, const struct estimate_cost *null,
                      const struct estimate_cost *empty)
{
	if (null->count > 1 && empty->count > 1 && !estimate_is_crowded(null) &&
	    !estimate_is_crowded(empty))
		gpu_kind_told(kind, null->ns - empty->ns, null->variance + empty->variance);
}

void estimate_costs(const struct tf_map *map, struct estimate_costs *costs)
{
	estimate_costs_among(map, UINT64_MAX, true, costs);
}

void estimate_costs_among(const struct tf_map *map, uint64_t devices, bool copies,
                          struct estimate_costs *costs)
{
	struct estimate_cost null[TF_PAIRS], empty[TF_PAIRS];

	costs->map = map;
	costs->kind = gpu_kind_of(map);
	calibration(map, devices, TF_WORK_NULL, ESTIMATE_NULL_PAIR_NS, null);
	calibration(map, devices, TF_WORK_EMPTY, ESTIMATE_EMPTY_PAIR_NS, empty);
	tell_kind(&costs->kind, &null[TF_PAIR_IDLE], &empty[TF_PAIR_IDLE]);
	for (int regime = 0; regime < TF_PAIRS; regime++) {
		struct estimate_cost *engine = &costs->cost[ESTIMATE_ENGINE][regime];
		null[regime].ns -= costs->kind.null_kernel_ns;
		null[regime].least -= costs->kind.null_kernel_ns;
		null[regime].alone -= costs->kind.null_kernel_ns;
		costs->cost[ESTIMATE_KERNEL][regime] = null[regime];
		costs->cost[ESTIMATE_INLINE][regime] = empty[regime];
		*engine = null[regime];
		engine->ns += ESTIMATE_ENGINE_NS;
		engine->alone += ESTIMATE_ENGINE_NS;
		engine->variance += ESTIMATE_ENGINE_SD_NS * ESTIMATE_ENGINE_SD_NS;
	}
	costs->told = estimate_bus_told(map);
	costs->bus[0] = costs->bus[1] = costs->told;
	for (int to_host = 0; copies && to_host < 2; to_host++)
		costs->bus[to_host] = find_bus(map, costs, to_host);
}

struct estimate_range estimate_staged_class(const struct estimate_costs *costs,
                                            const struct tf_work *w)
{
	bool to_host = w->direction == SPY_DIR_DTOH;
	double count = (double)w->count;

	if (!estimate_is_staged(w))
		return (struct estimate_range){NAN, NAN, NAN};
	return estimate_staged(&costs->bus[to_host], to_host, (double)w->bytes / count,
	                       w->staged_ns / count);
}

static double ns_of(const struct estimate_costs *costs, const struct tf_work *w, bool recent)
{
	if (!is_exact(w) && estimate_is_staged(w))
		return estimate_staged_class(costs, w).ns;
	double ns = is_exact(w)             ? exact_ns(w)
	            : estimate_is_pinned(w) ? estimate_pinned(costs, w).ns
	                                    : by_pairs(costs, w, recent);
	return ns < 0 ? 0 : ns;
}

double estimate_ns(const struct estimate_costs *costs, const struct tf_work *w)
{
	return ns_of(costs, w, false);
}

double estimate_recent_ns(const struct estimate_costs *costs, const struct tf_work *w)
{
	return ns_of(costs, w, true);
}
