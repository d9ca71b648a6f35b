/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of intercepted calls as C sees it: ids, names, classes, wrappers, and the real
 * functions behind them. For the shim alone; the reporter reads names and classes from the
 * recording.
 */
#ifndef SPY_CALLS_H
#define SPY_CALLS_H

#include <stdint.h>
#include "shim/core/format/classes.h"
#include "calls_gen.h"

struct spy_call_row {
	const char *name; /* ELF symbol */
	uint8_t cls;      /* enum spy_class */
	uint8_t level;    /* enum spy_level */
};

extern const struct spy_call_row spy_call_rows[SPY_CALLS];
extern void *const spy_wrappers[SPY_DRIVER_CALLS];

/* Base names of driver entries that are known and left alone, sorted. */
extern const char *const spy_passed[];
extern const unsigned spy_passed_count;

#endif
