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

uint64_t span_cost_x1024(struct tf_thread *scratch, struct tf_ring *ring)
{
	enum { ROUNDS = 24, CALLS = 64 };
	struct spy_tls saved = spy_tls;
	uint64_t best = UINT64_MAX;

	spy_tls = (struct spy_tls){.thread = scratch,
	                           .ring = ring,
	                           .slots = ring->slots,
	                           .mask = ring->capacity - 1,
	                           .generation = spy_generation};
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = spy_clock();
		for (int i = 0; i < CALLS; i++) {
			struct spy_span s;
			ring->tail = spy_tls.head;
			spy_tls.limit = spy_tls.head + 1;
			spy_enter(&s, 0, SPY_CLASS_OTHER, 0);
			spy_real_begins();
			spy_real_ended(&s);
			spy_leave(&s, 0, SPY_CLASS_OTHER, 0);
		}
		uint64_t ticks = spy_clock() - start;
		if (ticks < best)
			best = ticks;
	}
	spy_tls = saved;
	return best * 1024 / CALLS;
}
