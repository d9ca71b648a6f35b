#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/alloc.h"
#include "report/judge.h"
#include "report/names.h"
#include "report/text.h"
#include "report/units.h"

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
	char text[UNIT_BYTES];

	if (r->metric->kind == METRIC_SHARE)
		return alloc_format("%+.1f points, with 99 %% %s %+.1f, by %s",
		                    100 * j->bounds.estimate, side, 100 * bound, how);
	if (r->percent)
		return alloc_format("%+.1f %%, with 99 %% %s %+.1f %%, by %s",
		                    100 * (j->bounds.estimate - 1), side, 100 * (bound - 1), how);
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
	char more[METRIC_NUMBER_BYTES];

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
	return alloc_format("%s, %+.1f %%", more, 100 * (after - before) / before);
}

static uint64_t amount(const struct rule *r, const struct part *p)
{
	if (!p)
		return 0;
	return r->metric->parts == PARTS_FAILED              ? p->failed
	       : r->metric->kind == METRIC_BYTES && p->bytes ? p->bytes
	                                                     : p->count;
}

/* Whether an entry of the list is a part of the rule's figure. */
static bool counts(const struct rule *r, const struct part *p)
{
	if (r->select == SELECT_KERNEL)
		return !regexec(&r->regex, p->name, 0, NULL, 0);
	if (r->metric->parts == PARTS_APIS)
		return p->class == r->metric->class;
	if (r->metric - metrics == METRIC_PAGEABLE_COPIES)
		return strstr(p->name, "pageable") != NULL;
	return true;
}

static const struct parts *list_of(const struct rule *r, const struct figures *f)
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
	char *brief = name_short(name), *safe = text_safe(brief, strlen(brief)),
	     *fitted = text_fit(safe, 40);

	free(brief);
	free(safe);
	return fitted;
}

char *judge_where(const struct rule *r, const struct figures *before, const struct figures *after,
                  bool shrank)
{
	const struct parts *from = list_of(r, shrank && before ? before : after);
	const struct parts *other = before ? list_of(r, shrank ? after : before) : NULL;
	const struct part *best = NULL;
	uint64_t most = 0, old = 0;

	/* A baseline holds no failures and no bytes of single parts. */
	if (before && !before->has_times &&
	    (r->metric->parts == PARTS_FAILED || r->metric->kind == METRIC_BYTES))
		other = NULL;
	for (size_t i = 0; from && i < from->count; i++) {
		const struct part *p = &from->items[i];
		uint64_t now = counts(r, p) ? amount(r, p) : 0;
		uint64_t then = other ? amount(r, parts_find(other, p->name)) : 0;
		if (now > then && now - then > most) {
			best = p;
			most = now - then;
			old = then;
		}
	}
	if (!best)
		return NULL;
	char *name = from == &after->kernels || (before && from == &before->kernels)
	                     ? short_name(best->name)
	                     : alloc_copy(best->name, strlen(best->name));
	char *text;
	uint64_t now = amount(r, best);
	if (other)
		text = alloc_format("%s: %llu -> %llu", name,
		                    (unsigned long long)(shrank ? now : old),
		                    (unsigned long long)(shrank ? old : now));
	else
		text = alloc_format("%s: %llu", name, (unsigned long long)now);
	free(name);
	return text;
}
