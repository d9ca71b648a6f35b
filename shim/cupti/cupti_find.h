/* SPDX-License-Identifier: Apache-2.0 */
/* Finding libcupti in a process that may have one, several or none. For shim/cupti/cupti.c. */
#ifndef SPY_CUPTI_FIND_H
#define SPY_CUPTI_FIND_H

#include <stdbool.h>
#include "shim/cupti/cupti_api.h"

/*
 * Opens libcupti and fills `to`: the copy that is loaded already, else the one that fits the
 * driver (cuDriverGetVersion(), 0 = unknown), else an older one; looked for near the loaded CUDA
 * runtime, where the loader looks, in CUDA_HOME, CUDA_PATH and /usr/local/cuda. False: none.
 * Opens libraries: never under a lock, never from dlsym.
 */
bool cupti_find(struct cp_functions *to, int driver_version);

/* A function of the libcupti that code at `caller` would call if we were not in front of it. */
void *cupti_find_next(const char *name, const void *caller);

/* Whether a tool that lives on CUPTI was injected into this process, or is about to be. */
bool cupti_find_tools(void);

#endif
