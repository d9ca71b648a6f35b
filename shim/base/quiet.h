/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quiet sections: while one is under way no handler of a signal runs on the thread and it is not
 * cancelled. Every lock of ours is held in one (lock.h): a handler that calls CUDA, exit() or
 * fork() never finds its own thread in the midst of what a lock protects. For the shim's cold
 * paths.
 *
 * Signals that the thread's own instructions raise (SIGSEGV, SIGBUS, ...) come through.
 */
#ifndef SPY_QUIET_H
#define SPY_QUIET_H

#include <stdbool.h>

/* Sections may lie in one another. Leave errno alone. */
void quiet_begin(void);
void quiet_end(void);

/* A thread of ours is in one for all its life; but if it ends as the last one, the process does, in
 * it. */
void quiet_thread(void);
void quiet_thread_ends(void);

/* Whether the calling thread is in one: it is in our own code, and whatever it is doing is not
 * done. */
bool quiet_now(void);

#endif
