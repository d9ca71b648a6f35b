/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from a model by rules: why the program is slow, what is wrong in it, and what
 * changes would gain. For the gate and the outputs, which only read it.
 */
#ifndef REPORT_ANALYSIS_H
#define REPORT_ANALYSIS_H

#include "report/analysis/findings/advice.h"
#include "report/analysis/findings/findings.h"
#include "report/analysis/verdict/verdict.h"
#include "report/analysis/whatif/whatif.h"

struct analysis {
	size_t phase; /* that is judged: index in the model's; PHASE_NONE = the whole run */
	const struct model *of;  /* the model, or its view of that phase */
	struct whatifs *whatifs; /* predictions, made when they are asked for */
	struct verdict verdict;
	struct findings findings;
	struct verdict *phases; /* by phase; of the end there is none: no class, no reason */
	size_t phase_count;
	struct model *view;
};

/* Of a finished model, which outlives it: of one phase, or with PHASE_NONE of the whole run. */
void analysis_make(struct analysis *a, const struct model *m, size_t phase);
void analysis_free(struct analysis *a);

#endif
