/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is still done around launches where CUPTI times all work: the driver is asked about each new
 * class of kernels, as CUPTI tells no occupancy, and now and then the call site is taken. For
 * sampler.c.
 */
#ifndef SPY_SAMPLER_CUPTI_H
#define SPY_SAMPLER_CUPTI_H

#include "shim/base/cuda_types.h"
#include "shim/record/span.h"

/* Before a piece of work is given to the GPU. `what`: the function of a kernel launch, or NULL. A
 * kernel class that the thread meets for the first time sets s->gpu, for sampler_cupti_after(). */
void sampler_cupti_before(struct spy_span *s, uint64_t key, const void *what);
/* After it: asks about the new class, unless a capture is under way. */
void sampler_cupti_after(const struct spy_span *s, CUresult rc);

#endif
