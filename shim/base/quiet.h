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

/* Sections may lie in one another. Leave errno alone. */
void quiet_begin(void);
void quiet_end(void);

/* Makes a thread of ours, which begins with quiet_thread(): with a stack of the usual size or what
 * we need, and no signal of the program's in it from the first moment on. 0, or an error's number.
 */
int quiet_make_thread(pthread_t *thread, void *(*f)(void *), bool detached);

/* A thread of ours is in one for all its life. */
void quiet_thread(void);

/* The calling thread of the program's starts CUDA, or ends: what is its own is remembered, as far
 * as another one may have it that ends the process in its place. */
void quiet_remember(void);

/* A thread of ours ends. `last`: all others have ended, and the process does, in it: its handlers
 * of exit find signals blocked, floating-point control and a name as remembered last. */
void quiet_thread_ends(bool last);

/* Whether the calling thread is in one: it is in our own code, and whatever it is doing is not
 * done. */
bool quiet_now(void);

#endif
