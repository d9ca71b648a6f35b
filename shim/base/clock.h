/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the hot path, in ticks: the CPU's counter where it is invariant, else
 * CLOCK_MONOTONIC. Never converted here: bracketed triples of (tick, monotonic, real time) go into
 * the recording, the reporter converts.
 */
#ifndef SPY_CLOCK_H
#define SPY_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "shim/core/format/trace_format.h"

extern uint32_t spy_clock_kind; /* enum tf_clock; set once by clock_choose() */

static inline uint64_t clock_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Whether the clock is the CPU's counter: read in place, without a call. */
static inline int spy_clock_is_counter(void)
{
#if defined(__x86_64__)
	return spy_clock_kind == TF_CLOCK_TSC;
#elif defined(__aarch64__)
	return spy_clock_kind == TF_CLOCK_CNTVCT;
#endif
}

/* No fence: the error is some nanoseconds, the shortest call some hundred. */
static inline uint64_t spy_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#endif
}

static inline uint64_t spy_clock(void)
{
	if (__builtin_expect(spy_clock_is_counter(), 1))
		return spy_counter();
	return clock_monotonic_ns();
}

/* Chooses the clock, the CPU's counter only where `counter` allows it; called once, before the
 * first reading. */
void clock_choose(bool counter);

/* The clock and CLOCK_MONOTONIC when the shim was loaded, and what `ticks` are in ns since then;
 * the rate is as good as the time since is long. */
extern struct tf_clock_triple spy_load_clock;
uint64_t clock_ns_of(uint64_t ticks);

/* The tightest of `brackets` readings of all three clocks. */
struct tf_clock_triple clock_triple(int brackets);

#endif
