#include "shim/estimate.h"

#include <math.h>
#include "shim/works.h"

#define INLINE_SET_BYTES  4096u
#define INLINE_COPY_BYTES 65536u /* of a pageable copy to the device: travels with the command */
#define BUS_BYTES         (1u << 20)   /* of a pinned copy that tells what the bus lets through */
#define BUS_PAIRS         4u           /* of a class: fewer may be off by a tail */
#define BUS_BYTES_MOST    (1ull << 34) /* few copies are larger, and smaller ones tell as well */
#define DEVICES_MOST      64u          /* devices whose calibration is looked for */
#define CONTRADICT        3.0          /* standard deviations between two figures for the same */
#define STEP_NS           32.0         /* of the GPU's timer: a spread below it is not known */

enum estimate_path estimate_path(const struct tf_work *w)
{
	if (w->kind == TF_WORK_SET)
		return w->size <= work_size_bucket(INLINE_SET_BYTES) ? ESTIMATE_INLINE
		                                                     : ESTIMATE_KERNEL;
	if (w->kind != TF_WORK_COPY || w->direction == SPY_DIR_DTOD)
		return ESTIMATE_KERNEL;
	if (w->memory == SPY_MEM_PAGEABLE && w->direction == SPY_DIR_HTOD &&
	    w->size <= work_size_bucket(INLINE_COPY_BYTES))
		return ESTIMATE_INLINE;
	return ESTIMATE_ENGINE;
}

bool estimate_tells_bus(const struct tf_work *w)
{
	return w->kind == TF_WORK_COPY && w->memory == SPY_MEM_PINNED &&
	       (w->direction == SPY_DIR_HTOD || w->direction == SPY_DIR_DTOH) &&
	       w->size >= work_size_bucket(BUS_BYTES);
}

bool estimate_is_staged(const struct tf_work *w)
{
	return w->kind == TF_WORK_COPY && w->memory == SPY_MEM_PAGEABLE &&
	       (w->direction == SPY_DIR_HTOD || w->direction == SPY_DIR_DTOH) && w->staged_ns > 0 &&
	       w->staged_ns < 1e18 && w->count && w->count < 1ull << 53 &&
	       (estimate_path(w) == ESTIMATE_ENGINE ||
	        !(w->pairs[TF_PAIR_IDLE].count || w->pairs[TF_PAIR_BUSY].count));
}

/* Whether these figures can be true: they come from a file. */
static bool sane(const struct tf_pairs *p)
{
	return p->count && p->count < 1ull << 53 && isfinite(p->sum_ns) && p->sum_ns >= 0 &&
	       p->sum_ns < 1e18 && p->sum_squares >= 0 && p->sum_squares < 1e36;
}

static void add(struct tf_pairs *to, const struct tf_pairs *p)
{
	if (!sane(p))
		return;
	to->count += p->count;
	to->sum_ns += p->sum_ns;
	to->sum_squares += p->sum_squares;
}

/* Mean and the variance of that mean. */
static struct estimate_cost mean_of(const struct tf_pairs *p)
{
	double n = (double)p->count, mean = p->sum_ns / n;
	double spread = p->count > 1 ? (p->sum_squares - n * mean * mean) / (n - 1) : INFINITY;

	if (!isfinite(spread))
		spread = ESTIMATE_PAIR_SD_NS * ESTIMATE_PAIR_SD_NS;
	else if (!(spread > STEP_NS * STEP_NS / 12))
		spread = STEP_NS * STEP_NS / 12;
	return (struct estimate_cost){mean, spread / n, p->count};
}

/* The calibration of a kind, of all devices together, in each regime. */
static void calibration(const struct tf_map *map, enum tf_work_kind kind, double otherwise,
                        struct estimate_cost out[TF_PAIRS])
{
	struct tf_pairs sum[TF_PAIRS] = {{0}};

	for (uint32_t device = 0; device < DEVICES_MOST; device++) {
		struct tf_work key = {.kind = (uint8_t)kind, .id = device};
		const struct tf_work *w = work_known(map, &key);
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
			        otherwise, ESTIMATE_PAIR_SD_NS * ESTIMATE_PAIR_SD_NS, 0};
	}
}

static bool is_exact(const struct tf_work *w)
{
	return w->exact_count && w->exact_count < 1ull << 53 && isfinite(w->exact_ns) &&
	       w->exact_ns >= 0 && w->exact_ns < 1e18;
}

/* Its mean by CUPTI, else by its pairs (less than 0 where they cost less than is thought), and the
 * variance of that; NaN: there are none. */
static struct estimate_mean measured(const struct estimate_costs *costs, const struct tf_work *w)
{
	const struct estimate_cost *cost = costs->cost[estimate_path(w)];
	double sum = 0, count = 0, shared = 0, random = 0;

