/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs from one kind of GPU to another in what a pair of events costs.
 *
 * A run measures what a pair around an empty kernel shows; how much of that is the kernel, it
 * cannot: the time of a kernel is from where CUPTI says that it starts to where it says that it
 * ends, and no clock of a program's shows these. So what CUPTI says of the empty kernel is measured
 * once a kind of GPU: by `cudaspy calibrate` on the user's machine, which the shim puts into the
 * recording (struct tf_device), or for the table here (scripts/gpu_acceptance --parts pair_cost).
 */
#ifndef SPY_GPU_KINDS_H
#define SPY_GPU_KINDS_H

#include "shim/core/format/trace_map.h"

/* Where the figures are from, the least known first. */
enum gpu_source {
	GPU_UNMEASURED, /* the middle of those measured */
	GPU_BUILT_IN,
	GPU_CALIBRATED,
};

struct gpu_kind {
	const char *name;      /* as the driver has it, or how that begins; NULL: any other */
	double null_kernel_ns; /* CUPTI's time of our empty kernel */
	double off_ns; /* half of a 95 % interval: what a pair less its cost is off from CUPTI's */
};

/* By its name; of one that nobody measured (`name` NULL) the middle of those measured. */
const struct gpu_kind *gpu_kind(const char *name);

struct gpu_figures {
	double null_kernel_ns, off_ns; /* struct gpu_kind */
	enum gpu_source source;
	uint64_t calibrated; /* seconds since 1970, where it was; of several the earliest */
	bool differ;         /* the devices are of several kinds */
};

/* Of a recording's devices together, as no class of work knows its device: where they differ, the
 * middle, with an interval that holds all; as well known as the least known of them. */
struct gpu_figures gpu_kind_of(const struct tf_map *map);

/*
 * Of a kind that nobody measured a run tells something after all: how much longer a pair is with an
 * empty kernel in it than with nothing (`apart_ns`, with its variance, ns^2). Where the figures are
 * of such a kind they become the mean of that, less what starting a kernel takes on the kinds that
 * were measured, and of the middle of those, each by how well it is known.
 */
void gpu_kind_told(struct gpu_figures *f, double apart_ns, double variance);

#endif
