/*
 * How the judge's two files work together: counts and words in one, measured figures in the other.
 * For the judge alone.
 */
#ifndef REPORT_JUDGE_PARTS_H
#define REPORT_JUDGE_PARTS_H

#include "report/judge.h"

struct trial { /* a rule while it is judged */
	struct judgement *to;
	const struct rule *rule;
	const struct judge *judge;
	double *before, *after; /* one value for each run; NaN = not known */
};

/* A failure stands whatever else is not known; the first reason (taken over) is kept. */
void judge_inconclusive(struct judgement *j, char *reason);
void judge_fail(struct judgement *j);
/* Why this run's counts may be too low; NULL = they are exact (free it). */
char *judge_partial(const struct trial *c, const struct figures *f);
/* That the rule's figure of this run is not known, and why (free it). */
char *judge_not_known(const struct trial *c, const struct figures *f);
/* Whether a value keeps to a limit, which may be a range. */
bool judge_holds(enum rule_op op, double v, double low, double high);

void judge_times(struct trial *c);

#endif
