#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/alloc.h"
#include "report/judge_parts.h"

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

static double of_kernels(const struct rule *r, const struct figures *f)
{
	double sum = 0;

	for (size_t i = 0; i < f->kernels.count; i++)
		if (!regexec(&r->regex, f->kernels.items[i].name, 0, NULL, 0))
			sum += (double)f->kernels.items[i].count;
	return sum;
}

static double value_of(const struct trial *c, const struct figures *f)
{
	const struct rule *r = c->rule;
	double v = r->select == SELECT_KERNEL ? of_kernels(r, f) : f->values[r->metric - metrics];

	if (!r->per_step)
		return v;
	double steps = f->steps > 0 ? f->steps : c->judge->steps;
	return steps > 0 ? v / steps : NAN;
}

static double *values_of(const struct trial *c, const struct side *s, double *low, double *high)
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

char *judge_partial(const struct trial *c, const struct figures *f)
{
	if (f->state != PROCESS_COMPLETE && !c->judge->allow_killed)
		return alloc_format("%s: a process %s; --allow-killed judges it all the same",
		                    f->name, f->state == PROCESS_KILLED ? "was killed" : "runs");
	if (f->lost_calls)
		return alloc_format("%s: %llu calls are in no figure: too many threads", f->name,
		                    (unsigned long long)f->lost_calls);
	return NULL;
}

char *judge_not_known(const struct trial *c, const struct figures *f)
{
	const struct metric *m = c->rule->metric;

	if (m->flags & METRIC_GPU)
		return alloc_format("%s: GPU time is not known, and %s needs it", f->name, m->name);
	return alloc_format("%s: %s is not known", f->name, m->name);
}

/* What every rule needs before any value is looked at. */
static char *impossible(const struct trial *c)
{
	const struct judge *j = c->judge;
	const struct rule *r = c->rule;

	if (r->select == SELECT_RANGE)
		return alloc_format("the recordings hold no NVTX ranges");
	for (size_t i = 0; r->per_step && i < j->after->count; i++)
		if (!(j->after->runs[i].steps > 0) && !(j->steps > 0))
			return alloc_format("the recordings hold no steps; --steps N says how many "
			                    "a run has");
	return NULL;
}

bool judge_holds(enum rule_op op, double v, double low, double high)
{
	/* A rounding error of a product is no violation; counts are whole numbers. */
	double slack = 1e-9 * fmax(fabs(v), fmax(fabs(low), fabs(high)));

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

/* The limit as a number: of several in the baseline, the one that allows more. */
static void find_limit(struct trial *c)
{
	const struct rule *r = c->rule;
	struct judgement *to = c->to;
	double add = r->value, times = 1;

	if (!r->relative) {
		to->limit_low = to->limit_high = r->value;
		return;
	}
	if (r->percent && r->metric->kind == METRIC_SHARE) {
		add = r->value / 100;
	} else if (r->percent) {
		add = 0;
		times = 1 + r->value / 100;
	}
	to->limit_low = to->before_low * times + add;
	to->limit_high = to->before_high * times + add;
}

static void judge_counts(struct trial *c)
{
	const struct side *before = c->judge->before, *after = c->judge->after;
	struct judgement *to = c->to;
	size_t worst = 0;

	for (size_t i = 0; c->rule->relative && i < before->count; i++) {
		char *why = judge_partial(c, &before->runs[i]);
		why = why || isfinite(c->before[i]) ? why : judge_not_known(c, &before->runs[i]);
		if (why)
			judge_inconclusive(to, why);
	}
	if (to->reason)
		return;
	for (size_t i = 0; i < after->count; i++) {
		const struct figures *f = &after->runs[i];
		double v = c->after[i];
		char *why = isfinite(v) ? judge_partial(c, f) : judge_not_known(c, f);
		/* What is missing can only make a count larger. */
		bool certain = !why || (isfinite(v) && v > to->limit_high && c->rule->op != OP_NE &&
		                        c->rule->op != OP_GE && c->rule->op != OP_GT);
		if (certain && !judge_holds(c->rule->op, v, to->limit_low, to->limit_high)) {
			judge_fail(to);
			if (!isfinite(c->after[worst]) || fabs(v) > fabs(c->after[worst]))
				worst = i;
		}
		if (why)
			judge_inconclusive(to, why);
	}
	if (to->outcome == OUTCOME_FAIL)
		to->where = judge_where(c->rule, before->count ? &before->runs[0] : NULL,
		                        &after->runs[worst],
		                        c->rule->op == OP_GE || c->rule->op == OP_GT);
}

static void judge_words(struct trial *c)
{
	const struct side *after = c->judge->after;

	for (size_t i = 0; i < after->count; i++) {
		const struct figures *f = &after->runs[i];
		char *why = f->verdict ? judge_partial(c, f) : judge_not_known(c, f);
		bool failed = !why && !strcmp(f->verdict, c->rule->word) != (c->rule->op == OP_EQ);
		if (failed || !c->to->after_word)
			c->to->after_word = f->verdict;
		if (failed)
			judge_fail(c->to);
		if (why)
			judge_inconclusive(c->to, why);
	}
}

/* Of steps given by hand, all calls of the run stand in the quotient: start-up too. */
static void note_steps(struct trial *c)
{
	const struct side *after = c->judge->after;

	for (size_t i = 0; c->rule->per_step && i < after->count && !c->to->note; i++) {
		const struct figures *f = &after->runs[i];
		double steps = f->steps > 0 ? f->steps : c->judge->steps, v = c->after[i];
		if (isfinite(v) && fabs(v - rint(v)) > 1e-9)
			c->to->note = alloc_format("%.0f over %.0f steps is no whole number: "
			                           "start-up is counted too",
			                           rint(v * steps), steps);
	}
}

void judge_rule(struct judgement *to, const struct rule *rule, const struct judge *judge)
{
	struct trial c = {.to = to, .rule = rule, .judge = judge};

	*to = (struct judgement){.rule = rule,
	                         .before_low = NAN,
	                         .before_high = NAN,
	                         .after_low = NAN,
	                         .after_high = NAN,
	                         .limit_low = NAN,
	                         .limit_high = NAN};
	char *why = impossible(&c);
	if (why) {
		judge_inconclusive(to, why);
		return;
	}
	if (rule->metric->kind == METRIC_WORD) {
		judge_words(&c);
		return;
	}
	c.before = values_of(&c, judge->before, &to->before_low, &to->before_high);
	c.after = values_of(&c, judge->after, &to->after_low, &to->after_high);
	find_limit(&c);
	if (metric_is_count(rule->metric))
		judge_counts(&c);
	else
		judge_times(&c);
	note_steps(&c);
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
