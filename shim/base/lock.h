/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock for cold paths: no allocation, no set-up, can be freed in a forked child by storing 0. Its
 * holder is in a quiet section, so that no handler of a signal, and no cancellation, comes between.
 * Waiters sleep in the kernel, whatever their priority. For the shim only, and never held across
 * anything that can wait for another thread of the program.
 */
#ifndef SPY_LOCK_H
#define SPY_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/base/clock.h"
#include "shim/base/quiet.h"
#include "shim/base/sys.h"

struct lock {
	uint32_t word; /* 0 free, 1 taken, 2 taken and waited for: a futex */
};

static inline bool lock_try(struct lock *l)
{
	uint32_t expected = 0;

	quiet_begin();
	/* Acquire: sees what the last owner wrote. Pairs with lock_give(). */
	if (__atomic_compare_exchange_n(&l->word, &expected, 1, false, __ATOMIC_ACQUIRE,
	                                __ATOMIC_RELAXED))
		return true;
	quiet_end();
	return false;
}

/* False: it could not be had within `ns` (UINT64_MAX = however long it takes). */
static inline bool lock_take_within(struct lock *l, uint64_t ns)
{
	uint64_t until = ns == UINT64_MAX ? ns : clock_monotonic_ns() + ns, now = 0;

	if (lock_try(l))
		return true;
	quiet_begin();
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE)) {
		if (until != UINT64_MAX && (now = clock_monotonic_ns()) >= until) {
			quiet_end();
			return false;
		}
		sys_futex_wait(&l->word, 2, until == UINT64_MAX ? until : until - now);
	}
	return true;
}

static inline void lock_take(struct lock *l)
{
	lock_take_within(l, UINT64_MAX);
}

static inline void lock_give(struct lock *l)
{
	/* Release: pairs with lock_try(). */
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		sys_futex_wake(&l->word, 1);
	quiet_end();
}

#endif
