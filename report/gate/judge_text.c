/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/judge_internal.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/base/units.h"

#define INSTEAD_MOST 3 /* kernels that are named in place of one */

char *judgement_limit(const struct judgement *j)
{
	const struct rule *r = j->rule;

	if (r->metric->kind == METRIC_WORD)
		return alloc_format("%s%s", r->op == OP_NE ? "not " : "", r->word);
	if (r->relative && r->percent && !metric_is_count(r->metric))
		return alloc_format("%+.10g %s", r->value,
		                    r->metric->kind == METRIC_SHARE ? "points" : "%");
	switch (r->op) {
	case OP_LE:
	case OP_LT:
		return metric_text(r->metric->kind, j->limit_high, j->limit_high);
	case OP_GE:
	case OP_GT:
		return metric_text(r->metric->kind, j->limit_low, j->limit_low);
	default:
		return metric_text(r->metric->kind, j->limit_low, j->limit_high);
	}
}

/* Of a measured figure: what the rise is at least (or the fall), with 99 %. */
static char *bound_text(const struct judgement *j)
{
	const struct rule *r = j->rule;
	bool upper = r->op == OP_LE || r->op == OP_LT;
	double bound = upper ? j->bounds.lower : j->bounds.upper;
	const char *side = upper ? "at least" : "at most",
	           *how = bounds_method_names[j->bounds.method];
	char text[UNIT_BYTES], most[UNIT_BYTES];

	if (r->metric->kind == METRIC_SHARE)
		return alloc_format("%+.1f points, with 99 %% %s %+.1f, by %s",
		                    100 * j->bounds.estimate, side, 100 * bound, how);
	if (r->percent)
		return alloc_format("%s, with 99 %% %s %s, by %s",
		                    unit_change(text, j->bounds.estimate - 1), side,
		                    unit_change(most, bound - 1), how);
	char *estimate = alloc_format("%s%s", j->bounds.estimate < 0 ? "-" : "+",
	                              unit_time(text, fabs(j->bounds.estimate)));
	char *all = alloc_format("%s, with 99 %% %s %s%s, by %s", estimate, side,
	                         bound < 0 ? "-" : "+", unit_time(text, fabs(bound)), how);
	free(estimate);
	return all;
}

char *judgement_change(const struct judgement *j)
{
	double before = j->before_high, after = j->after_high;
	char more[METRIC_NUMBER_BYTES], share[UNIT_BYTES];

	if (j->has_bounds)
		return bound_text(j);
	if (!isfinite(before) || !isfinite(after) || !metric_is_count(j->rule->metric))
		return NULL;
	if (j->rule->op == OP_GE || j->rule->op == OP_GT) {
		before = j->before_low;
		after = j->after_low;
	}
	if (before == after)
		return alloc_format("no change");
	metric_number(more, after - before, true);
	if (!(before > 0))
		return alloc_format("%s", more);
	return alloc_format("%s, %s", more, unit_change(share, (after - before) / before));
}

char *judgement_steps(const struct judgement *j)
{
	enum metric_kind kind = j->rule->metric->kind;

	if (!isfinite(j->steps_low))
		return NULL;
	char *judged = metric_text(METRIC_COUNT, j->steps_low, j->steps_high);
	char *before = metric_text(kind, j->least_before, j->most_before);
	char *after = metric_text(kind, j->least_after, j->most_after);
	char *text;
	if (!j->varies)
		text = alloc_format("%s steps judged", judged);
	else if (!isfinite(j->least_before))
		text = alloc_format("%s a step, %s steps judged", after, judged);
	else
		text = alloc_format("%s a step before, %s after, %s steps judged", before, after,
		                    judged);
	free(judged);
	free(before);
	free(after);
	return text;
}

static uint64_t amount(const struct rule *r, const struct figures_part *p)
{
	if (!p)
		return 0;
	return r->metric->parts == PARTS_FAILED              ? p->failed
	       : r->metric->kind == METRIC_BYTES && p->bytes ? p->bytes
	                                                     : p->count;
}

/* Whether an entry of the list is a part of the rule's figure. */
static bool counts(const struct rule *r, const struct figures_part *p)
{
	if (r->select == SELECT_KERNEL)
		return pattern_finds(&r->compiled, p->name);
	if (r->metric->parts == PARTS_APIS)
		return p->cls == r->metric->cls;
	if (r->metric - metrics == METRIC_PAGEABLE_COPIES)
		return strstr(p->name, "pageable") != NULL;
	return true;
}

static const struct figures_parts *list_of(const struct rule *r, const struct figures *f)
{
	switch (r->metric->parts) {
	case PARTS_KERNELS:
		return &f->kernels;
	case PARTS_APIS:
	case PARTS_FAILED:
		return &f->apis;
	case PARTS_COPIES:
		return &f->copies;
	case PARTS_NONE:
		break;
	}
	return NULL;
}

