/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sampler asks about a kernel. For sampler.c.
 */
#ifndef SPY_SAMPLER_KERNEL_H
#define SPY_SAMPLER_KERNEL_H

#include "shim/sampler/sampler_context.h"
#include "shim/record/span.h"

/* Whether a kernel waits for other GPUs, or may: nothing is put ahead of it. By its name; one
 * without a known name may. */
bool kernel_communicates(const void *function);

/* Gives a record of the facts about a launch class (TF_CALL_FACTS) to the calling thread's ring.
 * Asked once a class, on the thread that is launching it, whose handle is valid. */
void kernel_facts(const struct sampler_context *c, const void *function, const struct tf_record *r);

/*
 * The same in cupti mode, as CUPTI tells no occupancy. Before a launch: whether the thread meets
 * the class of this key for the first time (`what`: its function, NULL = not to be asked about).
 * After such a one: asks, unless a capture is under way.
 */
bool kernel_meet(const struct spy_span *s, uint64_t key, const void *what);
void kernel_met(const struct spy_span *s, CUresult rc);

#endif
