/* SPDX-License-Identifier: Apache-2.0 */
/* The table of names, versions and forms behind cuGetProcAddress; generated from the headers.
 * Included by the look-up and by the generated table. */
#pragma once
#include "tests/sim/driver_enter.h"

struct proc_entry {
	const char *name; /* base name, as it is asked for */
	unsigned api;
	int version; /* the CUDA version that introduced this ABI */
	int per_thread;
	void *entry; /* the exported symbol */
};

extern const struct proc_entry proc_table[]; /* sorted by name, plain before per-thread, version */
extern const unsigned proc_count;
