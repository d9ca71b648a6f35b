/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the program had CPUs to run on: what each thread waited for one, by the kernel's count of
 * it, and how many the process may use. Read now and then by the collector, and by a thread itself
 * when it gets its slot and gives it back; never on a call's way. For the collector and thread.c.
 */
#ifndef SPY_CPU_H
#define SPY_CPU_H

#include <stdbool.h>
#include "shim/core/format/trace_format.h"

/* By the calling thread, whose slot this is: it was given it, or is about to end. */
void cpu_thread_begins(struct tf_thread *th) __attribute__((cold));
void cpu_thread_ends(struct tf_thread *th) __attribute__((cold));

/* Reads all of it. Under the collector's lock, as long as the recording is open. */
void cpu_beat(void) __attribute__((cold));

void cpu_after_fork(void);

#endif
