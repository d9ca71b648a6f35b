/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sampler asks about a kernel. For sampler.c.
 */
#ifndef SPY_SAMPLER_KERNEL_H
#define SPY_SAMPLER_KERNEL_H

#include "shim/sampler/sampler_context.h"
#include "shim/record/span.h"

/* Whether a kernel waits for other GPUs, or may (by its name; one without a name may): then no
 * stall is put ahead of it. */
bool kernel_communicates(const void *function);

/* Gives a record of the facts about a launch class (TF_CALL_FACTS) to the calling thread's ring.
 * Asked once a class, on the thread that is launching it, whose handle is valid. */
void kernel_ask(uint32_t warps_per_sm, const void *function, const struct tf_record *r);

#endif
