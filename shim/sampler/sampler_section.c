/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_section.h"

#include <sched.h>
#include "shim/sampler/sampler_driver.h"
#include "shim/record/span.h"

#define WAIT_MOST_NS 1000000u

/* Threads in a section. A cache line of its own: it is written often. */
static struct {
	uint32_t count;
	char rest[60];
} sections __attribute__((aligned(64)));

bool section_clear(void)
{
	return !__atomic_load_n(&spy_gate_page.gate.captures, __ATOMIC_SEQ_CST);
}

bool section_enter(CUstreamCaptureMode *mode)
{
	*mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	/* Sequentially consistent, as is section_clear(): either we see the capture, or it sees us.
	 * Pairs with the beginning of a capture (shim/args) and section_wait(). */
	__atomic_fetch_add(&sections.count, 1, __ATOMIC_SEQ_CST);
	if (section_clear() && sampler_cu.exchange_mode(mode) == CUDA_SUCCESS)
		return true;
	__atomic_fetch_sub(&sections.count, 1, __ATOMIC_SEQ_CST);
	return false;
}

void section_leave(CUstreamCaptureMode *mode)
{
	sampler_cu.exchange_mode(mode);
	__atomic_fetch_sub(&sections.count, 1, __ATOMIC_SEQ_CST);
}

void section_wait(void)
{
	if (!__atomic_load_n(&sections.count, __ATOMIC_SEQ_CST))
		return;
	uint64_t until = clock_monotonic_ns() + WAIT_MOST_NS;
	while (__atomic_load_n(&sections.count, __ATOMIC_SEQ_CST) && clock_monotonic_ns() < until)
		sched_yield();
}

void section_after_fork(void)
{
	sections.count = 0;
}
