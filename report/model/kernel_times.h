/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says of each kind of kernel launch by itself, and of the machine: without the
 * rest of the model, which takes the GPU's cost of a pair into account. For `cudaspy calibrate`.
 */
#ifndef REPORT_KERNEL_TIMES_H
#define REPORT_KERNEL_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_times_row {
	char *name;
	uint32_t grid, block; /* x alone */
	uint64_t count;       /* launches that the time rests on; not 0 */
	double ns;            /* exact: mean time; else how much longer the pair is than one around
	                         an empty kernel */
};

struct kernel_times_device {
	char *name;
	uint32_t index, driver; /* cuDriverGetVersion */
	bool simulated;
};

struct kernel_times_machine {
	char *driver_text; /* of the kernel's driver, "580.95.05"; NULL = not known */
	struct kernel_times_device *devices;
	size_t count;
};

struct kernel_times {
	bool exact;          /* CUPTI's times; else samples */
	uint64_t null_pairs; /* around an empty kernel of the sampler's own */
	struct kernel_times_row *rows;
	size_t count;
	struct kernel_times_machine machine;
};

/* 0, or -1 and why in one line (free it). */
int kernel_times_read(const char *path, struct kernel_times *t, char **why);
void kernel_times_free(struct kernel_times *t);
void kernel_times_machine_free(struct kernel_times_machine *m);

#endif
