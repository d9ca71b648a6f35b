/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of calibrations in the user's cache folder, shim/core/gpu_time/gpu_cache.h, as
 * `cudaspy calibrate` changes it.
 */
#ifndef REPORT_CALIBRATE_STORE_H
#define REPORT_CALIBRATE_STORE_H

#include "report/calibrate/calibrate.h"

/* Where it is, or will be (free it); NULL and one line: no home folder. */
char *store_path(void);

/* What a recording would go by now for this GPU. */
struct calibrate_before store_before(const char *path, const struct kernel_times_device *d,
                                     uint32_t clock_khz);

/* Puts the results in, each in place of an earlier one of the same GPU, driver and clock. The file
 * is replaced as a whole, by this user's alone. 0, or -1 and one line. */
int store_results(const char *path, const struct calibrate_result *results, size_t count);

#endif
