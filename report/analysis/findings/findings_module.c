/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/base/units.h"

/* ---- modules ---- */

/* So many in the second half of what is held: not the start-up alone. */
#define LOADS_LATE 3u

bool detect_module_load_in_loop(const struct finding_context *s, struct finding *f)
{
	char time[UNIT_BYTES], share[UNIT_BYTES], each[UNIT_BYTES], span[SPAN_BYTES];
	uint64_t loads = 0, late = 0;
	double ns = 0, loading = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (a->cls != SPY_CLASS_MODULE || a->result)
			continue;
		ns += call_event_ns(a);
		if (!cuda_role_is_loading(a->role))
			continue;
		loads++;
		late += call_event_late(s, a);
		loading += call_event_ns(a);
	}
	if (late < LOADS_LATE || !(s->held > 0))
		return false;
	char *rate = finding_rate(s, (double)loads);
	char *text = alloc_format("%llu modules were loaded%s, %s, %s each; with looking up and "
	                          "unloading that takes the "
	                          "host %s, %s %% of its %s.",
	                          (unsigned long long)loads, steady_span(s, span), rate,
	                          unit_time_apart(each, loading / (double)loads),
	                          unit_time_apart(time, ns), unit_percent(share, ns, s->held),
	                          steady_whose(s));
	free(rate);
	return finding_tell(f, steady_stake(finding_share(s, ns), steady_busy(s)), text);
}

/* ---- first launches ---- */

/* After this share of what is held a program has warmed up. */
#define WARM 0.1
/* So many behind that, so much slower than others on average, and by so many ns. */
#define FIRSTS_LEAST 4u
#define FIRSTS_TIMES 3.0
#define FIRSTS_SLOW  10e3

static bool is_launch(const struct call_event *a)
{
	return a->cls == SPY_CLASS_LAUNCH && !a->result && !(a->flags & CALL_EVENT_CAPTURED);
}

/* The median of launches that are not first ones, ns; NaN where there are none. */
static double usual_launch(const struct finding_context *s)
{
	double *each = alloc_zeroed(s->count + 1, sizeof(*each)), median;
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++)
		if (is_launch(&s->call_events[i]) && !(s->call_events[i].flags & CALL_EVENT_FIRST))
			each[count++] = call_event_ns(&s->call_events[i]);
	stats_sort(each, count);
	median = stats_quantile(each, count, 0.5);
	free(each);
	return median;
}

bool detect_first_launch_cost(const struct finding_context *s, struct finding *f)
{
	char each[UNIT_BYTES], other[UNIT_BYTES], sum[UNIT_BYTES], share[UNIT_BYTES];
	double warm = s->h->until - (1 - WARM) * s->held, first = 0, usual = usual_launch(s);
	uint64_t firsts = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (!is_launch(a) || !(a->flags & CALL_EVENT_FIRST) || a->start < warm)
			continue;
		firsts++;
		first += call_event_ns(a);
	}
	double mean = first / (double)firsts;
	if (firsts < FIRSTS_LEAST || !(s->held > 0) || !(usual > 0) ||
	    !(mean > FIRSTS_TIMES * usual) || !(mean - usual > FIRSTS_SLOW))
		return false;
	double ns = first - usual * (double)firsts;
	char *text = alloc_format(
	        "%llu launches after the first tenth of the steady state were the first of their "
	        "kernel in their thread; they take %s each where others take %s, %s more in all, "
	        "%s "
	        "%% of the host's %s. What waits for them is late by that much.",
	        (unsigned long long)firsts, unit_time_apart(each, mean),
	        unit_time_apart(other, usual), unit_time_apart(sum, ns),
	        unit_percent(share, ns, s->held), steady_whose(s));
	/* Few of all launches, yet each a request that is late: told however small the share. */
	return finding_tell(f, finding_share(s, ns), text) ||
	       finding_is(f, SEVERITY_INFO, f->share, f->evidence);
}
