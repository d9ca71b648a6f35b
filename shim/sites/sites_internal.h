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

/* A thread that runs no Python has made a call of this site (index + 1): now and then it is looked
 * where the one is that it works for. */
void giver_look(uint32_t site);
void giver_after_fork(void);

#define NATIVE_MOST 32u
/* Return addresses, innermost first. */
struct native_stack {
	uintptr_t at[NATIVE_MOST];
	uint32_t count;
	bool cut; /* there are more */
};
/* Of the calling thread: where the wrapper returns to, and as far as frame pointers lead within the
 * stack, but for CPython's own. errno may change. */
void native_walk(struct spy_caller caller, struct native_stack *to);
void native_after_fork(void);

/* Looks at what is mapped: new objects go into the table, and CPython may be found. */
void objects_scan(void);
/* Whether an address lies in an object that the last scan saw. Any thread. */
bool objects_have(uintptr_t address);
/* The same in its code, and not in CPython's. */
bool objects_have_code(uintptr_t address);
/* Another number once more is known. */
uint32_t objects_version(void);
void objects_after_fork(void);

#endif
