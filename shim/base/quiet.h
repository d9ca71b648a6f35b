/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quiet sections: while one is under way no handler of a signal runs on the thread and it is not
 * cancelled. Every lock of ours is held in one (lock.h): a handler that calls CUDA, exit() or
 * fork() never finds its own thread in the midst of what a lock protects. Floating-point control is
 * the default one meanwhile. For the shim's cold paths.
 *
 * Signals that the thread's own instructions raise (SIGSEGV, SIGBUS, ...) come through.
 */
#ifndef SPY_QUIET_H
#define SPY_QUIET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Sections may lie in one another. Leave errno alone. */
void quiet_begin(void);
void quiet_end(void);

/* Makes a thread of ours, which begins with quiet_thread(): with our own stack size, and no signal
 * of the program's in it from the first moment on. 0, or an error's number. */
int quiet_make_thread(pthread_t *thread, void *(*f)(void *), bool detached);

/* A thread of ours is in one for all its life. */
void quiet_thread(void);

/* What a thread of the program's has: signals blocked (as the kernel has them), its name. */
struct quiet_origin {
	uint64_t signals;
	char name[16];
};
struct quiet_origin quiet_origin(void);

/* A thread of ours ends. `last`: all others have ended, and the process does, in it: its handlers
 * of exit find what they would have found. NULL: others go on. */
void quiet_thread_ends(const struct quiet_origin *last);

/* Whether the calling thread is in one: it is in our own code, and whatever it is doing is not
 * done. */
bool quiet_now(void);

#endif
