/* SPDX-License-Identifier: Apache-2.0 */
/* How span.c and span_inside.c hang together. */
#ifndef SPY_SPAN_INTERNAL_H
#define SPY_SPAN_INTERNAL_H

#include "shim/record/span.h"

/* An outermost span whose record is under way in the ring, or in the spare one. */
static inline bool is_root_recorded(const struct spy_span *o)
{
	return o->mode == SPAN_RECORDED || o->mode == SPAN_SLOWLY;
}

/* What a call's figures have beside its count and its time. */
void span_count_rest(struct tf_thread *th, struct spy_span *s, int result, uint64_t ticks,
                     uint64_t end);

/* The end of a nested call that is timed. */
void span_leave_timed(struct spy_span *s, int result);

/* The end of a call of the program's inside another. Counted as any call; its time is none of the
 * one that it lies in. Its record finds a place only where nothing of ours was interrupted. */
void span_leave_inside(struct spy_span *s, int result);

/* The end of one that was taken for dead, and was not: a stack of the program's own making. */
void span_leave_overtaken(struct spy_span *s, int result);

#endif
