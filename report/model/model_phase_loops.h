/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which loops a process has: of those that were found and the NVTX ranges that could be steps, the
 * ones that stand for their time. For the phases alone.
 */
#ifndef REPORT_MODEL_PHASE_LOOPS_H
#define REPORT_MODEL_PHASE_LOOPS_H

#include "report/model/model_internal.h"

struct phase_candidate { /* for a loop of one process */
	bool found, taken;
	size_t source;
	uint64_t tid; /* 0 = all threads */
	struct model_stretch *stretches;
	size_t count;
	double time, steps, work; /* time: of the stretches */
	double beside;            /* work of other threads' loops in the same time */
	size_t *alike;            /* of these, the sources of those that do the same */
	size_t alike_count;
};

struct phase_candidates {
	uint32_t process;
	struct phase_candidate *items;
	size_t count;
};

#define PHASE_STEPS_LEAST 4u /* fewer are no phase */

/* Of to->process; `range`: that which is the steps, RANGE_NONE = none. Those to be phases are
 * `taken`, with what the host waits behind their last steps. */
void phase_loops_find(struct phase_candidates *to, const struct model *m, size_t range);
/* The pieces of work that all threads gave in the steps of a loop that was found, where each step
 * has as much as the others; else 0: model_phase_beside.c. */
double phase_loops_work(const struct model *m, uint32_t process, const struct phase_candidate *c);
void phase_loops_free(struct phase_candidates *c);

/* Of the phases that are filled, the loop to judge; PHASE_NONE = the whole run:
 * model_phase_judged.c. */
size_t phase_loops_judged(const struct model *m, size_t range);
/* Whether a loop prepares a later one: data are read, sizes tried. */
bool phase_loop_prepares(const struct model_phase *first, const struct model_phase *later);

#endif
