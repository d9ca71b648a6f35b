/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/model/environment.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/base/units.h"

/* Threads that give a process' GPU its work, or all processes' (NULL). */
static unsigned issuing_threads(const struct finding_context *s,
                                const struct model_process *process)
{
	unsigned count = 0;

	for (size_t i = 0; i < s->m->thread_count; i++) {
		const struct model_thread *t = &s->m->threads[i];
		count += t->issues && (!process || &s->m->processes[t->process] == process);
	}
	return count;
}

/* ---- launch-contention ---- */

/* So many threads inside launches are told apart; more count as so many. */
#define TOGETHER_MOST 64u
/* Launches that tell a quartile. */
#define TOGETHER_FEW 8u

/* Launches of one kernel in one shape by how many other threads were inside launches as they began,
 * ns; and all launches by that. */
struct together {
	double *took[TOGETHER_MOST];
	size_t count[TOGETHER_MOST], all[TOGETHER_MOST];
};

struct inside { /* a launch */
	uint16_t thread;
	double until;
};

/* How many other threads are inside a launch as this one begins; notes when this one ends. */
static size_t others_inside(struct inside *inside, size_t *count, const struct call_event *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++)
		if (inside[i].until > a->start && inside[i].thread != a->thread)
			inside[kept++] = inside[i];
	size_t others = kept;
	if (kept < TOGETHER_MOST)
		inside[kept++] = (struct inside){.thread = a->thread, .until = a->end};
	*count = kept;
	return others < TOGETHER_MOST ? others : TOGETHER_MOST - 1;
}

static bool is_launch(const struct call_event *a)
{
	return a->cls == SPY_CLASS_LAUNCH && !a->result;
}

/* The class of work that most launches are of: launches of one kernel are alike but for what they
 * wait for. */
static uint32_t most_launched(const struct finding_context *s)
{
	size_t *launches = alloc_zeroed(s->h->work_count + 1, sizeof(*launches)), most = 0;

	for (size_t i = 0; i < s->count; i++)
		if (is_launch(&s->call_events[i]) && s->call_events[i].work < s->h->work_count)
			launches[s->call_events[i].work]++;
	for (size_t i = 0; i < s->h->work_count; i++)
		most = launches[i] > launches[most] ? i : most;
	free(launches);
	return (uint32_t)most;
}

static void launches_together(const struct finding_context *s, struct together *t)
{
	struct inside inside[TOGETHER_MOST];
	uint32_t work = most_launched(s);
	size_t count = 0;

	*t = (struct together){0};
	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (!is_launch(a))
			continue;
		size_t others = others_inside(inside, &count, a);
		t->all[others]++;
		if (a->work != work || a->flags & CALL_EVENT_FIRST)
			continue;
		ALLOC_ROOM(t->took[others], t->count[others]);
		t->took[others][t->count[others]++] = a->end - a->start;
	}
}

static void together_free(struct together *t)
{
	for (size_t i = 0; i < TOGETHER_MOST; i++)
		free(t->took[i]);
}

/*
 * The lower quartile with its 95 % interval, from the ranks around it: what else takes a launch's
 * time, as a thread that loses its CPU, makes it longer and leaves this be.
 */
struct quarter {
	size_t count;
	double at, low, high;
};

/* Of launches that met `from` to `until` - 1 others. */
static struct quarter quarter_of(const struct together *t, size_t from, size_t until)
{
	struct quarter q = {.at = NAN, .low = NAN, .high = NAN};
	double *all = NULL;

	for (size_t k = from; k < until; k++)
		for (size_t i = 0; i < t->count[k]; i++) {
			ALLOC_ROOM(all, q.count);
			all[q.count++] = t->took[k][i];
		}
	if (q.count >= TOGETHER_FEW) {
		double n = (double)q.count, half = 1.96 * sqrt(n * 3 / 16);
		stats_sort(all, q.count);
		q.at = all[q.count / 4];
		q.low = all[(size_t)fmax(0, floor(n / 4 - half))];
		q.high = all[(size_t)fmin(n - 1, ceil(n / 4 + half))];
	}
	free(all);
	return q;
}

struct contention {
	struct quarter few, many; /* launches that met fewer and more others */
	size_t others;            /* that the former met at most */
	double often;             /* share of all launches that are such as the latter */
	double lost, lost_least;  /* of the launching threads' time, share */
};

static struct contention split_at(const struct finding_context *s, unsigned threads,
                                  const struct together *t, size_t split)
{
	struct contention c = {.few = quarter_of(t, 0, split),
	                       .many = quarter_of(t, split, TOGETHER_MOST),
	                       .others = split - 1};
	double many = 0, all = 0, time = s->held * threads;

	for (size_t k = 0; k < TOGETHER_MOST; k++) {
		all += (double)t->all[k];
		many += k >= split ? (double)t->all[k] : 0;
	}
	c.often = all > 0 ? many / all : 0;
	c.lost = time > 0 ? (c.many.at - c.few.at) * many / time : NAN;
	c.lost_least = time > 0 ? (c.many.low - c.few.high) * many / time : NAN;
	return c;
}

/*
 * Whether a launch takes longer beside others than alone, or, where hardly one is ever alone,
 * beside more than beside fewer. False where that may be chance, or is too little to matter.
 */
static bool compare(const struct finding_context *s, unsigned threads, struct contention *c)
{
	/* A thread without a CPU waits for no lock. */
	double had_cpu = 1 - fmin(0.99, finding_known(s->h->cpu_wait));
	struct together t;
	bool differ = false;

	launches_together(s, &t);
	for (size_t split = 1; split < threads && split < TOGETHER_MOST && !differ; split++) {
		*c = split_at(s, threads, &t, split);
		differ = c->lost >= FINDING_MEDIUM * had_cpu &&
		         c->lost_least >= FINDING_LEAST * had_cpu;
	}
	together_free(&t);
	return differ;
}

