/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/judge_internal.h"

double judge_said(const struct judge_trial *c)
{
	return c->rule->loop ? 0 : c->judge->steps;
}

bool judge_by_steps(const struct judge_trial *c)
{
	const struct rule *r = c->rule;

	return r->metric->flags & METRIC_STEPS ||
	       (r->per_step && r->select != SELECT_RANGE && !(judge_said(c) > 0));
}

static char *missing_in(const struct judge_trial *c, const struct figures *f)
{
	const char *from = c->judge->steps_from;

	if (f->steps.source == STEPS_NONE && f->steps_said > 0)
		return alloc_format(
		        "%s: its number of steps was said, none was recorded; --steps N "
		        "says it of the others",
		        f->name);
	if (f->steps.source == STEPS_NONE && from)
		return alloc_format("%s: no NVTX range \"%s\" among the outermost levels", f->name,
		                    from);
	if (f->steps.source == STEPS_NONE || !f->steps.judged)
		return alloc_format("%s: no steps: %s; --steps N says how many a run has", f->name,
		                    f->steps.source == STEPS_NONE
		                            ? "no NVTX range and no work repeats"
		                            : "all are left out");
	if (f->steps.unsure)
		return alloc_format("%s: its steps were found with low confidence; --steps-from or "
		                    "--steps tells them",
		                    f->name);
	return NULL;
}

/* Launches of a step may differ by that share, and it is the same step that changed. */
#define WORK_ALIKE 0.25

static bool alike(double a, double b, double share)
{
	return fabs(a - b) <= share * fmax(a, b);
}

/* Told apart by another name, which may be another kernel of the same steps: whether there are as
 * many in a run, or as many launches in each. */
static bool may_be_same(const struct figures_step_set *x, const struct figures_step_set *y)
{
	const int launches = metric_work(&metrics[METRIC_LAUNCHES]);

	return alike((double)x->count, (double)y->count, STEPS_ALIKE) ||
	       alike(x->of[launches].mean, y->of[launches].mean, WORK_ALIKE);
}

/* Steps by ranges of another name, found by other work, or found where the others are ranges, are
 * other steps. */
static char *unlike(const struct figures *a, const struct figures *b)
{
	const struct figures_step_set *x = &a->steps, *y = &b->steps;

	if (x->source == y->source && ((x->name && y->name && !strcmp(x->name, y->name)) ||
	                               (x->source == STEPS_FOUND && may_be_same(x, y))))
		return NULL;
	char *of = figure_steps_name(x), *other = figure_steps_name(y);
	char *why =
	        alloc_format("%s: its steps are %s%s, those of %s %s%s", a->name,
	                     x->source == STEPS_NVTX ? "NVTX ranges " : "found by ", of, b->name,
	                     y->source == STEPS_NVTX ? "NVTX ranges " : "found by ", other);
	free(of);
	free(other);
	return why;
}

char *judge_steps_missing(const struct judge_trial *c)
{
	const struct run_set *after = c->judge->after, *before = c->judge->before;
	char *why = NULL;

	if (!judge_by_steps(c))
		return NULL;
	for (size_t i = 0; i < after->count && !why; i++)
		why = missing_in(c, &after->runs[i]);
	for (size_t i = 0; c->rule->relative && i < before->count && !why; i++) {
		why = missing_in(c, &before->runs[i]);
		for (size_t k = 0; k < after->count && !why; k++)
			why = unlike(&before->runs[i], &after->runs[k]);
	}
	return why;
}

/*
 * Where the steps of the baseline differ (shapes that change, a step in ten that logs), another run
 * of the same program has another mean. The mean's error on both sides, by groups of steps, says
 * how far off it may be: Welch's t test, one side, 99 %. Where no two steps of the baseline differ,
 * no change is chance.
 */
bool judge_within_scatter(const struct judge_trial *c, size_t i)
{
	const struct rule *r = c->rule;
	const struct run_set *before = c->judge->before;

	if (!judge_by_steps(c) || r->select != SELECT_RUN || !r->relative)
		return false;
	const struct figures_step y = figure_per_step(&c->judge->after->runs[i], r->metric, 0);
	for (size_t b = 0; b < before->count; b++) {
		const struct figures_step x = figure_per_step(&before->runs[b], r->metric, 0);
		if (!(x.error > 0))
			continue;
		double scale = r->percent ? fabs(1 + r->value / 100) : 1;
		double x2 = scale * scale * x.error * x.error, y2 = y.error * y.error;
		double freedom = (x2 + y2) * (x2 + y2) /
		                 (x2 * x2 / x.freedom + (y2 > 0 ? y2 * y2 / y.freedom : 0));
		double reach = bounds_student(freedom) * sqrt(x2 + y2);
		if (fabs(y.mean - judge_limit(r, x.mean)) <= reach)
			return true;
	}
	return false;
}

/* Of steps given by hand, and of what is not counted step by step, all calls of the run stand in
 * the quotient: start-up too. */
static void note_quotient(struct judge_trial *c)
{
	const struct run_set *after = c->judge->after;

	for (size_t i = 0; i < after->count && !c->to->note; i++) {
		double steps = figure_steps(&after->runs[i], c->judge->steps), v = c->after[i];
		if (isfinite(v * steps) && fabs(v - rint(v)) > 1e-9)
			c->to->note = alloc_format("%.0f over %.0f steps is no whole number: "
			                           "start-up is counted too",
			                           rint(v * steps), steps);
	}
}

static void widen(double *low, double *high, double least, double most)
{
	*low = fmin(*low, least);
	*high = fmax(*high, most);
}

void judge_note_steps(struct judge_trial *c)
{
	const struct run_set *after = c->judge->after, *before = c->judge->before;
	const struct rule *r = c->rule;
	struct judgement *to = c->to;

	if (r->per_step && r->select != SELECT_RANGE &&
	    (judge_said(c) > 0 || r->select == SELECT_KERNEL || metric_work(r->metric) < 0))
		note_quotient(c);
	for (size_t i = 0; judge_by_steps(c) && i < after->count; i++) {
		double judged = (double)after->runs[i].steps.judged;
		widen(&to->steps_low, &to->steps_high, judged, judged);
	}
	if (!r->per_step || r->select != SELECT_RUN || !judge_by_steps(c))
		return;
	for (size_t i = 0; i < after->count + before->count; i++) {
		bool is_after = i < after->count;
		const struct figures *f =
		        is_after ? &after->runs[i] : &before->runs[i - after->count];
		const struct figures_step s = figure_per_step(f, r->metric, 0);
		to->varies |= s.min < s.max;
		if (is_after)
			widen(&to->least_after, &to->most_after, s.min, s.max);
		else
			widen(&to->least_before, &to->most_before, s.min, s.max);
	}
}
