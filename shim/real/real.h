/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real functions behind the wrappers, found on first use. For wrappers and for the few calls
 * the shim makes itself.
 */
#ifndef SPY_REAL_H
#define SPY_REAL_H

#include <stdbool.h>
#include "shim/base/cuda_types.h"
#include "shim/core/format/calls.h"
#include "real_gen.h"

enum { SPY_RUNTIME_11, SPY_RUNTIME_12, SPY_RUNTIME_13, SPY_RUNTIMES };

extern union spy_driver spy_driver;
extern union spy_runtime spy_runtime[SPY_RUNTIMES];

/*
 * The function to forward to: `member` once it is found. A symbol that nobody has is replaced by
 * one that returns 801, which is "not supported" in both APIs (in a process without a driver: 100
 * from cuInit, 3 from all else).
 */
#define SPY_REAL(member, call)                                                                     \
	__extension__({                                                                            \
		__typeof__(member) found_ = __atomic_load_n(&(member), __ATOMIC_RELAXED);          \
		__builtin_expect(found_ != NULL, 1)                                                \
		        ? found_                                                                   \
		        : (__typeof__(member))spy_find_real((void **)&(member), call);             \
	})

void *spy_find_real(void **slot, unsigned call) __attribute__((cold));

/* By our constructor, while no other thread holds the loader's lock for a reason of the program's:
 * looks up the functions of a driver that the program is linked with. A call of one that is loaded
 * later has them looked up then. May leave something in dlerror(). */
void real_at_load(void);

/* The call whose function of the driver this is; SPY_CALLS: of none, or no driver is known. */
uint32_t real_call(const void *real);

/* Knows the driver that holds `function`, if it is one; true where a driver is known then. */
bool real_know_driver(void *function);
bool real_driver_known(void);

/* Any symbol of the driver; NULL where it has none. Loads nothing. */
void *spy_driver_symbol(const char *name) __attribute__((cold));

/* Functions that are of use only together, each into its slot; `older`: another name where the
 * driver lacks the first, or NULL. False: it lacks one. driver_symbols.c. */
struct spy_wanted {
	void *slot;
	const char *name, *older;
};
bool spy_driver_symbols(const struct spy_wanted *wanted, unsigned count) __attribute__((cold));

#endif
