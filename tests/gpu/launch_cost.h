/* SPDX-License-Identifier: Apache-2.0 */
/* The one function of the library that in_turns.h asks for the driver's own entries
 * (launch_cost_real.c). */
#pragma once

#define LAUNCH_COST_LIBRARY "libnvperf_launch_cost.so"
#define LAUNCH_COST_REAL    "launch_cost_real"

/* The driver's own function of this name, even where the shim is preloaded; NULL without a driver.
 */
void *launch_cost_real(const char *name);
