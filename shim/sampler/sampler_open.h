/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a sample begins, in a section, ahead of the program's call. For sampler.c.
 */
#ifndef SPY_SAMPLER_OPEN_H
#define SPY_SAMPLER_OPEN_H

#include "shim/sampler/sampler_thread.h"

/*
 * Launches a stall on an idle stream, or our empty kernel on a busy one (a stall too, if such
 * streams ran dry before), and records the first event of m->pair; now and then a calibration
 * instead. True: the program's launch is to come next. `may_stall`: else no stall goes ahead of it.
 */
bool sampler_open(struct sampler *m, const struct spy_span *s, CUstream stream, bool may_stall);

/* Samples that do without a kernel of ours ahead, after one of these waited for a place in the
 * queue. */
#define SAMPLER_FULL 16

/* Whether that is what the sample under way did. */
static inline bool sampler_met_full_queue(const struct sampler *m)
{
	return m->full == SAMPLER_FULL;
}

#endif
