/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/judge_internal.h"
#include "report/model/model.h"

static bool matches(const struct rule *r, const struct figures_part *p)
{
	return pattern_finds(&r->compiled, p->name);
}

/* A pattern of everything asks for launches of kernels without a known name as well. */
static bool is_of_all(const struct rule *r, const struct figures *f)
{
	for (size_t i = 0; i < f->kernels.count; i++)
		if (kernel_is_nameless(f->kernels.items[i].name) &&
		    !matches(r, &f->kernels.items[i]))
			return false;
	return pattern_finds(&r->compiled, "") || pattern_finds(&r->compiled, "\x01");
}

struct found {
	double launches, captured, in_graphs;
	double nameless; /* launches of which no name is known: perhaps of the kernel asked for */
};

static struct found find(const struct rule *r, const struct figures *f)
{
	bool all = is_of_all(r, f);
	struct found found = {0};
	double listed = 0;

	for (size_t i = 0; i < f->kernels.count; i++) {
		const struct figures_part *p = &f->kernels.items[i];
		listed += (double)p->count;
		if (!all && kernel_is_nameless(p->name)) {
			found.nameless += (double)p->count + (double)p->captured;
		} else if (matches(r, p)) {
			found.launches += (double)p->count;
			found.captured += (double)p->captured;
			found.in_graphs += (double)p->in_graphs;
		}
	}
	/* Those whose thread had no room for another kernel; of baselines, what they do not list.
	 */
	if (f->values[METRIC_LAUNCHES] > listed)
		found.nameless += f->values[METRIC_LAUNCHES] - listed;
	return found;
}

/* `= 0`, `<= 0` and `< 1` say that it must not run. */
static bool asks_for_none(const struct rule *r)
{
	return !r->relative &&
	       (judge_holds(OP_EQ, r->value, 0, 0) || (r->op == OP_LT && !(r->value > 1)));
}

/* Of kernels that must run, or must not, what graphs ran counts too. */
static double ran(const struct rule *r, const struct found *found)
{
	return found->launches + (r->expected || asks_for_none(r) ? found->in_graphs : 0);
}

double judge_kernels(const struct rule *r, const struct figures *f)
{
	struct found found = find(r, f);

	/* Of expected kernels that were only captured: what was, if graphs were launched. */
	if (r->expected && !(ran(r, &found) > 0) && f->values[METRIC_GRAPH_LAUNCHES] > 0)
		return found.captured;
	return ran(r, &found);
}

char *judge_kernels_unsure(const struct rule *r, const struct figures *f)
{
	struct found found = find(r, f);
	double sure = ran(r, &found) + (r->expected ? found.captured : 0);

	if (asks_for_none(r) && !(sure > 0) && found.captured > 0 &&
	    f->values[METRIC_GRAPH_LAUNCHES] > 0)
		return alloc_format("%s: it was captured into graphs %.0f times; how often they "
		                    "ran it is not known",
		                    f->name, found.captured);
	if (!(found.nameless > 0))
		return NULL;
	/* More would not break it. */
	if ((r->op == OP_GE || r->op == OP_GT) && !r->relative && !r->per_step &&
	    judge_holds(r->op, sure, r->value, r->value))
		return NULL;
	return alloc_format("%s: %.0f launches are of kernels whose name is not known", f->name,
	                    found.nameless);
}

/* More would be needed: without any it fails, which is an answer. */
static bool asks_for_some(const struct rule *r)
{
	return !r->relative && (r->op == OP_GE || r->op == OP_GT || r->op == OP_EQ);
}

char *judge_kernels_absent(const struct judge_trial *c, const struct figures *f)
{
	const struct rule *r = c->rule;
	struct found found = find(r, f);

	if (r->expected || found.launches + found.captured + found.in_graphs > 0 ||
	    asks_for_none(r) || asks_for_some(r))
		return NULL;
	for (size_t i = 0; r->relative && i < c->judge->before->count; i++) {
		found = find(r, &c->judge->before->runs[i]);
		if (found.launches + found.captured + found.in_graphs > 0)
			return NULL;
	}
	return alloc_format("%s: no kernel matches %s; of one that must not run say = 0", f->name,
	                    r->pattern);
}
