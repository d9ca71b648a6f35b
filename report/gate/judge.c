/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/judge_internal.h"

const char *const outcome_names[] = {
        [OUTCOME_PASS] = "pass",
        [OUTCOME_FAIL] = "fail",
        [OUTCOME_INCONCLUSIVE] = "inconclusive",
};

void judge_inconclusive(struct judgement *j, char *reason)
{
	if (j->outcome == OUTCOME_FAIL || j->reason) {
		free(reason);
		return;
	}
	j->outcome = OUTCOME_INCONCLUSIVE;
	j->reason = reason;
}

void judge_fail(struct judgement *j)
{
	free(j->reason);
	j->reason = NULL;
	j->outcome = OUTCOME_FAIL;
}

static double value_of(const struct judge_trial *c, const struct figures *f)
{
	const struct rule *r = c->rule;

	if (r->select == SELECT_RANGE)
		return judge_ranges(r, f);
	if (r->select == SELECT_KERNEL)
		return judge_kernels(r, f) / (r->per_step ? figure_steps(f, c->judge->steps) : 1);
	return r->per_step ? figure_per_step(f, r->metric, judge_said(c)).mean
	                   : f->values[r->metric - metrics];
}

static double *values_of(const struct judge_trial *c, const struct run_set *s, double *low,
                         double *high)
{
	double *values = alloc_zeroed(s->count, sizeof(*values));

	*low = *high = NAN;
	for (size_t i = 0; i < s->count; i++) {
		values[i] = value_of(c, &s->runs[i]);
		*low = fmin(*low, values[i]);
		*high = fmax(*high, values[i]);
	}
	return values;
}

/* What is asked of records, of which some may be lost; counts of the run are exact. */
static bool from_records(const struct judge_trial *c)
{
	return c->rule->metric->flags & METRIC_RECORDS || c->rule->select == SELECT_RANGE ||
	       judge_by_steps(c);
}

static char *missing_in(const struct run_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->runs[i].missing)
			return alloc_format("%s: %s", s->runs[i].name, s->runs[i].missing);
	return NULL;
}

static char *missing_of(const struct judge_trial *c)
{
	char *why = missing_in(c->judge->after);

	if (!why && c->rule->relative)
		why = missing_in(c->judge->before);
	return why ? why : judge_steps_missing(c);
}

static const char *const how_ended[] = {
        [PROCESS_ENDED] = "ended without its exit handlers",
        [PROCESS_KILLED] = "was killed",
        [PROCESS_RUNNING] = "runs",
};

char *judge_unsure(const struct judge_trial *c, const struct figures *f)
{
	if (from_records(c) && f->lost_share > JUDGE_LOST_MOST)
		return alloc_format("%s: %.1f %% of its records were lost", f->name,
		                    100 * f->lost_share);
	if (c->rule->loop && f->lost_share > 0)
		return alloc_format(
		        "%s: some of its records were lost: its loop is not known whole", f->name);
	if (f->state != PROCESS_COMPLETE && !c->judge->allow_killed)
		return alloc_format("%s: a process %s; --allow-killed judges it all the same",
		                    f->name, how_ended[f->state]);
	if (f->lost_calls)
		return alloc_format("%s: %llu calls are in no figure: too many threads", f->name,
		                    (unsigned long long)f->lost_calls);
	char *ranks = judge_ranks_unsure(c, f);
	if (ranks)
		return ranks;
	if (c->rule->select == SELECT_KERNEL) {
		char *why = judge_kernels_unsure(c->rule, f);
		return why ? why : judge_kernels_absent(c, f);
	}
	return c->rule->select == SELECT_RANGE ? judge_ranges_unsure(c->rule, f) : NULL;
}

char *judge_not_known(const struct judge_trial *c, const struct figures *f)
{
	const struct metric *m = c->rule->metric;
	char *why = c->rule->select == SELECT_RANGE ? judge_ranges_unsure(c->rule, f) : NULL;

	if (why)
		return why;
	if (m->kind == METRIC_WORD && f->doubt.reason)
		return alloc_format("%s: its verdict is inconclusive: %s", f->name,
		                    f->doubt.reason);
	if (m->flags & METRIC_GPU)
		return alloc_format("%s: GPU time is not known, and %s needs it", f->name, m->name);
	return alloc_format("%s: %s is not known", f->name, m->name);
}

bool judge_holds(enum rule_op op, double v, double low, double high)
{
	/* Whole numbers are compared as they are. Of others, means and percentages of counts, a
	 * rounding error is no violation. */
	bool whole = v == rint(v) && low == rint(low) && high == rint(high);
	double slack = whole ? 0 : 16 * DBL_EPSILON * fmax(fabs(v), fmax(fabs(low), fabs(high)));

	switch (op) {
	case OP_LE:
		return v <= high + slack;
	case OP_GE:
		return v >= low - slack;
	case OP_EQ:
		return v >= low - slack && v <= high + slack;
	case OP_NE:
		return fabs(v - low) > slack;
	case OP_LT:
		return v < high - slack;
	case OP_GT:
		return v > low + slack;
	}
	return false;
}

double judge_limit(const struct rule *r, double before)
{
	if (!r->percent)
		return before + r->value;
	return r->metric->kind == METRIC_SHARE ? before + r->value / 100
	                                       : before * (1 + r->value / 100);
}

