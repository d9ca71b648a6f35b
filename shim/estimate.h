/*
 * GPU time of a class of work from its event pairs: what was measured between two events less what
 * the pair itself costs. For the timeline, which wants a running mean, and the reporter, which
 * wants intervals; both by the same formula.
 *
 * Of a class with n_i pairs of mean m_i in regime i (stream idle, stream busy):
 *
 *     mean = sum over i of n_i * (m_i - cost_i) / sum over i of n_i          (never below 0)
 *
 * cost_i depends on the path that the work takes, see enum estimate_path, and comes from the
 * calibration classes TF_WORK_EMPTY and TF_WORK_NULL of the same regime, of all devices together (a
 * class does not know its device); where these are missing, from the other regime, else from what
 * was measured once (constants below; H200, driver 580). Exact times (CUPTI) win over pairs. Copies
 * of pageable memory by a copy engine have no pairs: estimate_staged.h.
 *
 * What a pair costs around a pinned copy moves by more than a small one takes; what it takes by its
 * bytes is known better. Both count by the inverse of their variance, unless they contradict each
 * other: then the bus is not what was thought, and the pairs alone count. estimate_pinned().
 */
#ifndef SPY_ESTIMATE_H
#define SPY_ESTIMATE_H

#include "shim/estimate_staged.h"
#include "shim/trace_map.h"

/* How a piece of work gets to the GPU: what a pair around it costs. */
enum estimate_path {
	ESTIMATE_KERNEL, /* kernels, graphs, copies within a device, larger sets: pair(empty kernel)
	                    - the empty kernel's own time */
	ESTIMATE_INLINE, /* sets up to 4 KiB, pageable copies to the device up to 64 KiB: done by
	                    the front end; pair(nothing) */
	ESTIMATE_ENGINE, /* copies by a copy engine: as a kernel, and the engine's start */
	ESTIMATE_PATHS
};

#define ESTIMATE_NULL_KERNEL_NS 590.0  /* what CUPTI calls our empty kernel's time */
#define ESTIMATE_NULL_PAIR_NS   2740.0 /* pair(empty kernel) where nothing was calibrated */
#define ESTIMATE_EMPTY_PAIR_NS  1280.0 /* pair(nothing), likewise */
#define ESTIMATE_ENGINE_NS      3200.0 /* a copy engine's start beyond a kernel's */
#define ESTIMATE_GAP_NS         750.0  /* between queued kernels of a stream */
/*
 * What that gap is longer where the work changes engines: on the way to a copy engine, taken for
 * what a pair costs more, as if its second event were the engine's, and from it. Kernels and copies
 * of 4 bytes to the host, in turn and all of them queued: 4.4 and 5.2 to 7.4 us the two of them on
 * two H200s, with 64 KiB 7.4 us. Behind a kernel that has just ended CUPTI's records have 4.2 us
 * before the copy, behind queued ones 1.0.
 */
#define ESTIMATE_TO_ENGINE_NS   ESTIMATE_ENGINE_NS
#define ESTIMATE_FROM_ENGINE_NS 2800.0
/*
 * Standard deviations of these constants: the calibration moved by about this from process to
 * process; the engine's start from 1.3 to 5.6 us, it is not known why.
 */
#define ESTIMATE_PAIR_SD_NS   130.0
#define ESTIMATE_ENGINE_SD_NS 1300.0
/* ... and of what a pinned copy takes by its bytes: what it takes beside them, see
 * estimate_staged.h. */
#define ESTIMATE_BESIDE_SD_NS 500.0

struct estimate_cost {
	double ns;       /* what a pair costs around work of this path */
	double variance; /* of that figure, shared by all classes of the path and regime */
	uint64_t count;  /* calibration pairs it rests on; 0 = the constants */
};

struct estimate_costs {
	struct estimate_cost cost[ESTIMATE_PATHS][TF_PAIRS];
	struct estimate_bus bus[2]; /* of copies to the device, and from it */
};

/* The path of a class of work. */
enum estimate_path estimate_path(const struct tf_work *w);

/* What pairs cost, for all paths and regimes, and what copies reach on the bus: as large pinned
 * copies of this run do, else by its link. */
void estimate_costs(const struct tf_map *map, struct estimate_costs *costs);

/* Large pinned copies, which tell what the bus lets through. */
bool estimate_tells_bus(const struct tf_work *w);

/* Copies that the driver stages and that no pair stands around: their calls tell, see
 * estimate_staged.h. */
bool estimate_is_staged(const struct tf_work *w);
struct estimate_range estimate_staged_class(const struct estimate_costs *costs,
                                            const struct tf_work *w);

/*
 * A class of pinned copies over the bus: from `pairs_ns`, its mean by its pairs, with this
 * variance, ESTIMATE_ENGINE_SD_NS included, and from its bytes. The pairs' figures where these tell
 * nothing.
 */
struct estimate_mean {
	double ns, variance;
};
struct estimate_mean estimate_pinned(const struct estimate_costs *costs, const struct tf_work *w,
                                     double pairs_ns, double variance);

/* Mean GPU time of one piece of work of a class, ns; NaN when unknown. */
double estimate_ns(const struct estimate_costs *costs, const struct tf_work *w);

#endif
