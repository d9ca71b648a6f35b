/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVML says of the devices, asked at the start and at exit: clocks and what holds them down,
 * power, temperature, memory errors, the PCIe link, other processes. Only read, by threads of our
 * own that live no longer than it takes: NVML may be slow, and hang where a GPU is lost. For the
 * life cycle.
 */
#ifndef SPY_NVML_ENVIRONMENT_H
#define SPY_NVML_ENVIRONMENT_H

#include "shim/nvml/nvml_api.h"
#include "shim/core/format/trace_format.h"

/* Makes the area and makes the first reading, for which the caller waits a tenth of a second at
 * most. After the devices were described, under no lock; a forked child asks nothing. */
void environment_start(void) __attribute__((cold));

/* At exit: begins the last reading, of the devices that were used; then waits for it, a tenth
 * of a second at most. */
void environment_last_begins(void) __attribute__((cold));
void environment_last_ends(void) __attribute__((cold));

/* In a forked child. */
void environment_after_fork_in_child(void) __attribute__((cold));

/* For environment.c: fills a reading of the device whose handle is `device`. */
void environment_read(const struct nv_functions *nvml, void *device, struct tf_reading *to);

#endif
