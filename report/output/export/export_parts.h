/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stack took, divided over the processes, phases, devices and streams that its calls were
 * of: in the proportion of the records that the recordings keep. For exports of profiles.
 */
#ifndef REPORT_EXPORT_PARTS_H
#define REPORT_EXPORT_PARTS_H

#include "report/output/export/export_stacks.h"

#define PARTS_NONE UINT32_MAX

struct export_part {
	uint32_t stack, process;
	uint32_t phase;  /* index in the model's phases; PARTS_NONE = between them */
	uint32_t stream; /* as other exports number it; PARTS_NONE = of none */
	uint32_t device;
	double weight[STACK_VALUES]; /* what its records took */
};

struct export_parts {
	struct export_part *items; /* by stack */
	size_t count;
	size_t *first; /* by stack: its first part; those of the next one end them */
	bool whole;    /* no record of any call is missing */
};

/* -1 when a recording cannot be read any more and one line was written. */
int export_parts_make(struct export_parts *to, const struct export_job *job,
                      const struct export_stacks *stacks);
void export_parts_free(struct export_parts *p);

#endif
