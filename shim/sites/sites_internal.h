/* SPDX-License-Identifier: Apache-2.0 */
/* How the files of shim/sites hang together, beside python.h. */
#ifndef SPY_SITES_INTERNAL_H
#define SPY_SITES_INTERNAL_H

#include <stdbool.h>
#include "shim/record/span.h"
#include "shim/sites/sites.h"

/* The area of the present recording; NULL = none. */
struct tf_sites *sites_area(void);

/* What a thread that is in no Python is called, and works on. */
struct sites_who {
	uint64_t name[2];
	uint32_t range; /* index + 1 */
};
void sites_who(struct sites_who *to);

/* Size and time of the files of code objects that are new. By the collector. */
void files_look(struct tf_sites *area);
void files_after_fork(void);

/* Looks at what is mapped: new objects go into the table, and CPython may be found. */
void objects_scan(void);
/* Whether an address lies in an object that the last scan saw. Any thread. */
bool objects_have(uintptr_t address);
void objects_after_fork(void);

#endif
