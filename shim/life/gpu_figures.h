/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `cudaspy calibrate` found out about the GPUs of this machine, put into the recording. For
 * recording.c.
 */
#ifndef SPY_GPU_FIGURES_H
#define SPY_GPU_FIGURES_H

#include "shim/core/format/trace_map.h"

/* Reads the user's file; at each start of a recording, by one thread. */
void gpu_figures_load(void);
/* Fills a device in, if it is in the file. `clock_khz`: as the driver says. */
void gpu_figures_fill(struct tf_device *d, uint32_t driver, uint32_t clock_khz);

#endif
