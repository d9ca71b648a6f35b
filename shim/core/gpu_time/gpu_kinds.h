/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs from one kind of GPU to another in what a pair of events costs.
 *
 * A run measures what a pair around an empty kernel shows; how much of that is the kernel, it
 * cannot: the time of a kernel is from where CUPTI says that it starts to where it says that it
 * ends, and no clock of a program's shows these. So what CUPTI says of the empty kernel is measured
 * once a kind of GPU (scripts/gpu_acceptance --parts pair_cost).
 */
#ifndef SPY_GPU_KINDS_H
#define SPY_GPU_KINDS_H

#include "shim/core/format/trace_map.h"

struct gpu_kind {
	const char *name;      /* as the driver has it, or how that begins; NULL: any other */
	double null_kernel_ns; /* CUPTI's time of our empty kernel */
	double off_ns; /* half of a 95 % interval: what a pair less its cost is off from CUPTI's */
};

/* By its name; of one that nobody measured (`name` NULL) the middle of those measured. */
const struct gpu_kind *gpu_kind(const char *name);

/* Of a recording's devices: where they are not all of one kind, as of one that nobody measured. */
const struct gpu_kind *gpu_kind_of(const struct tf_map *map);

#endif
