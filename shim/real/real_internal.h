/* SPDX-License-Identifier: Apache-2.0 */
/* The two places where real functions come from: for real*.c alone. */
#ifndef SPY_REAL_INTERNAL_H
#define SPY_REAL_INTERNAL_H

#include "shim/real/real.h"

/* What stands in for a function that nobody has. */
long real_missing(void);

/* Of the driver, which is loaded if need be; one that fails where it lacks the call. */
void *real_find_driver_call(unsigned call);

/* Of one of spy_runtime[]; NULL: it lacks the function, or is not there. */
void *real_find_runtime_call(unsigned runtime, const char *name);

#endif
