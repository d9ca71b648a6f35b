/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other threads' work between our two events: a pair around one thread's kernel shows the time of
 * whatever else was put on that stream meanwhile. Such a pair is dropped. For the sampler's files.
 */
#ifndef SPY_SAMPLER_BESIDE_H
#define SPY_SAMPLER_BESIDE_H

#include <stdbool.h>
#include "shim/base/cuda_types.h"
#include "shim/core/format/trace_map.h"

/* The calling thread, with this index in table `threads`, is about to give its first work in a
 * context. */
void beside_begins(uint32_t thread, CUstream stream, int ptds);

/* It launches in the context of this number (struct sampler_context) from now on. */
void beside_entered(uint32_t thread, uint32_t context);

/*
 * Whether another thread than `mine` gave work to the stream since the tick `since`, or may have,
 * or may be about to. Reads the other threads' slots and rings as they are: a line for each thread
 * that made no call meanwhile. Where its last records do not tell (they are lost, or in a ring that
 * was just replaced by a larger one, or it made more than 64 calls meanwhile), it may have. Taken
 * for no: a thread behind the first 256, a call under way of a thread whose work goes to several
 * streams by turns, and what another stream does that the legacy default stream waits for.
 */
bool beside_works(const struct tf_map *map, const struct tf_thread *mine, uint32_t context,
                  CUstream stream, int ptds, uint64_t since);

#endif
