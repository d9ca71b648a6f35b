/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place that a launch goes to, and whether it may be timed there: the context, the stream, or a
 * graph under capture. For sampler.c.
 */
#ifndef SPY_SAMPLER_PLACE_H
#define SPY_SAMPLER_PLACE_H

#include "shim/sampler/sampler_thread.h"

/*
 * The thread's current context may be another than before, and a launch is about to be made: finds
 * the context, and makes one that is new ready for sampling. `m`: NULL where nothing is recorded. A
 * launch that goes into a graph is not the context's first, so a new context is left as it is.
 */
void place_enter(struct sampler *m, const struct spy_span *s, CUstream stream);

/* Whether the context that the thread entered still exists and is sampled. */
bool place_usable(const struct sampler *m);

/* Whether the context is current and the stream belongs to it: only then its events may be used. */
bool place_holds(const struct sampler_context *c, CUstream stream);

/* Whether a launch on the stream goes to the GPU and not into a graph; false too where the driver
 * fails to tell, as `rc` says. */
bool place_goes_to_gpu(const struct spy_span *s, CUstream stream, CUresult *rc);

/*
 * A stamp of the context and of how often code was unloaded: a class that was met with the same
 * stamp has its code loaded here.
 */
uint16_t place_seen(const struct sampler *m);

/*
 * Whether any thread launched a class here before: of graphs, which many threads may launch in
 * turn. A hash without chains: later classes overwrite earlier ones.
 */
void place_launched(const struct sampler *m, uint64_t key);
bool place_was_launched(const struct sampler *m, uint64_t key);

#endif
