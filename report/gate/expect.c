/* SPDX-License-Identifier: Apache-2.0 */
#include "report/gate/expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/pattern.h"

bool expect_is_empty(const char *command, const char *pattern)
{
	if (*pattern)
		return false;
	complain("%s: --expect-kernel: an empty name; \".*\" means every kernel", command);
	return true;
}

bool expect_compile(struct expect_rule *e, const char *command, const char *pattern)
{
	char why[PATTERN_ERROR_BYTES];

	e->pattern = pattern;
	if (expect_is_empty(command, pattern))
		return false;
	if (!pattern_compile(&e->compiled, pattern, why))
		return true;
	complain("%s: --expect-kernel %s: no regular expression: %s", command, pattern, why);
	return false;
}

void expect_free(struct expect_rule *e)
{
	pattern_free(&e->compiled);
}

static bool ran(const struct model *m, const struct model_kernel *k)
{
	/* Before 11.7 CUPTI times kernels inside graphs too; captured ones run when graphs are
	 * launched. */
	return k->launches || k->gpu.total > 0 || k->graph_launches ||
	       (k->captured && m->totals.graph_launches);
}

/* Whether `a` is to be named before `b`. */
static bool weighs_more(const struct model_kernel *a, const struct model_kernel *b)
{
	double x = isfinite(a->gpu.total) ? a->gpu.total : -1,
	       y = isfinite(b->gpu.total) ? b->gpu.total : -1;

	return x != y ? x > y : a->launches > b->launches;
}

/* Keeps the EXPECT_SHOWN that weigh most, in order. */
static void insert(const struct model_kernel **list, size_t count, const struct model_kernel *k)
{
	size_t at = count < EXPECT_SHOWN ? count : EXPECT_SHOWN;

	while (at > 0 && weighs_more(k, list[at - 1])) {
		if (at < EXPECT_SHOWN)
			list[at] = list[at - 1];
		at--;
	}
	if (at < EXPECT_SHOWN)
		list[at] = k;
}

/* Takes `more`. */
static void add(char **note, char *more)
{
	char *all = *note ? alloc_format("%s; %s", *note, more) : more;

	if (*note)
		free(more);
	free(*note);
	*note = all;
}

/* What may hide a kernel that seems never to have run. */
static void take_doubts(const struct model *m, struct expect_found *x)
{
	uint64_t nameless = 0, running = 0;

	for (size_t i = 0; i < m->kernel_count; i++)
		if (kernel_is_nameless(m->kernels[i].name))
			nameless += m->kernels[i].launches;
	for (size_t i = 0; i < m->process_count; i++)
		running += m->processes[i].state == PROCESS_RUNNING;
	if (nameless)
		add(&x->note, alloc_format("%llu launches are of kernels without a known name",
		                           (unsigned long long)nameless));
	if (m->totals.graph_launches)
		add(&x->note, alloc_format("graphs were launched %llu times, and kernels put into "
		                           "them node by node are not seen",
		                           (unsigned long long)m->totals.graph_launches));
	if (m->lost_calls)
		add(&x->note, alloc_format("%llu calls are in no figure: too many threads",
		                           (unsigned long long)m->lost_calls));
	if (running)
		add(&x->note, alloc_format("the program runs still"));
}

void expect_find(const struct model *m, const struct expect_rule *e, struct expect_found *to)
{
	uint64_t in_graphs = 0;

	*to = (struct expect_found){
	        .known = model_is_known(m) && model_has_opened(m), .gpu = NAN, .gpu_share = NAN};
	for (size_t i = 0; i < m->kernel_count; i++) {
		const struct model_kernel *k = &m->kernels[i];
		if (!k->name || !ran(m, k))
			continue;
		if (!pattern_finds(&e->compiled, k->name)) {
			insert(to->others, to->other_count++, k);
			continue;
		}
		if (__builtin_add_overflow(to->launches, k->launches, &to->launches))
			to->launches = UINT64_MAX;
		if (__builtin_add_overflow(to->captured, k->captured, &to->captured))
			to->captured = UINT64_MAX;
		if (__builtin_add_overflow(in_graphs, k->graph_launches, &in_graphs))
			in_graphs = UINT64_MAX;
		to->gpu = to->match_count ? to->gpu + k->gpu.total : k->gpu.total;
		insert(to->matches, to->match_count++, k);
		to->ran = true;
	}
	if (isfinite(to->gpu) && m->gpu.all.total > 0)
		to->gpu_share = fmin(1, to->gpu / m->gpu.all.total);
	if (!to->known)
		to->note = model_missing(m);
	else if (!to->ran)
		take_doubts(m, to);
	else if (!to->launches && in_graphs)
		to->note = alloc_format("graphs ran it %llu times", (unsigned long long)in_graphs);
	else if (!to->launches)
		to->note = alloc_format(
		        "captured %llu times: how often the graphs ran it is not known",
		        (unsigned long long)to->captured);
}

void expect_found_free(struct expect_found *x)
{
	free(x->note);
	*x = (struct expect_found){0};
}

double expect_per_step(const struct model *m, const struct model_kernel *k)
{
	double steps = m->steps.source == STEPS_NONE ? 0 : (double)m->steps.count;

	return steps > 0 ? model_count(m, k->launches) / steps : NAN;
}
