/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from a model by rules: why the program is slow, what is wrong in it, and what
 * changes would gain. For the gate and the outputs, which only read it.
 */
#ifndef REPORT_ANALYSIS_H
#define REPORT_ANALYSIS_H

#include "report/analysis/findings/findings.h"
#include "report/analysis/verdict/verdict.h"
#include "report/analysis/whatif/whatif.h"

struct analysis {
	struct whatifs *whatifs; /* predictions, made when they are asked for */
	struct verdict verdict;
	struct findings findings;
};

/* Of a finished model, which outlives it. */
void analysis_make(struct analysis *a, const struct model *m);
void analysis_free(struct analysis *a);

#endif
