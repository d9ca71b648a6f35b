/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/error_names.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/base/units.h"

/* ---- polling ---- */

/* So many questions for a piece of work are a loop; fewer are a look now and then, as of a caching
 * allocator. */
#define QUERIES_EACH 5.0
#define FEW_QUERIES  1000
/* A loop that takes so much of the time keeps a core busy with nothing else. */
#define LOOP_LONG 0.5

/* Time from the first to the last of questions that nothing else of the thread came between. */
static double time_in_loops(const struct finding_context *s)
{
	double *last = alloc_zeroed(s->h->thread_count + 1, sizeof(*last)), sum = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		bool asks = cuda_role_is_query(a->role);
		if (asks)
			sum += a->end - (last[a->thread] > 0 ? last[a->thread] : a->start);
		last[a->thread] = asks ? a->end : 0;
	}
	free(last);
	return sum;
}

bool detect_polling(const struct finding_context *s, struct finding *f)
{
	const struct model *m = s->m;
	const struct model_totals *t = &m->totals;
	double pieces = (double)t->launches + (double)t->graph_launches + (double)t->copies +
	                (double)t->sets;
	char share[UNIT_BYTES], inside[UNIT_BYTES];
	const struct model_api *most = NULL;
	double asked = 0, ns = 0;

	for (size_t i = 0; i < m->api_count; i++) {
		const struct model_api *a = &m->apis[i];
		if (!cuda_role_is_query(cuda_role_of(a->name, a->cls)))
			continue;
		asked += (double)a->calls;
		ns += a->total;
		if (!most || a->calls > most->calls)
			most = a;
	}
	if (!most || asked < FEW_QUERIES || asked < QUERIES_EACH * pieces || !(pieces > 0) ||
	    !(s->window > 0))
		return false;
	/* Records of a fast loop may be lost; the counts are exact, and their time the least. */
	double took =
	        fmin(1, fmax(ns / s->window, finding_known(finding_share(s, time_in_loops(s)))));
	char *text = alloc_format(
	        "%.0f questions, %.0f for each piece of work, most of them %s (%llu); they take %s "
	        "in all, and the loops around them %s %% of a core's %s.",
	        asked, asked / pieces, most->name, (unsigned long long)most->calls,
	        unit_time_apart(inside, ns), unit_percent(share, took, 1), steady_whose(s));
	if (took < FINDING_LEAST) {
		free(text);
		return false;
	}
	return finding_is(f, took >= LOOP_LONG ? SEVERITY_MEDIUM : SEVERITY_LOW, took, text);
}

/* ---- failed-calls ---- */

#define FAILURES_TOLD 3

/* "cudaMalloc 10 times (cudaErrorMemoryAllocation)" (free it) */
static char *failure_text(const struct model *m, const struct model_failure *x)
{
	const struct model_api *a = &m->apis[x->api];
	const char *name = error_name(a->level, x->result);
	char *code = name ? alloc_string(name) : alloc_format("error %d", x->result);
	char *text = alloc_format("%s %llu time%s (%s)", a->name, (unsigned long long)x->count,
	                          x->count == 1 ? "" : "s", code);

	free(code);
	return text;
}

/* The failure with the largest count below `than` in the order of counts and places; NULL: none. */
static const struct model_failure *next_failure(const struct model *m,
                                                const struct model_failure *than)
{
	const struct model_failure *best = NULL;

	for (size_t i = 0; i < m->failure_count; i++) {
		const struct model_failure *x = &m->failures[i];
		bool after =
		        !than || x->count < than->count || (x->count == than->count && x > than);
		if (after && (!best || x->count > best->count))
			best = x;
	}
	return best;
}

static char *failures_text(const struct model *m)
{
	char *text = NULL;
	const struct model_failure *x = NULL;

	for (int i = 0; i < FAILURES_TOLD && (x = next_failure(m, x)); i++) {
		char *one = failure_text(m, x),
		     *more = text ? alloc_format("%s, %s", text, one) : alloc_string(one);
		free(text);
		free(one);
		text = more;
	}
	return text ? text : alloc_copy("too many kinds to tell", 22);
}

/* Work that was not done is worse than a question that was answered by an error. */
static enum finding_severity severity_of(const struct model *m)
{
	for (size_t i = 0; i < m->failure_count; i++) {
		switch (m->apis[m->failures[i].api].cls) {
		case SPY_CLASS_LAUNCH:
		case SPY_CLASS_GRAPH_LAUNCH:
		case SPY_CLASS_COPY:
		case SPY_CLASS_SET:
		case SPY_CLASS_SYNC:
			return SEVERITY_HIGH;
		default:
			break;
		}
	}
	return SEVERITY_LOW;
}

bool detect_failed_calls(const struct finding_context *s, struct finding *f)
{
	const struct model *m = s->m;
	char first[UNIT_BYTES];
	double when = INFINITY;

	if (!m->totals.failed)
		return false;
	for (size_t i = 0; i < m->failure_count; i++)
		when = fmin(when, m->failures[i].first);
	char *which = failures_text(m);
	char *text = alloc_format("%llu of %llu calls failed, the first %s into the window: %s%s.",
	                          (unsigned long long)m->totals.failed,
	                          (unsigned long long)m->totals.calls,
	                          unit_time_apart(first, isfinite(when) ? when : NAN), which,
	                          m->failure_count > FAILURES_TOLD ? ", and others" : "");
	free(which);
	return finding_is(f, severity_of(m), NAN, text);
}
