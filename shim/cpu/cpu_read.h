/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel says of CPUs: how long threads waited for one, how many there are, what the
 * cgroups allow. Reads small files by system calls of its own: no allocation, no stdio, no point at
 * which a thread can be cancelled, and little stack. For cpu.c.
 */
#ifndef SPY_CPU_READ_H
#define SPY_CPU_READ_H

#include <stdbool.h>
#include <stdint.h>

/* In front of every path; only tests have another one than "". At most 256 bytes. */
extern const char *cpu_read_root;

/* The time that thread `tid` (0: the caller) was ready to run and did not, ns, since it was made.
 * False where the kernel does not tell. */
bool cpu_read_wait(uint64_t tid, uint64_t *ns);

/* CPUs that thread `tid` (0: the caller) may run on; 0 = not known. */
unsigned cpu_read_cores(uint64_t tid);
/* CPUs that run; 0 = not known. */
unsigned cpu_read_online(void);

#define CPU_LEVELS 8u /* cgroups with a quota, from the process' own up */

struct cpu_level {
	uint64_t quota_us, period_us;
	bool counted; /* the rest is known: since the cgroup was made */
	uint64_t periods, throttled_periods, throttled_ns;
};

/* The cgroups that limit the process, in the same order each time; false where it cannot be told
 * whether there are any. */
bool cpu_read_limits(struct cpu_level levels[CPU_LEVELS], unsigned *count);

#endif
