/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no child may be made in the middle of: a thread of ours is where it may hold a lock that is
 * not ours, the loader's or NVML's. In a child that thread is gone, and the lock taken for ever:
 * the first dlopen(), C++ exception or call of NVML there would never return. So a fork waits until
 * all of our threads are outside, a tenth of a second at most. For cold paths.
 */
#ifndef SPY_FORK_APART_H
#define SPY_FORK_APART_H

#include <stdbool.h>

/* False: this process was forked in the middle all the same: stay outside. */
bool fork_apart_enter(void) __attribute__((cold));
void fork_apart_leave(void) __attribute__((cold));

/* Around a fork. */
void fork_apart_before(void) __attribute__((cold));
void fork_apart_after_in_parent(void) __attribute__((cold));
void fork_apart_after_in_child(void) __attribute__((cold));

#endif
