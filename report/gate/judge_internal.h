/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the judge's files work together: counts and words in one, measured figures, steps and NVTX
 * ranges in others. For the judge alone.
 */
#ifndef REPORT_JUDGE_INTERNAL_H
#define REPORT_JUDGE_INTERNAL_H

#include "report/gate/judge.h"

struct judge_trial { /* a rule while it is judged */
	struct judgement *to;
	const struct rule *rule;
	const struct judge *judge;
	double *before, *after; /* one value for each run; NaN = not known */
};

/* A failure stands whatever else is not known; the first reason (taken over) is kept. */
void judge_inconclusive(struct judgement *j, char *reason);
void judge_fail(struct judgement *j);
/* Why this run's figures may be other than they are; NULL = they are exact (free it). */
char *judge_unsure(const struct judge_trial *c, const struct figures *f);
/* The same for ranks alone. */
char *judge_ranks_unsure(const struct judge_trial *c, const struct figures *f);
/* That the rule's figure of this run is not known, and why (free it). */
char *judge_not_known(const struct judge_trial *c, const struct figures *f);
/* Whether a value keeps to a limit, which may be a range. */
bool judge_holds(enum rule_op op, double v, double low, double high);
/* What a relative limit is against this value. */
double judge_limit(const struct rule *r, double before);

void judge_times(struct judge_trial *c);

/* Which line of the program most of a rise comes from; of a failure. */
void judge_find_site(struct judge_trial *c);

/* The number of steps that was said; 0 = it was not, or is not what the rule is about. */
double judge_said(const struct judge_trial *c);
/* The rule is about the steps that the recordings hold, not about totals and a number of steps. */
bool judge_by_steps(const struct judge_trial *c);
/* Why a rule on steps cannot be judged; NULL = it can (free it). */
char *judge_steps_missing(const struct judge_trial *c);
/* After run `i`, whose steps break the rule on average: as much as the steps of a run scatter. */
bool judge_within_scatter(const struct judge_trial *c, size_t i);
/* How many steps were judged, and how they vary. */
void judge_note_steps(struct judge_trial *c);

/* Launches of the kernels that match. */
double judge_kernels(const struct rule *r, const struct figures *f);
/* Why there may be more of them; NULL = there are not, or it does not matter (free it). */
char *judge_kernels_unsure(const struct rule *r, const struct figures *f);
/* That none matches, neither here nor in the baseline, of a rule that does not ask for that; NULL =
 * one does, or it does (free it). */
char *judge_kernels_absent(const struct judge_trial *c, const struct figures *f);

/* Sum over the NVTX ranges that match, or per range; NaN = there is none. */
double judge_ranges(const struct rule *r, const struct figures *f);
/* Why that may be other than it is, or is not known; NULL = it is exact (free it). */
char *judge_ranges_unsure(const struct rule *r, const struct figures *f);
/* As judge_where(), of the ranges that match and those within them. */
char *judge_where_range(const struct rule *r, const struct figures *before,
                        const struct figures *after, bool shrank);

#endif
