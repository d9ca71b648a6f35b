/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU time of a class of work from its event pairs: what was measured between two events less what
 * the pair itself costs. For the timeline, which wants a running mean, and the reporter, which
 * wants intervals; both by the same formula.
 *
 * Of a class with pairs y of weight w (weights.h: the launches that each stands for), each in a
 * regime i (stream idle, stream busy):
 *
 *     mean = sum of w * (y - cost_i) / sum of w          (never below 0)
 *
 * but for copies of pinned memory: estimate_pinned.h. Where nothing tells weights they are equal.
 *
 * cost_i depends on the path that the work takes, see enum estimate_path, and comes from the
 * calibration classes TF_WORK_EMPTY and TF_WORK_NULL of the same regime, of all devices together (a
 * class does not know its device), see estimate_cost_of(); where these are missing, from the other
 * regime, else from what was measured once (constants below; H200, driver 580). What of a pair
 * around an empty kernel is the kernel itself: gpu_kinds.h. Exact times (CUPTI) win over pairs.
 * Copies of pageable memory by a copy engine have no pairs: estimate_staged.h.
 */
#ifndef SPY_ESTIMATE_H
#define SPY_ESTIMATE_H

#include "shim/core/cuda/engines.h"
#include "shim/core/gpu_time/estimate_staged.h"
#include "shim/core/gpu_time/gpu_kinds.h"
#include "shim/core/format/trace_map.h"

/* How a piece of work gets to the GPU: what a pair around it costs. */
enum estimate_path {
	ESTIMATE_KERNEL, /* kernels, graphs, copies within a device, larger sets, asynchronous
	                    pinned copies to the device up to CUDA_COPY_FRONT_BYTES (of 4 bytes: 2.3
	                    to 2.6 us more than CUPTI's 0.9): pair(empty kernel) - the empty
	                    kernel's own time */
	ESTIMATE_INLINE, /* sets up to CUDA_SET_FRONT_BYTES, pageable copies to the device up to
	                    CUDA_COPY_INLINE_BYTES: done by the front end; pair(nothing) */
	ESTIMATE_ENGINE, /* copies by a copy engine: as a kernel, and the engine's start */
	ESTIMATE_PATHS
};

#define ESTIMATE_NULL_PAIR_NS  2740.0 /* pair(empty kernel) where nothing was calibrated */
#define ESTIMATE_EMPTY_PAIR_NS 1280.0 /* pair(nothing), likewise */
/*
 * A copy engine sleeps soon after a copy. Pairs around pinned copies of 4 bytes to 1 MiB, 150 of
 * each, behind a stall or our empty kernel, three processes on an H200, less CUPTI's time of these
 * copies: 1.4 to 2.0 us where the engine was awake, as around a kernel (2.15 us) or less; in a
 * program that copies both ways beside its kernels 2.1 to 2.8 us at least. Asleep 4 us more at
 * least, 4.5 to 6.8 us in the mean. Behind a stall it was asleep nearly always, elsewhere in half
 * of all cases. CUDA_WAKE_NS: of the shortest pair.
 */
#define ESTIMATE_WAKE_SD_NS   1200.0
#define ESTIMATE_WAKE_MOST_NS 6000.0 /* mean of all pairs less the shortest: up to 5.2 us */
#define ESTIMATE_AWAKE_SD_NS  400.0
/* Where nothing tells which: it sleeps in four cases of five. */
#define ESTIMATE_ENGINE_NS (0.8 * CUDA_WAKE_NS)
/* Standard deviations: of the pairs' constants, the calibration moved by about this from process to
 * process; of ESTIMATE_ENGINE_NS; of what a pinned copy takes beside its bytes, see
 * estimate_staged.h. */
#define ESTIMATE_PAIR_SD_NS   130.0
#define ESTIMATE_ENGINE_SD_NS 1800.0
#define ESTIMATE_BESIDE_SD_NS 500.0

struct estimate_cost {
	double ns;       /* what a pair costs around work of this path */
	double least;    /* what the shortest pair does, of ESTIMATE_KERNEL */
	double variance; /* of the mean, shared by all classes of the path and regime */
	uint64_t count;  /* calibration pairs it rests on; 0 = the constants */
	double spread;   /* variance of these pairs */
	double alone;    /* `ns` where no other stream's work keeps the GPU from the pair's */
};

struct estimate_costs {
	const struct tf_map *map; /* whose classes they are */
	struct gpu_figures kind;
	struct estimate_cost cost[ESTIMATE_PATHS][TF_PAIRS];
	struct estimate_bus told;   /* by the link: the same both ways */
	struct estimate_bus bus[2]; /* of copies to the device, and from it */
};

struct estimate_mean { /* ns; NaN: not known */
	double ns, variance;
};

/* Whether pairs can be what was measured: they come from a file. */
bool estimate_pairs_good(const struct tf_pairs *p);

/*
 * Where other streams keep the GPU busy the empty kernel of a calibration waits in its pair until
 * some of it is free: 3.3 us become 164 in the mean, with a spread of 97 (JAX, graphs of 1.1 ms, an
 * H100). Work that fills the GPU by itself is not sampled beside such work. So pairs of a class
 * that scatter by less than half as much did not wait, and cost what they do alone.
 */
#define ESTIMATE_CROWDED_SD_NS 1000.0
bool estimate_is_crowded(const struct estimate_cost *cost);
/* What a pair around this class's work costs in a regime, by the way of a path. */
struct estimate_cost estimate_cost_of(const struct estimate_costs *costs, enum estimate_path path,
                                      const struct tf_work *w, enum tf_pair regime);

/* The path of a class of work. */
enum estimate_path estimate_path(const struct tf_work *w);

/* What pairs cost, for all paths and regimes, and what copies reach on the bus: as large pinned
 * copies of this run do, else by its link. */
void estimate_costs(const struct tf_map *map, struct estimate_costs *costs);

/* The same where it is known what can be there: calibration of devices 0 to 63 alone whose bit is
 * set, and whether a copy was timed that tells of the bus. Spares most of the looking. */
void estimate_costs_among(const struct tf_map *map, uint64_t devices, bool copies,
                          struct estimate_costs *costs);

/* Copies that the driver stages and that no pair stands around: their calls tell, see
 * estimate_staged.h. */
bool estimate_is_staged(const struct tf_work *w);
struct estimate_range estimate_staged_class(const struct estimate_costs *costs,
                                            const struct tf_work *w);

/* Mean GPU time of one piece of work of a class, ns; NaN when unknown. */
double estimate_ns(const struct estimate_costs *costs, const struct tf_work *w);

/* The same by the last pairs: what a piece takes now, where a class changes as the program goes on.
 */
double estimate_recent_ns(const struct estimate_costs *costs, const struct tf_work *w);

#endif
