/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about a finding, in CUDA C and in the words of each framework. For the findings and
 * the outputs. */
#ifndef REPORT_ADVICE_H
#define REPORT_ADVICE_H

#include "report/analysis/verdict/verdict.h"
#include "report/model/framework.h"

struct advice {
	const char *fix;   /* what to do, and the API to do it with */
	const char *brief; /* the same in at most FINDING_BRIEF columns */
};

/* Of a finding's id; none: in CUDA C. NULL = there is none. */
const struct advice *advice_of(const char *id, enum framework framework);
/* What would help against a verdict, in as few columns; NULL = nothing. */
const char *advice_of_class(enum verdict_class cls, enum framework framework);
/* The same against copies between host and GPU, by the way that has a gain. */
const char *advice_of_copies(enum verdict_copy_way way, enum framework framework);

#endif
