/* SPDX-License-Identifier: Apache-2.0 */
/* What span.c and span_inside.c have in common. */
#ifndef SPY_SPAN_INTERNAL_H
#define SPY_SPAN_INTERNAL_H

#include "shim/record/span.h"

/* An outermost span whose record is under way in the ring, or in the spare one. */
static inline bool is_root_recorded(const struct spy_span *o)
{
	return o->mode == SPAN_RECORDED || o->mode == SPAN_SLOWLY;
}

/* Counts what spy_count_call() does not: failures, first launches, what the class adds up. */
void span_count_rest(struct tf_thread *th, struct spy_span *s, int result, uint64_t ticks,
                     uint64_t end);

/* The end of a nested call that is timed. */
void span_leave_timed(struct spy_span *s, int result);

/* The end of a SPAN_INSIDE call. It is counted as any call, and its time is taken out of the call
 * around it. It gets a record only if it interrupted no code of the shim. */
void span_leave_inside(struct spy_span *s, int result);

/* The end of a call that was taken for left by a longjmp, but was not: the program switches stacks
 * (coroutines). */
void span_leave_overtaken(struct spy_span *s, int result);

#endif
