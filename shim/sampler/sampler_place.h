/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a launch goes, and whether that is a place to work in: the context, the stream, a graph
 * under capture. For sampler.c.
 */
#ifndef SPY_SAMPLER_PLACE_H
#define SPY_SAMPLER_PLACE_H

#include "shim/sampler/sampler_thread.h"

/*
 * The thread met a context anew, with a launch that is about to be made: it is made ready, if it
 * can be. `m`: NULL where nothing is recorded. Where the context's first launch is still to come
 * (this one goes into a graph) nothing is decided.
 */
void place_enter(struct sampler *m, const struct spy_span *s, CUstream stream);

/* Whether the context still is the one that the thread entered, and is worked in. */
bool place_usable(const struct sampler *m);

/* Whether the context is current, as we know it, and the stream's: its events are used. */
bool place_holds(const struct sampler_context *c, CUstream stream);

/* Whether a launch on the stream goes to the GPU; if that cannot be told it is said that it does
 * not, and `rc` is why. */
bool place_goes_to_gpu(const struct spy_span *s, CUstream stream, CUresult *rc);

/*
 * What makes a class one that was launched here before: the context, and code that was not unloaded
 * since.
 */
uint16_t place_seen(const struct sampler *m);

/*
 * Classes that were launched here before by any thread, for those that many threads launch in turn,
 * each seldom: graphs. Some are forgotten.
 */
void place_launched(const struct sampler *m, uint64_t key);
bool place_was_launched(const struct sampler *m, uint64_t key);

#endif
