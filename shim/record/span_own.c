/* SPDX-License-Identifier: Apache-2.0 */
/* Work of our own inside the program's calls, and what a recorded call costs. */
#include "shim/record/span.h"

#include "shim/base/own_stack.h"
#include "shim/base/quiet.h"
#include "shim/record/thread.h"

/* ---- work of our own ---- */

void spy_do_own(void (*f)(void *argument), void *argument)
{
	struct spy_tls *t = &spy_tls;
	struct spy_span here = {.mode = SPAN_OURS,
	                        .mark = SPAN_MARK,
	                        .call = SPY_CALLS,
	                        .cls = SPY_CLASS_OTHER,
	                        .rec = &t->spare,
	                        .real = 1,
	                        .below = t->outer};

	quiet_begin();
	t->outer = &here;
	own_stack_call(f, argument);
	t->outer = here.below;
	quiet_end();
}

bool spy_own_inside_call(void)
{
	return spy_tls.outer && spy_tls.outer->mode == SPAN_OURS && spy_tls.outer->below;
}

/* ---- what it costs ---- */

enum { COST_CALLS = 255 };

static void sort(uint64_t ticks[COST_CALLS])
{
	for (int i = 1; i < COST_CALLS; i++) {
		uint64_t x = ticks[i];
		int k = i;
		for (; k && ticks[k - 1] > x; k--)
			ticks[k] = ticks[k - 1];
		ticks[k] = x;
	}
}

/* The mean without a sixteenth at either end, in 1/1024: a counter may go on by steps of 26 ticks,
 * and a median is one of them. */
static uint64_t mean_x1024(uint64_t ticks[COST_CALLS])
{
	enum { SIDE = COST_CALLS / 16, MIDDLE = COST_CALLS - 2 * SIDE };
	uint64_t sum = 0;

	sort(ticks);
	for (int i = SIDE; i < SIDE + MIDDLE; i++)
		sum += ticks[i];
	return sum * 1024 / MIDDLE;
}

static __attribute__((noinline)) void driver(void)
{
	__asm__ volatile("");
}
static void (*volatile real)(void) = driver;

/* As a wrapper does, beside the arguments. */
static __attribute__((noinline)) void wrapper(void)
{
	struct spy_span s;

	spy_enter(&s, 0, SPY_CLASS_OTHER, 0);
	spy_real_begins();
	real();
	spy_real_ended(&s);
	spy_leave(&s, 0, SPY_CLASS_OTHER, 0);
}

uint64_t span_cost_x1024(struct tf_thread *scratch, struct tf_ring *ring)
{
	struct spy_tls saved = spy_tls;
	uint64_t bare[COST_CALLS], recorded[COST_CALLS];

	spy_tls = (struct spy_tls){.thread = scratch,
	                           .ring = ring,
	                           .slots = ring->slots,
	                           .mask = ring->capacity - 1,
	                           .generation = spy_generation};
	for (int i = 0; i < COST_CALLS; i++) {
		ring->tail = spy_tls.head;
		spy_tls.limit = spy_tls.head + 1;
		uint64_t start = spy_clock();
		real();
		uint64_t between = spy_clock();
		wrapper();
		recorded[i] = spy_clock() - between;
		bare[i] = between - start;
	}
	spy_tls = saved;
	uint64_t with = mean_x1024(recorded), without = mean_x1024(bare);
	return with > without ? with - without : 0;
}
