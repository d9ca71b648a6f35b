/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What check found, in each form it can be written. For check.
 */
#ifndef REPORT_OUT_CHECK_H
#define REPORT_OUT_CHECK_H

#include "report/gate/judge.h"
#include "report/output/out.h"

struct out_check {
	const char *baseline; /* as it was named; NULL = there is none */
	struct run_set before, after;
	struct judgement *judgements; /* one for each rule */
	size_t count;
	size_t outcomes[3]; /* how many of each */
	enum judge_outcome outcome;
};

void out_check_text(const struct out_check *c, const struct out_options *o);
void out_check_markdown(const struct out_check *c, const struct out_options *o);
void out_check_json(const struct out_check *c, const struct out_options *o); /* cudaspy.check/1 */
void out_check_junit(const struct out_check *c, const struct out_options *o);
/* Workflow commands of GitHub Actions: one annotation for each rule that did not pass. */
void out_check_github(const struct out_check *c, const struct out_options *o);

/* What there is to say of a rule in one line (free it). */
char *out_check_sentence(const struct judgement *j);
/* "1 of 8 rules failed, 1 inconclusive, 6 passed" (free it). */
char *out_check_summary(const struct out_check *c);

#endif
