/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the host's that a program gives to a stream: cuLaunchHostFunc, cuStreamAddCallback.
 *
 *   - the call returns at once, and takes no place in a launch queue
 *   - a function is in its stream's order, as an event is: it runs when the work ahead of it has
 *     ended, and the work behind it begins when it has returned. On the legacy default stream it
 *     stands between the work of the blocking streams too (streams.h)
 *   - what waits for the stream, or for an event behind the function, waits for the function too.
 *     How long that runs is recorded by nobody: such a wait, and a query that says "not ready",
 *     tell nothing of how long the work ahead of it took
 *   - functions of all streams of a process run one after another
 *
 * Source: tests/gpu/hold_facts.cu on an H200, driver 580 (facts queue:host_function,
 * waits:*host_function*, hold:host_function:*, hold:free:device:behind_host_function,
 * takes:two_kernels:*).
 */
#ifndef SPY_HOST_FUNCTIONS_H
#define SPY_HOST_FUNCTIONS_H

#include <stdbool.h>
#include "shim/core/cuda/roles.h"
#include "shim/core/format/trace_format.h"

/*
 * From the end of the work ahead to the start of the work behind a function that does nothing, ns,
 * beside the gap between any two: the GPU tells the driver's thread, which sleeps, and that tells
 * the GPU. All of it queued, two kernels took 8.5 us, 75.8 us with a function between, 75.6 with
 * two (takes:two_kernels:*): functions with no work between them cost it once.
 */
#define CUDA_HOST_FUNCTION_NS 67000.0

/* The record is of a call that gave a function to the stream that it names. Recordings of earlier
 * versions do not say which stream it was. */
static inline bool cuda_gives_function(unsigned role, const struct tf_record *r)
{
	return role == CUDA_ROLE_HOST_FUNCTION && !r->result && r->arg[0] &&
	       !(r->flags & (TF_CAPTURED | TF_NO_ARGS));
}

#endif
