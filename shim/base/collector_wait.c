/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/base/collector_wait.h"

#include <errno.h>
#include <limits.h>
#include "shim/base/sys.h"

/* Futex: 1 = the collector sleeps, and longer than it takes to be late. */
static uint32_t asleep;

bool collector_wait(uint64_t ns)
{
	if (ns <= COLLECTOR_WAIT_SHORT_NS) {
		sys_sleep(ns);
		return false;
	}
	/* Relaxed: who misses it calls again when its ring is full, or waits for the timeout. */
	__atomic_store_n(&asleep, 1, __ATOMIC_RELAXED);
	sys_futex_wait(&asleep, 1, ns);
	return !__atomic_exchange_n(&asleep, 0, __ATOMIC_RELAXED);
}

void collector_wait_end(void)
{
	if (!__atomic_load_n(&asleep, __ATOMIC_RELAXED) ||
	    !__atomic_exchange_n(&asleep, 0, __ATOMIC_RELAXED))
		return;
	int saved = errno;
	sys_futex_wake(&asleep, INT_MAX);
	errno = saved;
}

void collector_wait_after_fork(void)
{
	asleep = 0;
}
