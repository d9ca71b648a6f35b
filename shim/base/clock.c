/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/base/clock.h"

#include "shim/base/sys.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

uint32_t spy_clock_kind = TF_CLOCK_MONOTONIC;

#if defined(__x86_64__)
/* Intel SDM vol. 3, 18.17: CPUID 80000007H EDX bit 8 says that the TSC runs at one rate in all
 * power states. */
static int tsc_invariant(void)
{
	unsigned a, b, c, d = 0;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* The kernel gives the TSC up when it finds the cores' counters apart. */
static int kernel_trusts_tsc(void)
{
	char text[16] = "";
	uint32_t n =
	        sys_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource",
	                      text, sizeof(text));

	return n >= 3 && !strncmp(text, "tsc", 3) && (text[3] == '\n' || text[3] == '\0');
}
#endif

void clock_choose(bool counter)
{
#if defined(__x86_64__)
	spy_clock_kind = counter && tsc_invariant() && kernel_trusts_tsc() ? TF_CLOCK_TSC
	                                                                   : TF_CLOCK_MONOTONIC;
#elif defined(__aarch64__)
	/* Of constant rate by architecture (Arm ARM, D12.1). */
	spy_clock_kind = counter ? TF_CLOCK_CNTVCT : TF_CLOCK_MONOTONIC;
#endif
}

struct tf_clock_triple spy_load_clock;

uint64_t clock_ns_of(uint64_t ticks)
{
	uint64_t then = spy_load_clock.tick, now = spy_clock(),
	         ns = clock_monotonic_ns() - spy_load_clock.monotonic_ns;

	if (spy_clock_kind == TF_CLOCK_MONOTONIC || now <= then)
		return ticks;
	return (uint64_t)((unsigned __int128)ticks * ns / (now - then)); /* nothing floats here */
}

struct tf_clock_triple clock_triple(int brackets)
{
	struct tf_clock_triple best = {.bracket = UINT64_MAX};

	for (int i = 0; i < brackets; i++) {
		struct timespec real;
		uint64_t before = spy_clock();
		uint64_t monotonic = clock_monotonic_ns();
		clock_gettime(CLOCK_REALTIME, &real);
		uint64_t after = spy_clock();
		if (after - before >= best.bracket)
			continue;
		best.bracket = after - before;
		best.tick = before + (after - before) / 2;
		best.monotonic_ns = monotonic;
		best.realtime_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
	}
	return best;
}