/* The limit as a number: of several in the baseline, the one that allows more. */
static void find_limit(struct judge_trial *c)
{
	const struct rule *r = c->rule;
	struct judgement *to = c->to;

	to->limit_low = r->relative ? judge_limit(r, to->before_low) : r->value;
	to->limit_high = r->relative ? judge_limit(r, to->before_high) : r->value;
}

static bool breaks(const struct judge_trial *c, size_t i)
{
	return !judge_holds(c->rule->op, c->after[i], c->to->limit_low, c->to->limit_high) &&
	       !judge_within_scatter(c, i);
}

/* What is missing can only make a total larger: one that is too large already stays so. */
static bool too_large_anyway(const struct judge_trial *c, double v)
{
	enum rule_op op = c->rule->op;
	bool total = !c->rule->per_step || (c->rule->select != SELECT_RANGE && judge_said(c) > 0);

	return total && v > c->to->limit_high && op != OP_NE && op != OP_GE && op != OP_GT;
}

static void judge_counts(struct judge_trial *c)
{
	const struct run_set *before = c->judge->before, *after = c->judge->after;
	bool lower = c->rule->op == OP_GE || c->rule->op == OP_GT;
	struct judgement *to = c->to;
	size_t worst = 0;

	for (size_t i = 0; c->rule->relative && i < before->count; i++) {
		const struct figures *f = &before->runs[i];
		char *why = isfinite(c->before[i]) ? judge_unsure(c, f) : judge_not_known(c, f);
		if (why)
			judge_inconclusive(to, why);
	}
	if (to->reason)
		return;
	for (size_t i = 0; i < after->count; i++) {
		const struct figures *f = &after->runs[i];
		double v = c->after[i];
		char *why = isfinite(v) ? judge_unsure(c, f) : judge_not_known(c, f);
		bool certain = !why || (isfinite(v) && too_large_anyway(c, v));
		if (certain && breaks(c, i)) {
			judge_fail(to);
			if (!isfinite(c->after[worst]) || fabs(v) > fabs(c->after[worst]))
				worst = i;
		}
		if (why)
			judge_inconclusive(to, why);
	}
	if (c->rule->expected && to->outcome == OUTCOME_FAIL)
		to->where =
		        judge_instead(before->count ? &before->runs[0] : NULL, &after->runs[worst]);
	else if (c->rule->expected && to->outcome == OUTCOME_PASS)
		to->note = judge_share(c->rule, &after->runs[0]);
	else if (to->outcome == OUTCOME_FAIL)
		to->where = judge_where(c->rule, before->count ? &before->runs[0] : NULL,
		                        &after->runs[worst], judge_said(c), lower);
}

/* A verdict that is as good as another one is no ground to pass or to fail. */
static char *verdict_unsure(const struct judge_trial *c, const struct figures *f)
{
	const struct figures_doubt *d = &f->doubt;
	const char *word = c->rule->word;

	if (d->unsure)
		return alloc_format("%s: its verdict, %s, is of low confidence", f->name,
		                    f->verdict);
	if (d->first && d->second && (!strcmp(word, d->first) || !strcmp(word, d->second)))
		return alloc_format("%s: its verdict is mixed: %s and %s gain nearly the same",
		                    f->name, d->first, d->second);
	return NULL;
}

static void judge_words(struct judge_trial *c)
{
	const struct run_set *after = c->judge->after;

	for (size_t i = 0; i < after->count; i++) {
		const struct figures *f = &after->runs[i];
		char *why = f->verdict ? judge_unsure(c, f) : judge_not_known(c, f);
		why = why || !f->verdict ? why : verdict_unsure(c, f);
		bool failed = !why && !strcmp(f->verdict, c->rule->word) != (c->rule->op == OP_EQ);
		if (failed || !c->to->after_word)
			c->to->after_word = f->verdict;
		if (failed)
			judge_fail(c->to);
		if (why)
			judge_inconclusive(c->to, why);
	}
}

void judge_rule(struct judgement *to, const struct rule *rule, const struct judge *judge)
{
	struct judge_trial c = {.to = to, .rule = rule, .judge = judge};

	*to = (struct judgement){.rule = rule,
	                         .before_low = NAN,
	                         .before_high = NAN,
	                         .after_low = NAN,
	                         .after_high = NAN,
	                         .limit_low = NAN,
	                         .limit_high = NAN,
	                         .estimate_low = NAN,
	                         .estimate_high = NAN,
	                         .steps_low = NAN,
	                         .steps_high = NAN,
	                         .least_before = NAN,
	                         .most_before = NAN,
	                         .least_after = NAN,
	                         .most_after = NAN};
	char *why = missing_of(&c);
	if (why) {
		judge_inconclusive(to, why);
		return;
	}
	if (rule->metric->kind == METRIC_WORD) {
		judge_words(&c);
		judge_find_site(&c);
		return;
	}
	c.before = values_of(&c, judge->before, &to->before_low, &to->before_high);
	c.after = values_of(&c, judge->after, &to->after_low, &to->after_high);
	find_limit(&c);
	if (metric_is_count(rule->metric))
		judge_counts(&c);
	else
		judge_times(&c);
	judge_note_steps(&c);
	judge_find_site(&c);
	free(c.before);
	free(c.after);
}

void judgement_free(struct judgement *j)
{
	free(j->reason);
	free(j->note);
	free(j->where);
	*j = (struct judgement){0};
}
