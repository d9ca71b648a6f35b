/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls took by stack: those whose stacks were taken, and the rest of each function in one
 * stack of its own, so that all together are all calls of the run. For the exports of profiles.
 */
#ifndef REPORT_EXPORT_STACKS_H
#define REPORT_EXPORT_STACKS_H

#include "report/output/export/export.h"

enum stack_value { STACK_CALLS, STACK_API, STACK_WASTED, STACK_GPU, STACK_BYTES, STACK_VALUES };

struct export_stack {
	const char *api;               /* the innermost frame */
	const struct model_site *site; /* its other frames; NULL = no stack was taken */
	const char *kind;              /* "wait", "launch"; the class of the call */
	double value[STACK_VALUES];    /* NaN = not known */
	bool estimated;                /* its calls and API time stand for more than were seen */
};

struct export_stacks {
	struct export_stack *items; /* the model's sites, as they stand there, before the rests */
	size_t count, sites;
	bool known[STACK_VALUES]; /* of some stack */
};

void export_stacks_make(struct export_stacks *to, const struct model *m);
void export_stacks_free(struct export_stacks *s);
/* The outermost frame that stands for those that were not taken, or that says which thread it was,
 * where that was in no Python; NULL = there is none (free it). */
char *export_stack_root(const struct export_stack *s);

/* The innermost frame of GPU time that belongs to no site. */
#define STACK_GPU_REST "(GPU work of calls whose stacks were not taken)"

#endif
