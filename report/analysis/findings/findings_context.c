/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/base/names.h"
#include "report/base/units.h"
#include "report/model/model_steps_within.h"

/* What the GPU was busy with it, ns; 0 where that is not known. */
static double gpu_time(const struct model_process *p)
{
	const struct overview *o = &p->overview;
	double busy = 0;

	for (size_t d = 0; d < o->device_count; d++)
		for (size_t i = 0; i < o->count; i++)
			busy += finding_known(o->devices[d].busy[i]);
	return busy;
}

/* Pieces of work among its recent calls: graphs and copies as well as launches. */
static size_t recent_work(const struct model_process *p)
{
	size_t work = 0;

	for (size_t i = 0; i < p->call_log.count; i++)
		work += p->call_log.call_events[i].kind != TF_WORK_NONE;
	return work;
}

/* Whether `a` gave the GPU more work than `b`. */
static bool gave_more(const struct model_process *a, const struct model_process *b)
{
	double one = gpu_time(a), two = gpu_time(b);

	if (one != two)
		return one > two;
	return recent_work(a) > recent_work(b);
}

static const struct model_process *busiest(const struct model *m)
{
	const struct model_process *best = NULL;

	for (size_t i = 0; i < m->process_count; i++)
		if (!best || gave_more(&m->processes[i], best))
			best = &m->processes[i];
	return best;
}

bool finding_is_read(const struct call_event *a)
{
	return a->kind == TF_WORK_COPY && a->direction == SPY_DIR_DTOH && !a->async &&
	       a->bytes <= WHATIF_SMALL_COPY;
}

bool finding_reads_wait(const struct finding_context *s)
{
	return s->reads.ns > s->classes[SPY_CLASS_SYNC].ns;
}

static void tally(struct finding_tally *t, const struct call_event *a)
{
	t->count++;
	t->failed += a->result != 0;
	t->ns += a->end - a->start;
}

void finding_set(struct finding_context *s, const struct model *m, const struct verdict *verdict)
{
	*s = (struct finding_context){.m = m,
	                              .verdict = verdict,
	                              .process = busiest(m),
	                              .steps = NAN,
	                              .framework = framework_of(m),
	                              .blamed = VERDICT_CLASSES};
	s->h = &s->process->call_log;
	size_t from = call_log_steady(s->h);
	s->count = s->h->count - from;
	s->call_events = s->h->call_events + from;
	s->window = verdict->window > 0 ? verdict->window : m->host_window;
	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		tally(&s->classes[a->cls], a);
		if (finding_is_read(a))
			tally(&s->reads, a);
	}
	if (s->count)
		s->held = s->h->until - fmax(s->call_events[0].start, s->h->steady);
	if (!(s->held > 0))
		s->held = 0;
	if (s->count)
		s->steps = model_steps_within(m, (size_t)(s->process - m->processes),
		                              fmax(s->call_events[0].start, s->h->steady));
	if (isnan(s->steps) && m->steps.source != STEPS_NONE && m->steps.duration.mean > 0)
		s->steps = s->held / m->steps.duration.mean;
}

enum finding_severity finding_severity(double speedup, double share)
{
	double none = isfinite(speedup) ? 1 : 0, by = isfinite(speedup) ? speedup : share;

	return by >= none + FINDING_HIGH     ? SEVERITY_HIGH
	       : by >= none + FINDING_MEDIUM ? SEVERITY_MEDIUM
	                                     : SEVERITY_LOW;
}

bool finding_is(struct finding *f, enum finding_severity severity, double share, char *evidence)
{
	f->severity = severity;
	f->share = share;
	f->evidence = evidence;
	return true;
}

bool finding_tell(struct finding *f, double share, char *evidence)
{
	finding_is(f, finding_severity(NAN, share), share, evidence);
	return share >= FINDING_LEAST;
}

double finding_known(double ns)
{
	return ns > 0 ? ns : 0; /* NaN too */
}

bool finding_is_long(const struct finding_context *s)
{
	return s->window >= VERDICT_LEAST_WINDOW && s->held > 0;
}

bool finding_is_whole(const struct finding_context *s)
{
	return s->m->lost_share <= WHATIF_MOST_LOST;
}

char *finding_kernel(const char *full)
{
	char *brief = NULL;

	name_short_all(&full, &brief, 1);
	return brief;
}

const char *finding_estimated(const struct finding_context *s)
{
	return s->m->gpu.estimated ? "an estimated " : "";
}

/* What the devices idled after start-up, by the time slices; NaN = not known. */
static double steady_idle(const struct finding_context *s)
{
	const struct overview *p = &s->process->overview;
	double idle = 0;

	if (!p->count || !p->device_count)
		return NAN;
	for (size_t i = 0; i < p->count; i++) {
		if (p->origin + (double)i * p->width - p->window < s->h->steady)
			continue;
		for (size_t d = 0; d < p->device_count; d++)
			idle += fmax(0, p->devices[d].covered[i] - p->devices[d].busy[i]);
	}
	return idle / (double)p->device_count;
}

double finding_idle(const struct finding_context *s)
{
	const struct model_gpu_busy *b = &s->m->gpu.busy;
	double idle = 0;

	if (!s->m->gpu.has_busy || !(b->window > 0) || !(s->window > 0))
		return NAN;
	for (int i = 0; i < TF_IDLES; i++)
		if (i != TF_IDLE_DEPENDENCY && i != TF_IDLE_UNKNOWN && i != TF_IDLE_OWN)
			idle += finding_known(b->by[i]);
	idle *= s->m->host_window / b->window; /* of one device, on average */
	return fmin(1, (s->m->process_count == 1 ? fmin(idle, steady_idle(s)) : idle) / s->window);
}

double finding_share(const struct finding_context *s, double ns)
{
	return s->held > 0 ? fmin(1, ns / s->held) : NAN;
}

char *finding_rate(const struct finding_context *s, double count)
{
	char each[UNIT_BYTES];

	if (s->steps > 0)
		return alloc_format("%s a step", unit_count(each, count / s->steps));
	return alloc_format("%s a second",
	                    unit_count(each, s->held > 0 ? count / s->held * 1e9 : 0));
}
