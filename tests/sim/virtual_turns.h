/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process's other threads take turns with its first one, on a clock that only the first one
 * moves. Another thread is known from pthread_create() on. It is waited for from then until it
 * sleeps, waits at a futex or ends, and from its being woken on.
 *
 * Not waited for until it sleeps next: a thread that the kernel has asleep for a reason not known
 * here, and one that reads the clock without end. Both may wait for the first thread.
 *
 * Nothing here changes errno.
 */
#ifndef SIM_VIRTUAL_TURNS_H
#define SIM_VIRTUAL_TURNS_H

#include <stdint.h>

/* Is the calling thread the process's first one? */
int turns_first(void);
/* Of the first thread: returns when no other one is at work. */
void turns_wait(void);
/* The time at which the next sleeper is to be woken; UINT64_MAX: none. */
uint64_t turns_next_ns(void);
/* Of the first thread: wakes who sleeps until `now_ns` or before, and waits for them. */
void turns_wake_due(uint64_t now_ns);
/* Of another thread: it has read the clock. */
void turns_read(void);

/* The system call, as the kernel answers it: -errno where it fails. */
long turns_syscall(long number, long a, long b, long c, long d, long e, long f);

/* Of another thread: a sleep of `ns` from `now_ns` on. */
void turns_sleep(uint64_t now_ns, uint64_t ns);

/* The time, for what syscall() is asked for. */
uint64_t virtual_clock_ns(void);

#endif
