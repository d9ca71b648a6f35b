#include <math.h>
#include <stdlib.h>

#include "report/alloc.h"
#include "report/findings_parts.h"
#include "report/units.h"

/* A launch costs the host some 3 to 5 us: kernels below this hardly hide it. */
#define SHORT_KERNEL 10e3

static double known(double ns)
{
	return ns > 0 ? ns : 0; /* NaN too */
}

bool find_many_short_launches(const struct scene *s, struct finding *f)
{
	const struct model *m = s->m;
	char launch[UNIT_BYTES], each[UNIT_BYTES], share[UNIT_BYTES];
	double idle =
	        known(m->gpu.busy.by[TF_IDLE_LAUNCH]) + known(m->gpu.busy.by[TF_IDLE_OUTSIDE]);
	double spent = fmin(known(m->host.launch) + known(m->host.contention), idle);

	if (!m->gpu.has_busy || !m->totals.launches || !(s->gpu_each < SHORT_KERNEL) ||
	    !(s->window > 0))
		return false;
	char *rate = scene_rate(s, (double)s->classes[SPY_CLASS_LAUNCH].count);
	char *text = alloc_format(
	        "%llu launches, %s; launching takes the host %s each and the GPU runs %s each; the "
	        "GPU idled for %s %% of the steady window while the host launched.",
	        (unsigned long long)m->totals.launches, rate,
	        unit_time_apart(launch, m->gpu.launch_p50), unit_time_apart(each, s->gpu_each),
	        unit_percent(share, spent, s->window));
	free(rate);
	return finding_tell(f, spent / s->window, text);
}

bool find_launch_queue_full(const struct scene *s, struct finding *f)
{
	char share[UNIT_BYTES], time[UNIT_BYTES];
	double full = known(s->m->host.back_pressure);

	if (!(s->window > 0) || !(full > 0))
		return false;
	char *text = alloc_format(
	        "%s of launch calls, %s %% of the steady window, were spent waiting for a place in "
	        "the launch queue (1024 entries): the host is ahead of the GPU.",
	        unit_time_apart(time, full), unit_percent(share, full, s->window));
	return finding_is(f, SEVERITY_INFO, full / s->window, text) && f->share >= FINDING_MEDIUM;
}

bool find_launch_contention(const struct scene *s, struct finding *f)
{
	char share[UNIT_BYTES], time[UNIT_BYTES];
	double lost = 0, alive = 0;
	unsigned launching = 0;

	for (size_t i = 0; i < s->m->thread_count; i++) {
		const struct thread *t = &s->m->threads[i];
		if (!t->launches)
			continue;
		launching++;
		lost += known(t->split.contention);
		alive += known(t->split.alive);
	}
	if (launching < 2 || !(alive > 0))
		return false;
	char *text = alloc_format("%u threads launch; they wait for one another for %s in all, %s "
	                          "%% of their time.",
	                          launching, unit_time_apart(time, lost),
	                          unit_percent(share, lost, alive));
	return finding_tell(f, lost / alive, text) && f->share >= FINDING_MEDIUM;
}