	if (is_exact(w))
		return (struct estimate_mean){w->exact_ns / (double)w->exact_count, 0};
	for (int regime = 0; regime < TF_PAIRS; regime++) {
		const struct tf_pairs *p = &w->pairs[regime];
		if (!sane(p))
			continue;
		double n = (double)p->count;
		sum += p->sum_ns - n * cost[regime].ns;
		shared += n * cost[regime].variance;
		random += n * n * mean_of(p).variance;
		count += n;
	}
	if (count <= 0)
		return (struct estimate_mean){NAN, NAN};
	return (struct estimate_mean){sum / count, shared / count + random / (count * count)};
}

struct estimate_mean estimate_pinned(const struct estimate_costs *costs, const struct tf_work *w,
                                     double pairs_ns, double variance)
{
	struct estimate_mean pairs = {pairs_ns, variance};
	bool to_host = w->direction == SPY_DIR_DTOH;
	const struct estimate_bus *bus = &costs->bus[to_host];

	if (w->kind != TF_WORK_COPY || w->memory != SPY_MEM_PINNED || !w->count ||
	    (!to_host && w->direction != SPY_DIR_HTOD) || !(bus->rate > 0) || !(variance > 0) ||
	    !isfinite(variance) || estimate_tells_bus(w)) /* else it would confirm itself */
		return pairs;
	double on_bus = (double)w->bytes / (double)w->count / bus->rate;
	double ns = (to_host ? ESTIMATE_OUT_NS : ESTIMATE_IN_NS) + on_bus;
	/* from least to most: four standard deviations */
	double off = on_bus * (bus->most - bus->least) / bus->rate / 4;
	double by_bytes = ESTIMATE_BESIDE_SD_NS * ESTIMATE_BESIDE_SD_NS + off * off;
	double apart = pairs_ns - ns;
	if (apart * apart > CONTRADICT * CONTRADICT * (variance + by_bytes))
		return pairs;
	double weight = by_bytes / (by_bytes + variance);
	return (struct estimate_mean){ns + weight * apart, weight * variance};
}

/* The best of this run's large pinned copies of a direction. */
static struct estimate_bus find_bus(const struct tf_map *map, const struct estimate_costs *costs,
                                    bool to_host)
{
	double start = to_host ? ESTIMATE_OUT_NS : ESTIMATE_IN_NS, best = 0, took = NAN, sd = 0;
	struct tf_work key = {.kind = TF_WORK_COPY,
	                      .direction = to_host ? SPY_DIR_DTOH : SPY_DIR_HTOD,
	                      .memory = SPY_MEM_PINNED};

	for (key.async = 0; key.async < 2; key.async++)
		for (key.size = work_size_bucket(BUS_BYTES);
		     key.size <= work_size_bucket(BUS_BYTES_MOST); key.size++) {
			const struct tf_work *w = work_known(map, &key);
			bool timed = w && w->count &&
			             (w->exact_count ||
			              w->pairs[TF_PAIR_IDLE].count + w->pairs[TF_PAIR_BUSY].count >=
			                      BUS_PAIRS);
			double ns = timed ? measured(costs, w).ns - start : NAN;
			double rate = ns > 0 ? (double)w->bytes / (double)w->count / ns : 0;
			if (rate > best) {
				best = rate;
				took = ns;
				sd = is_exact(w) ? 0 : ESTIMATE_ENGINE_SD_NS;
			}
		}
	const struct estimate_bus told = estimate_bus_told(map);
	if (best > told.most) /* the best of several is rather too good */
		best = told.most;
	return best > 0 ? estimate_bus_timed(best, took, sd) : told;
}

void estimate_costs(const struct tf_map *map, struct estimate_costs *costs)
{
	struct estimate_cost null[TF_PAIRS], empty[TF_PAIRS];

	calibration(map, TF_WORK_NULL, ESTIMATE_NULL_PAIR_NS, null);
	calibration(map, TF_WORK_EMPTY, ESTIMATE_EMPTY_PAIR_NS, empty);
	for (int regime = 0; regime < TF_PAIRS; regime++) {
		null[regime].ns -= ESTIMATE_NULL_KERNEL_NS;
		costs->cost[ESTIMATE_KERNEL][regime] = null[regime];
		costs->cost[ESTIMATE_INLINE][regime] = empty[regime];
		costs->cost[ESTIMATE_ENGINE][regime] = (struct estimate_cost){
		        null[regime].ns + ESTIMATE_ENGINE_NS,
		        null[regime].variance + ESTIMATE_ENGINE_SD_NS * ESTIMATE_ENGINE_SD_NS,
		        null[regime].count};
	}
	for (int to_host = 0; to_host < 2; to_host++)
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

double estimate_ns(const struct estimate_costs *costs, const struct tf_work *w)
{
	if (!is_exact(w) && estimate_is_staged(w))
		return estimate_staged_class(costs, w).ns;
	struct estimate_mean mean = measured(costs, w);
	double ns = estimate_pinned(costs, w, mean.ns, mean.variance).ns;
	return ns < 0 ? 0 : ns;
}
