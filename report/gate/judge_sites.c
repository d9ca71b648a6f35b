/* SPDX-License-Identifier: Apache-2.0 */
/* Which line of the program a failure is about. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/base/units.h"
#include "report/gate/judge_internal.h"

enum measure { BY_CALLS, BY_TIME, BY_WASTED, BY_BYTES, BY_PAGEABLE };

static const struct about { /* what a rule's figure is made of */
	enum metric_id metric;
	enum model_site_kind kind;
	enum measure measure;
	const char *in, *not_in; /* the function's name has it, and has it not; NULL = any */
} about[] = {
        {METRIC_LAUNCHES, SITE_LAUNCH, BY_CALLS, NULL, "GraphLaunch"},
        {METRIC_GRAPH_LAUNCHES, SITE_LAUNCH, BY_CALLS, "GraphLaunch", NULL},
        {METRIC_SYNCS, SITE_WAIT, BY_CALLS, NULL, NULL},
        {METRIC_COPIES, SITE_COPY, BY_CALLS, NULL, "emset"},
        {METRIC_PAGEABLE_COPIES, SITE_COPY, BY_PAGEABLE, NULL, "emset"},
        {METRIC_COPY_BYTES, SITE_COPY, BY_BYTES, NULL, "emset"},
        {METRIC_SETS, SITE_COPY, BY_CALLS, "emset", NULL},
        {METRIC_ALLOC_CALLS, SITE_ALLOC, BY_CALLS, NULL, NULL},
        {METRIC_LAUNCH_P50_NS, SITE_LAUNCH, BY_TIME, NULL, "GraphLaunch"},
        {METRIC_LAUNCH_OVERHEAD_NS, SITE_LAUNCH, BY_TIME, NULL, NULL},
        {METRIC_SYNC_WASTED_NS, SITE_WAIT, BY_WASTED, NULL, NULL},
};

/* Of a verdict: what makes it so. */
static const struct {
	const char *verdict;
	struct about about;
} verdicts[] = {
        {"sync-bound", {METRIC_VERDICT, SITE_WAIT, BY_WASTED, NULL, NULL}},
        {"copy-bound", {METRIC_VERDICT, SITE_COPY, BY_TIME, NULL, NULL}},
        {"alloc-bound", {METRIC_VERDICT, SITE_ALLOC, BY_TIME, NULL, NULL}},
        {"launch-bound", {METRIC_VERDICT, SITE_LAUNCH, BY_TIME, NULL, NULL}},
};

/* NULL: places of calls say nothing of it. */
static const struct about *about_of(const struct judgement *j)
{
	const struct rule *r = j->rule;

	if (r->select != SELECT_RUN || r->op == OP_GE || r->op == OP_GT)
		return NULL;
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		if (r->metric->kind == METRIC_WORD && j->after_word &&
		    !strcmp(verdicts[i].verdict, j->after_word))
			return &verdicts[i].about;
	for (size_t i = 0; i < sizeof(about) / sizeof(about[0]); i++)
		if (about[i].metric == (enum metric_id)(r->metric - metrics))
			return &about[i];
	return NULL;
}

static bool is_about(const struct about *a, const struct figures_site *s)
{
	return s->kind == a->kind && (!a->in || strstr(s->api, a->in)) &&
	       !(a->not_in && strstr(s->api, a->not_in));
}

static double measured(const struct figures_site *s, enum measure by)
{
	double v = 0;

	if (!s)
		return 0;
	switch (by) {
	case BY_CALLS:
		v = s->calls;
		break;
	case BY_TIME:
		v = s->api_time;
		break;
	case BY_WASTED:
		v = s->wasted;
		break;
	case BY_BYTES:
		v = s->bytes;
		break;
	case BY_PAGEABLE:
		v = s->pageable_bytes;
		break;
	}
	return isfinite(v) ? v : 0;
}

/* The first run that knows; NULL = none does. */
static const struct figures *knowing(const struct run_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->runs[i].sites.known)
			return &s->runs[i];
	return NULL;
}

/* Runs of other lengths compare by the step. */
static double steps_of(const struct judge_trial *c, const struct figures *f,
                       const struct figures *other)
{
	double steps = figure_steps(f, c->judge->steps);

	return steps > 0 && figure_steps(other, c->judge->steps) > 0 ? steps : 1;
}

void judge_find_site(struct judge_trial *c)
{
	static const struct figures_sites none;
	struct judgement *to = c->to;
	const struct about *a = to->outcome == OUTCOME_FAIL ? about_of(to) : NULL;
	const struct figures *before = knowing(c->judge->before), *after = knowing(c->judge->after);
	struct figures_site_pair *pairs;
	double most = 0;

	if (!a || !after)
		return;
	to->site_compared = before != NULL;
	double steps = before ? steps_of(c, after, before) : 1,
	       were = before ? steps_of(c, before, after) : 1;
	size_t n = figures_match_sites(before ? &before->sites : &none, &after->sites, &pairs);
	for (size_t i = 0; i < n; i++) {
		const struct figures_site *s = pairs[i].after;
		if (!s || !is_about(a, s))
			continue;
		double rise = measured(s, a->measure) / steps -
		              measured(pairs[i].before, a->measure) / were;
		if (rise > most) {
			most = rise;
			to->site = s;
			to->site_before = pairs[i].before;
		}
	}
	free(pairs);
}

/* "about 40", "at least 40", "40". */
static char *calls_text(const struct figures_site *s)
{
	return alloc_format("%s%.0f",
	                    s->estimated ? "about "
	                    : s->whole   ? ""
	                                 : "at least ",
	                    s->calls);
}

char *judgement_site(const struct judgement *j)
{
	char time[UNIT_BYTES], *text;

	if (!j->site)
		return NULL;
	char *calls = calls_text(j->site);
	char *were = j->site_before ? calls_text(j->site_before) : NULL;
	text = alloc_format("at %s: %s %s, %s%s%s%s", j->site->where, calls,
	                    name_call(j->site->api), unit_time(time, j->site->api_time),
	                    were ? ", was " : "",
	                    were               ? were
	                    : j->site_compared ? ", not seen before"
	                                       : "",
	                    "");
	free(calls);
	free(were);
	return text;
}
