/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/base/fork_apart.h"

#include <errno.h>
#include <stdint.h>
#include "shim/base/clock.h"
#include "shim/base/sys.h"

#define PATIENCE_NS 100000000ull
#define LOOK_NS     200000

static uint32_t inside, forks_near;
static bool amid; /* this process was forked while a thread of ours was inside */

static bool is_to_wait(const uint32_t *count, uint64_t start)
{
	return __atomic_load_n(count, __ATOMIC_SEQ_CST) &&
	       clock_monotonic_ns() - start <= PATIENCE_NS;
}

/*
 * Either the thread that forks sees us inside and waits, or we see it coming and wait.
 * Sequentially consistent: of the two stores, each before a load of the other's, one comes first.
 */
bool fork_apart_enter(void)
{
	uint64_t start = clock_monotonic_ns();
	int saved = errno;

	if (__atomic_load_n(&amid, __ATOMIC_RELAXED))
		return false;
	__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
	while (is_to_wait(&forks_near, start)) {
		__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		sys_sleep(LOOK_NS);
		__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
	}
	errno = saved;
	return true;
}

void fork_apart_leave(void)
{
	__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
}

void fork_apart_before(void)
{
	uint64_t start = clock_monotonic_ns();
	int saved = errno;

	__atomic_add_fetch(&forks_near, 1, __ATOMIC_SEQ_CST);
	while (is_to_wait(&inside, start))
		sys_sleep(LOOK_NS);
	errno = saved;
}

void fork_apart_after_in_parent(void)
{
	__atomic_sub_fetch(&forks_near, 1, __ATOMIC_SEQ_CST);
}

void fork_apart_after_in_child(void)
{
	amid |= inside != 0;
	inside = forks_near = 0;
}
