/*
 * A lock for cold paths: no allocation, no set-up, can be freed in a forked child by storing 0. For
 * the shim only, and never held across anything that can wait for another thread of the program.
 */
#ifndef SPY_LOCK_H
#define SPY_LOCK_H

#include <sched.h>
#include <stdint.h>

struct spy_spin {
	uint32_t taken;
};

static inline void spin_lock(struct spy_spin *l)
{
	/* Acquire: sees what the last owner wrote. Pairs with spin_unlock(). */
	while (__atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline void spin_unlock(struct spy_spin *l)
{
	__atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE);
}

#endif
