/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU time of copies of pinned memory over the bus, from the event pairs around them and their
 * bytes.
 *
 * A copy engine sleeps between copies, and what it takes to wake stands in the pair, but not in the
 * copy: a pair around a pinned copy is some 4 to 7 us longer in one case than in another of the
 * same class. So the shortest pair tells, and the bytes tell whether the engine was awake for it.
 *
 * For estimate.h, which says what a pair costs, and by that for the timeline and the reporter.
 */
#ifndef SPY_ESTIMATE_PINNED_H
#define SPY_ESTIMATE_PINNED_H

#include "shim/core/gpu_time/estimate.h"

/* Whether a class is of these: a copy engine copies pinned memory to the device, or from it. */
bool estimate_is_pinned(const struct tf_work *w);

/* Large ones, which tell what the bus lets through. */
bool estimate_tells_bus(const struct tf_work *w);

/* What a pair of `ns` around a copy of `bytes` counts for in its class: as long as it would be for
 * the least size of the class's bucket. Of other work: `ns`. */
double estimate_pair_ns(const struct tf_work *w, uint64_t bytes, double ns);

/*
 * The mean of such a class, and the variance of that; NaN where nothing tells.
 *
 * Two cases of the shortest pair: the engine was awake, or asleep. In each the copy's time follows,
 * and joins what its bytes take on the bus by inverse variance. The case that fits the bytes better
 * counts more (as e to the minus half of the squared distance, in standard deviations), as does the
 * likelier one: of pairs that differ, the shortest was hardly one asleep. Where they contradict,
 * the bus is not what was thought, and the pair alone counts. What the mean of all pairs is above
 * the shortest by more than ESTIMATE_WAKE_MOST_NS is the copies' own; a third of all of it is the
 * standard deviation of not knowing how much else is.
 *
 * The bus is what this run's large pinned copies reach; for these themselves, what their link does.
 */
struct estimate_mean estimate_pinned(const struct estimate_costs *costs, const struct tf_work *w);

#endif
