/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether recordings keep to a rule. Counts are exact and each recording is judged; times are
 * judged together, against the noise of their repeats. For check.
 */
#ifndef REPORT_JUDGE_H
#define REPORT_JUDGE_H

#include "report/gate/bounds.h"
#include "report/gate/figures.h"
#include "report/gate/rules.h"

enum judge_outcome { OUTCOME_PASS, OUTCOME_FAIL, OUTCOME_INCONCLUSIVE };
extern const char *const outcome_names[];

/* Of records; with more of them lost, no percentile or time that comes from them is judged. A
 * median moves by half of it at most. */
#define JUDGE_LOST_MOST 0.01

struct judge {
	const struct run_set *before; /* without runs = there is no baseline */
	const struct run_set *after;
	double steps;           /* as the user said; 0 = not said: those recorded */
	const char *steps_from; /* NVTX ranges that are the steps, as the user said; or NULL */
	bool allow_killed;      /* a process that was killed, or runs, counts as whole */
};

struct judgement {
	const struct rule *rule;
	enum judge_outcome outcome;
	double before_low, before_high; /* NaN = there is none, or not known */
	double after_low, after_high;
	double estimate_low, estimate_high; /* 95 % interval of `after`; NaN = it is exact */
	const char *after_word;             /* of a verdict, not owned */
	double limit_low, limit_high;       /* absolute; differ only where `=` is against several */
	double steps_low, steps_high;       /* recorded steps that were judged; NaN = none were */
	bool varies;                        /* they differ: the least and the most of one step */
	double least_before, most_before, least_after, most_after;
	bool has_bounds;
	struct bounds bounds; /* of after against before */
	char *reason;         /* why it is inconclusive; NULL = it is not */
	char *note;           /* what a reader should know; or NULL */
	char *where;          /* what changed most; or NULL */
	/* The line of the program that most of what changed comes from, with its figures; or NULL.
	 * Of the runs that were judged. `site_before`: the same in the run before, where that
	 * knows its own (`site_compared`) and has it. */
	const struct figures_site *site, *site_before;
	bool site_compared;
};

void judge_rule(struct judgement *to, const struct rule *rule, const struct judge *judge);
void judgement_free(struct judgement *j);

/* The limit: "2000", "+5 %", "sync-bound" (free it). */
char *judgement_limit(const struct judgement *j);
/* "+100, +5.0 %", or "+8.2 %, with 99 % at least +7.1 %, by ranks"; NULL = nothing to say (free
 * it). */
char *judgement_change(const struct judgement *j);

/* Of an expected kernel that did not run: what ran in its place, those that an earlier run had not
 * first; NULL = nothing did (free it). */
char *judge_instead(const struct figures *before, const struct figures *after);
/* Of one that did: its share of GPU time, and what is not known of it; NULL = nothing to say (free
 * it). */
char *judge_share(const struct rule *rule, const struct figures *f);

/* "train.py:57 in step: 40 cudaStreamSynchronize, was 20" (free it); NULL = no site is known. */
char *judgement_site(const struct judgement *j);

/* "200 steps judged", "3..9 a step before, 3..11 after, 200 steps judged"; NULL = the rule is not
 * about recorded steps (free it). */
char *judgement_steps(const struct judgement *j);

/*
 * The part of a figure that grew most (or, with `shrank`, shrank most) from one run to another, or
 * the largest where there is no earlier run; NULL = nothing to name (free it). Per step where the
 * rule is: `said` is the judge's `steps`.
 */
char *judge_where(const struct rule *rule, const struct figures *before,
                  const struct figures *after, double said, bool shrank);

#endif