static char *contention_text(const struct finding_context *s, unsigned threads,
                             const struct contention *c)
{
	char share[UNIT_BYTES], few[UNIT_BYTES], many[UNIT_BYTES], low[UNIT_BYTES],
	        high[UNIT_BYTES], often[UNIT_BYTES], wait[UNIT_BYTES];
	char *beside = c->others == 0 ? alloc_copy("alone", 5)
	               : c->others == 1
	                       ? alloc_format("while one other thread launches at most")
	                       : alloc_format("while %zu others launch at most", c->others);
	char *cpu =
	        s->h->cpu_wait >= FINDING_LEAST
	                ? alloc_format(" What they waited for a CPU, %s %% of their time, is not "
	                               "in that.",
	                               unit_percent(wait, s->h->cpu_wait, 1))
	                : alloc_string("");
	char *text = alloc_format(
	        "%u threads launch and wait for one another for %s %% of their time. A launch "
	        "takes "
	        "%s (lower quartile) %s, %s while %s launch%s too, as %s %% of them do: %s to %s "
	        "longer "
	        "(95 %%).%s",
	        threads, unit_percent(share, c->lost, 1), unit_time_apart(few, c->few.at), beside,
	        unit_time_apart(many, c->many.at), c->others ? "more" : "another thread",
	        c->others ? "" : "es", unit_percent(often, c->often, 1),
	        unit_time_apart(low, c->many.low - c->few.high),
	        unit_time_apart(high, c->many.high - c->few.low), cpu);
	free(beside);
	free(cpu);
	return text;
}

bool detect_launch_contention(const struct finding_context *s, struct finding *f)
{
	double lost = 0, alive = 0;
	unsigned launching = 0;

	for (size_t i = 0; i < s->m->thread_count; i++) {
		const struct model_thread *t = &s->m->threads[i];
		if (!t->launches)
			continue;
		launching++;
		lost += finding_known(t->split.contention);
		alive += finding_known(t->split.alive);
	}
	if (launching < 2 || !finding_is_long(s) || !(lost >= FINDING_MEDIUM * alive) ||
	    !(lost > 0))
		return false;
	/* The timeline says that launches took longer than usual while other threads called; the
	 * recent calls must say that this is what made them longer. */
	struct contention c;
	return compare(s, launching, &c) &&
	       finding_tell(f, fmin(1, c.lost), contention_text(s, launching, &c));
}

/* ---- host-starved-of-cpu ---- */

/* The least that any of the threads may run on, where that is less than the process may. */
static double fewest_cores(const struct finding_context *s)
{
	double fewest = NAN;

	for (size_t i = 0; i < s->m->thread_count; i++) {
		const struct model_thread *t = &s->m->threads[i];
		if (t->issues && &s->m->processes[t->process] == s->process)
			fewest = fmin(fewest, t->cpu_cores); /* of a NaN: the other one */
	}
	return fewest < s->process->cpu.cores ? fewest : NAN;
}

/* The share of the quota's periods in which it was used up; NaN = not known, or there is none. */
static double throttled(const struct model_process_cpu *c)
{
	return c->limited && c->periods > 0 ? fmin(1, c->throttled_periods / c->periods) : NAN;
}

static char *starved_text(const struct finding_context *s, double idle)
{
	char share[UNIT_BYTES], time[UNIT_BYTES], rest[UNIT_BYTES];
	unsigned threads = issuing_threads(s, s->process);
	double wait = s->h->cpu_wait, fewest = fewest_cores(s),
	       steady = s->h->window - s->h->steady;
	char *who = threads == 1 ? alloc_format("The thread that gives")
	                         : alloc_format("The %u threads that give", threads);
	char *waited =
	        isnan(wait) ? alloc_format("What threads waited for a CPU is not known")
	                    : alloc_format("%s the GPU its work waited for a CPU for %s %% of %s "
	                                   "(%s%s)",
	                                   who, unit_percent(share, wait, 1), steady_base(s),
	                                   unit_time_apart(time, wait * steady),
	                                   threads == 1 ? "" : " each");
	char *idled = isnan(idle)
	                      ? alloc_string("")
	                      : alloc_format(", and the GPU idled because of the host for %s%s %% "
	                                     "of it",
	                                     finding_estimated(s), unit_percent(rest, idle, 1));
	char *pinned = isnan(fewest)
	                       ? alloc_string("")
	                       : alloc_format(" A thread may run on %.0f of them only.", fewest);
	char *cpu = environment_cpu_line(&s->process->cpu);
	char *text = alloc_format("%s%s. %s.%s", waited, idled, cpu, pinned);

	free(who);
	free(waited);
	free(idled);
	free(pinned);
	free(cpu);
	return text;
}

bool detect_host_starved_of_cpu(const struct finding_context *s, struct finding *f)
{
	double wait = s->h->cpu_wait, idle = finding_idle(s);
	/* Where the GPU had work all the while nothing is lost. */
	double stake = isnan(idle) ? NAN : fmin(finding_known(wait), idle);
	bool starved = wait >= FINDING_MEDIUM && !(stake < FINDING_MEDIUM),
	     held_up = throttled(&s->process->cpu) >= FINDING_MEDIUM && !(wait < FINDING_LEAST) &&
	               !(stake < FINDING_LEAST && wait >= 0);

	if (!finding_is_long(s) || (!starved && !held_up))
		return false;
	if (isnan(stake) || isnan(wait))
		return finding_is(f, SEVERITY_MEDIUM, NAN, starved_text(s, idle));
	return finding_tell(f, stake, starved_text(s, idle));
}
