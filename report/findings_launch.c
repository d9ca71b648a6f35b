#include <math.h>
#include <stdlib.h>

#include "report/alloc.h"
#include "report/findings_parts.h"
#include "report/flow.h"
#include "report/repeats.h"
#include "report/units.h"

/* A launch costs the host some 3 to 5 us: kernels below this hardly hide it. */
#define SHORT_KERNEL 10e3
/* A graph ends where the host waits, and its launch costs about as much as two of kernels: with
 * fewer of them between two waits little is saved. */
#define LAUNCHES_LEAST 4.0

/* ---- many-short-launches ---- */

/* How many launches the host does from one wait to the next, on average. */
static double launches_between_waits(const struct scene *s)
{
	const struct totals *t = &s->m->totals;
	double launches = 0, waits = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct act *a = &s->acts[i];
		if (a->kind == TF_WORK_KERNEL)
			launches += a->items;
		waits += flow_is_wait(a);
	}
	if (!s->count) { /* nothing is kept: the whole run tells */
		launches = (double)t->launches;
		waits = (double)t->syncs + (t->implicit_known ? (double)t->implicit_syncs : 0);
	}
	return launches / (waits + 1);
}

/* " A sequence of 12 launches ...", or nothing (free it). */
static char *sequence(const struct scene *s)
{
	char share[UNIT_BYTES], time[UNIT_BYTES];
	struct repeats r = repeats_find(s);

	if (!r.count || !r.launches)
		return alloc_copy("", 0);
	char *others = !r.others ? alloc_copy("", 0)
	                         : alloc_format(" and %u other piece%s of work", r.others,
	                                        r.others == 1 ? "" : "s");
	char *waits = !r.waits ? alloc_copy("", 0)
	                       : alloc_format(" with %u wait%s between them", r.waits,
	                                      r.waits == 1 ? "" : "s");
	char *text = r.launches == 1 && !r.others && !r.waits
	                     ? alloc_copy("launch", 6)
	                     : alloc_format("sequence of %u launch%s%s%s", r.launches,
	                                    r.launches == 1 ? "" : "es", others, waits);
	char *all =
	        alloc_format(" The same %s comes %llu times and covers %s %% of the last %s.", text,
	                     (unsigned long long)r.count, unit_percent(share, r.covered, r.looked),
	                     unit_time_apart(time, r.looked));
	free(others);
	free(waits);
	free(text);
	return all;
}

bool find_many_short_launches(const struct scene *s, struct finding *f)
{
	const struct model *m = s->m;
	char launch[UNIT_BYTES], each[UNIT_BYTES], share[UNIT_BYTES];
	double idle = finding_known(m->gpu.busy.by[TF_IDLE_LAUNCH]) +
	              finding_known(m->gpu.busy.by[TF_IDLE_OUTSIDE]);
	double spent = fmin(finding_known(m->host.launch), idle);

	if (!m->gpu.has_busy || !m->totals.launches || !(m->gpu.launched.mean < SHORT_KERNEL) ||
	    !scene_is_long(s) || launches_between_waits(s) < LAUNCHES_LEAST ||
	    spent < FINDING_MEDIUM * s->window)
		return false;
	char *rate = scene_rate(s, (double)s->classes[SPY_CLASS_LAUNCH].count),
	     *repeats = sequence(s);
	char *text = alloc_format(
	        "%llu launches, %s; launching takes the host %s each and the GPU runs %s%s each; "
	        "the GPU idled for %s %% of the steady window while the host launched.%s",
	        (unsigned long long)m->totals.launches, rate,
	        unit_time_apart(launch, m->gpu.launch_p50), scene_estimated(s),
	        unit_time_apart(each, m->gpu.launched.mean), unit_percent(share, spent, s->window),
	        repeats);
	free(rate);
	free(repeats);
	return finding_tell(f, fmin(1, spent / s->window), text);
}

/* ---- launch-queue-full ---- */

bool find_launch_queue_full(const struct scene *s, struct finding *f)
{
	char share[UNIT_BYTES], time[UNIT_BYTES];
	double full = fmin(finding_known(s->m->host.back_pressure), s->window);

	if (!(s->window > 0) || full < FINDING_MEDIUM * s->window)
		return false;
	char *text = alloc_format(
	        "%s of launch calls, %s %% of the steady window, were spent waiting for a place in "
	        "the launch queue (some 1000 entries): the host is ahead of the GPU.",
	        unit_time_apart(time, full), unit_percent(share, full, s->window));
	return finding_is(f, SEVERITY_INFO, full / s->window, text);
}

/* ---- launch-contention ---- */

/* So many threads inside launches are told apart; more count as so many. */
#define TOGETHER_MOST 64u
/* Launches that meet another thread's, of all: fewer are chance. */
#define TOGETHER_LEAST 0.05

struct together {
	double *alone, *among; /* API time of launches that began so */
	size_t alone_count, among_count;
};

struct inside { /* a launch */
	uint16_t thread;
	double until;
};

/* Whether another thread is inside a launch as this one begins; notes when this one ends. */
static bool meets(struct inside *inside, size_t *count, const struct act *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++)
		if (inside[i].until > a->start && inside[i].thread != a->thread)
			inside[kept++] = inside[i];
	bool met = kept > 0;
	if (kept < TOGETHER_MOST)
		inside[kept++] = (struct inside){.thread = a->thread, .until = a->end};
	*count = kept;
	return met;
}

static struct together launches_together(const struct scene *s)
{
	struct together t = {.alone = alloc_zeroed(s->count + 1, sizeof(double)),
	                     .among = alloc_zeroed(s->count + 1, sizeof(double))};
	struct inside inside[TOGETHER_MOST];
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct act *a = &s->acts[i];
		if (a->class != SPY_CLASS_LAUNCH || a->result)
			continue;
		if (meets(inside, &count, a))
			t.among[t.among_count++] = a->end - a->start;
		else
			t.alone[t.alone_count++] = a->end - a->start;
	}
	return t;
}

static char *contention_text(const struct scene *s, unsigned threads, double lost, double alive)
{
	char share[UNIT_BYTES], time[UNIT_BYTES], alone[UNIT_BYTES], among[UNIT_BYTES],
	        often[UNIT_BYTES];
	struct together t = launches_together(s);
	double launches = (double)(t.alone_count + t.among_count);
	char *text = NULL;

	if (!(launches > 0) || (double)t.among_count >= TOGETHER_LEAST * launches)
		text = alloc_format(
		        "%u threads launch and wait for one another for %s in all, %s %% of their "
		        "time. A launch takes %s (median) alone, %s while another thread launches "
		        "too, as %s %% of them do.",
		        threads, unit_time_apart(time, lost), unit_percent(share, lost, alive),
		        unit_time_apart(alone, finding_median(t.alone, t.alone_count)),
		        unit_time_apart(among, finding_median(t.among, t.among_count)),
		        unit_percent(often, (double)t.among_count, launches));
	free(t.alone);
	free(t.among);
	return text;
}

bool find_launch_contention(const struct scene *s, struct finding *f)
{
	double lost = 0, alive = 0;
	unsigned launching = 0;

	for (size_t i = 0; i < s->m->thread_count; i++) {
		const struct thread *t = &s->m->threads[i];
		if (!t->launches)
			continue;
		launching++;
		lost += finding_known(t->split.contention);
		alive += finding_known(t->split.alive);
	}
	if (launching < 2 || !scene_is_long(s) || !(lost >= FINDING_MEDIUM * alive) || !(lost > 0))
		return false;
	char *text = contention_text(s, launching, lost, alive);
	return text && finding_tell(f, lost / alive, text);
}