/* What of a kernel's name fits on a line with the rest. */
static char *short_name(const char *name)
{
	char *brief = name_short(name), *fitted = text_fit(brief, 40);

	free(brief);
	return fitted;
}

/* What a count of the run is divided by. */
static double steps_of(const struct rule *r, const struct figures *f, double said)
{
	return r->per_step && f ? figure_steps(f, said) : 1;
}

/* A count, or bytes. What is divided by steps has been in all of the run: where it is no whole
 * number it is told as what it is, with three digits. */
static char *part_text(const struct rule *r, double v)
{
	char count[UNIT_BYTES];

	return r->per_step && v != rint(v) && r->metric->kind != METRIC_BYTES
	               ? alloc_string(unit_count(count, v))
	               : metric_text(r->metric->kind, v, v);
}

static bool has_bytes(const struct figures_parts *copies)
{
	for (size_t i = 0; i < copies->count; i++)
		if (copies->items[i].bytes)
			return true;
	return !copies->count;
}

char *judge_where(const struct rule *r, const struct figures *before, const struct figures *after,
                  double said, bool shrank)
{
	const struct figures *more = shrank && before ? before : after;
	const struct figures *less = shrank ? after : before;
	const struct figures_parts *from = list_of(r, more),
	                           *other = before ? list_of(r, less) : NULL;
	double more_steps = steps_of(r, more, said), less_steps = steps_of(r, less, said);
	const struct figures_part *best = NULL;
	double most = 0, old = 0;

	if (r->select == SELECT_RANGE)
		return judge_where_range(r, before, after, shrank);
	/* A baseline holds no failures of single parts, and an older one no bytes. */
	if (before && !before->has_times &&
	    (r->metric->parts == PARTS_FAILED ||
	     (r->metric->kind == METRIC_BYTES && !has_bytes(&before->copies))))
		other = NULL;
	for (size_t i = 0; from && i < from->count; i++) {
		const struct figures_part *p = &from->items[i];
		double now = counts(r, p) ? (double)amount(r, p) / more_steps : 0, then = 0;
		if (other)
			then = (double)amount(r, parts_find(other, p->name)) / less_steps;
		if (now - then > most) {
			best = p;
			most = now - then;
			old = then;
		}
	}
	if (!best)
		return NULL;
	char *name = from == &more->kernels ? short_name(best->name) : alloc_string(best->name);
	double now = (double)amount(r, best) / more_steps;
	const char *per = !r->per_step ? ""
	                  : now == rint(now) && old == rint(old)
	                          ? " per step"
	                          : " per step, counting all of the run";
	char *a = part_text(r, shrank && other ? now : old),
	     *b = part_text(r, shrank && other ? old : now);
	char *text = other ? alloc_format("%s: %s -> %s%s", name, a, b, per)
	                   : alloc_format("%s: %s%s", name, b, per);
	free(name);
	free(a);
	free(b);
	return text;
}

/* Launches that the earlier run had not; all of them where there is none. */
static uint64_t gained(const struct figures_part *p, const struct figures *before)
{
	const struct figures_part *then = before ? parts_find(&before->kernels, p->name) : NULL;
	uint64_t old = then ? then->count : 0;

	return p->count > old ? p->count - old : 0;
}

char *judge_instead(const struct figures *before, const struct figures *after)
{
	const struct figures_part *named[INSTEAD_MOST] = {NULL};
	char *text = NULL;

	for (size_t n = 0; n < INSTEAD_MOST; n++) {
		for (size_t i = 0; i < after->kernels.count; i++) {
			const struct figures_part *p = &after->kernels.items[i];
			bool told = false;
			for (size_t k = 0; k < n; k++)
				told |= named[k] == p;
			if (!told && gained(p, before) &&
			    (!named[n] || gained(p, before) > gained(named[n], before)))
				named[n] = p;
		}
		if (!named[n])
			break;
		char *name = short_name(named[n]->name);
		alloc_append(&text, "%s %s %llu launches",
		             text     ? ","
		             : before ? "more than before:"
		                      : "what ran:",
		             name, (unsigned long long)gained(named[n], before));
		free(name);
	}
	/* Nothing new stands in its place. */
	return text || !before ? text : judge_instead(NULL, after);
}

char *judge_share(const struct rule *r, const struct figures *f)
{
	double share = 0;
	uint64_t launches = 0, in_graphs = 0;
	char percent[UNIT_BYTES];

	for (size_t i = 0; i < f->kernels.count; i++) {
		const struct figures_part *p = &f->kernels.items[i];
		if (!counts(r, p))
			continue;
		in_graphs += p->in_graphs;
		launches += p->count;
		share += p->count ? p->gpu_share : 0;
	}
	if (!launches && in_graphs)
		return alloc_string("in graphs alone");
	if (!launches)
		return alloc_format("in graphs alone: it was captured so many times, and how often "
		                    "it ran is not known");
	return isfinite(share) ? alloc_format("%s %% of GPU time", unit_percent(percent, share, 1))
	                       : alloc_format("its share of GPU time is not known");
}
