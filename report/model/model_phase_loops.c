/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/model_phase_loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"

#define TIME_LEAST     0.02 /* of the longest loop's time: less is no phase */
#define ALIKE_TOGETHER 0.1  /* less alike than that much below the threads' own: no loop */
#define BESIDE         0.5  /* of a loop's time in which another one runs: it is none of its own */
#define EVENTS_OFF     0.1  /* of a step's work: another thread's steps do the same */
#define RANGES_MOST    32u  /* names of ranges that are looked at beside the steps' */
#define GAP_PERIODS    4.0  /* between two ranges: longer, and another stretch begins */
#define GAP_LEAST      1e6  /* ns; and of the window: shorter ones end no stretch */
#define GAP_SHARE      0.005
#define WAIT_SOON      1e6 /* ns, and a step: so soon behind a loop a wait belongs to it */
#define LAST_PIECES    1.5 /* work of a step that may come between, of a usual one's */
#define WAITED_LEAST   0.1 /* of the time since the loop: less waiting is for no work of its */
#define STRETCHES_FEW  64u /* with more, only what is waited behind the last one is looked for */

/* ---- what could be a loop ---- */

static struct phase_candidate *add_candidate(struct phase_candidates *to)
{
	ALLOC_ROOM(to->items, to->count);
	struct phase_candidate *c = &to->items[to->count++];
	*c = (struct phase_candidate){0};
	return c;
}

static void sum_up(struct phase_candidate *c)
{
	for (size_t i = 0; i < c->count; i++) {
		c->time += c->stretches[i].end - c->stretches[i].start;
		c->steps += c->stretches[i].steps;
	}
}

/* The most alike steps of one thread. */
static double threads_alike(const struct model *m, uint32_t process)
{
	double most = 0;

	for (size_t i = 0; i < m->loop_count; i++) {
		const struct model_loop *l = &m->loops[i];
		if (l->process == process && l->tid && l->steps >= PHASE_STEPS_LEAST)
			most = fmax(most, l->alike);
	}
	return most;
}

/* Threads that know nothing of each other make steps together that are less alike than their own.
 */
static void add_found(struct phase_candidates *to, const struct model *m)
{
	double alike = threads_alike(m, to->process) - ALIKE_TOGETHER;

	for (size_t i = 0; i < m->loop_count; i++) {
		const struct model_loop *l = &m->loops[i];
		if (l->process != to->process || l->steps < PHASE_STEPS_LEAST ||
		    !l->stretch_count || (!l->tid && l->alike < alike))
			continue;
		struct phase_candidate *c = add_candidate(to);
		c->found = true;
		c->source = i;
		c->tid = l->tid;
		c->work = l->events * (double)l->steps;
		c->count = l->stretch_count;
		c->stretches = alloc_zeroed(c->count, sizeof(*c->stretches));
		memcpy(c->stretches, l->stretches, c->count * sizeof(*c->stretches));
		sum_up(c);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct model_step *x = *(const struct model_step *const *)a,
	                        *y = *(const struct model_step *const *)b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Of rows by their starts: the usual time from one to the next. */
static double period_of(struct model_step *const *rows, size_t n)
{
	double *v = alloc_zeroed(n, sizeof(*v));

	for (size_t i = 1; i < n; i++)
		v[i - 1] = rows[i]->start - rows[i - 1]->start;
	stats_sort(v, n - 1);
	double median = stats_quantile(v, n - 1, 0.5);
	free(v);
	return median;
}

/* The rows stand process by process. */
static size_t first_row(const struct model *m, uint32_t process)
{
	size_t low = 0, high = m->step_row_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->step_rows[middle].process >= process)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The ranges of this row of the model, in one process: stretches without long gaps. */
static void add_range(struct phase_candidates *to, const struct model *m, size_t range)
{
	struct model_step **rows = alloc_zeroed(m->step_row_count + 1, sizeof(struct model_step *));
	double stride = m->ranges[range].stride ? (double)m->ranges[range].stride : 1, until = 0;
	double window = m->processes[to->process].window;
	size_t n = 0;

	for (size_t i = first_row(m, to->process);
	     i < m->step_row_count && m->step_rows[i].process == to->process; i++) {
		struct model_step *r = &m->step_rows[i];
		if (!r->found && r->source == range && r->process == to->process &&
		    r->start < window)
			rows[n++] = r;
	}
	if (n < 2 || (double)n * stride < PHASE_STEPS_LEAST) {
		free(rows);
		return;
	}
	qsort(rows, n, sizeof(struct model_step *), by_start);
	double gap = fmax(GAP_PERIODS * period_of(rows, n), fmax(GAP_LEAST, GAP_SHARE * window));
	struct phase_candidate *c = add_candidate(to);
	c->source = range;
	c->work = model_work_pieces(&m->ranges[range].work);
	c->stretches = alloc_zeroed(n, sizeof(*c->stretches));
	for (size_t i = 0; i < n; i++) {
		double end = fmin(rows[i]->start + rows[i]->duration, window);
		struct model_stretch *last = c->count ? &c->stretches[c->count - 1] : NULL;
		if (!last || (rows[i]->start - rows[i - 1]->start > gap && rows[i]->start > until))
			c->stretches[c->count++] =
			        (struct model_stretch){rows[i]->start, end, stride};
		else
			last->steps += stride;
		until = fmax(until, end);
		c->stretches[c->count - 1].end = until;
	}
	sum_up(c);
	free(rows);
}

/* Ranges beside the one that is the steps: of another name, at the same level in the same one. */
static void add_ranges(struct phase_candidates *to, const struct model *m, size_t chosen)
{
	size_t left = RANGES_MOST;

	if (chosen == RANGE_NONE)
		return;
	add_range(to, m, chosen);
	for (size_t i = 0; i < m->range_count && !m->steps_from && left; i++) {
		const struct model_range *r = &m->ranges[i], *of = &m->ranges[chosen];
		if (i != chosen && r->level == of->level && r->parent == of->parent && r->rows &&
		    r->count >= PHASE_STEPS_LEAST && model_work_pieces(&r->work) > 0) {
			add_range(to, m, i);
			left--;
		}
	}
}

/* ---- which of them are ---- */

/* The time in which both run. */
static double both(const struct phase_candidate *a, const struct phase_candidate *b)
{
	double sum = 0;

	for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
		const struct model_stretch *x = &a->stretches[i], *y = &b->stretches[k];
		sum += fmax(0, fmin(x->end, y->end) - fmax(x->start, y->start));
		if (x->end < y->end)
			i++;
		else
			k++;
	}
	return sum;
}

/* The one that stands for the others of its time: ranges first, then the one with most work. */
static struct phase_candidate *next_candidate(struct phase_candidates *of, const bool *seen)
{
	struct phase_candidate *best = NULL;

	for (size_t i = 0; i < of->count; i++) {
		struct phase_candidate *c = &of->items[i];
		if (seen[i])
			continue;
		if (!best || (best->found && !c->found) ||
		    (best->found == c->found && c->work > best->work))
			best = c;
	}
	return best;
}

/*
 * Threads that do the same, each for itself, as those of a server do: their steps are told apart by
 * the same call and hold as much work. Where they count the same they may be parts of one step.
 */
static bool do_the_same(const struct model *m, const struct phase_candidate *a,
                        const struct phase_candidate *b)
{
	const struct model_loop *x = &m->loops[a->source], *y = &m->loops[b->source];
	double more = fabs((double)x->steps - (double)y->steps);

	return more > 1 && x->cls == y->cls && x->marker && y->marker &&
	       !strcmp(x->marker, y->marker) &&
	       fabs(x->events - y->events) <= EVENTS_OFF * fmax(x->events, y->events);
}

static void run_beside(const struct model *m, struct phase_candidate *of,
                       const struct phase_candidate *c)
{
	of->beside += c->work;
	if (!do_the_same(m, of, c))
		return;
	ALLOC_ROOM(of->alike, of->alike_count);
	of->alike[of->alike_count++] = c->source;
}

/* Steps found that are those of a range that was taken: as many, as far as the rows of the range
 * tell, and over its time. Their own time may be longer: the program stood still ahead of a range.
 */
static bool is_the_range(const struct model *m, const struct phase_candidate *found,
                         const struct phase_candidate *range, double time)
{
	if (!found->found || range->found || !(time > BESIDE * range->time))
		return false;
	uint64_t apart = found->steps > range->steps ? found->steps - range->steps
	                                             : range->steps - found->steps,
	         stride = m->ranges[range->source].stride;

	return apart <= (stride > 1 ? stride : 1);
}

/* Those that others run beside are taken; what is too short of these is left again. */
static void take_loops(const struct model *m, struct phase_candidates *of, size_t chosen)
{
	bool *seen = alloc_zeroed(of->count + 1, sizeof(*seen));
	double longest = 0;

	for (size_t n = 0; n < of->count; n++) {
		struct phase_candidate *c = next_candidate(of, seen);
		/* The range that is the steps goes before others. */
		if (!n && of->items[0].source == chosen && !of->items[0].found)
			c = &of->items[0];
		seen[c - of->items] = true;
		double overlap = 0;
		bool same = false;
		for (size_t i = 0; i < of->count; i++) {
			struct phase_candidate *t = &of->items[i];
			double time = t->taken ? both(t, c) : 0;
			overlap += time;
			same |= t->taken && is_the_range(m, c, t, time);
			if (time > BESIDE * c->time && c->found && t->found && t->tid && c->tid &&
			    t->tid != c->tid)
				run_beside(m, t, c);
		}
		c->taken = c->time > 0 && overlap <= BESIDE * c->time && !same;
		if (c->taken)
			longest = fmax(longest, c->time);
	}
	for (size_t i = 0; i < of->count; i++)
		of->items[i].taken &= of->items[i].time >= TIME_LEAST * longest &&
		                      of->items[i].steps >= PHASE_STEPS_LEAST;
	free(seen);
}

/* ---- what the host left the GPU to do ---- */

/* The next stretch of any of them that begins behind `ns`. */
static double next_start(const struct phase_candidates *of, double ns, double most)
{
	for (size_t i = 0; i < of->count; i++)
		for (size_t k = 0; of->items[i].taken && k < of->items[i].count; k++)
			if (of->items[i].stretches[k].start >= ns)
				most = fmin(most, of->items[i].stretches[k].start);
	return most;
}

/*
 * By the recent calls: the waits right behind `end`; NaN where these calls are not there. The last
 * step that was found may be the last but one: nothing tells where the last one ends. Its `pieces`
 * of work may come before the wait.
 */
static double waited_until(const struct call_log *h, double end, double most, double period,
                           double pieces)
{
	double until = end, last = end, waited = 0;

	if (!(end >= h->from && end < h->until))
		return NAN;
	for (size_t i = call_log_at(h, end); i < h->count; i++) {
		const struct call_event *e = &h->call_events[i];
		bool waits = e->cls == SPY_CLASS_SYNC || (e->cls == SPY_CLASS_COPY && !e->async);
		if (e->start >= most || e->start - last > WAIT_SOON + period)
			break;
		if (e->work != CALL_LOG_NONE && !waits && (until > end || pieces-- < 1))
			break;
		last = fmax(last, fmin(e->end, most));
		waited += waits ? e->end - e->start : 0;
		if (waits && waited >= WAITED_LEAST * (last - end))
			until = last;
	}
	return until;
}

/* The same by the slices in which the host waits and the GPU works. */
static double busy_until(const struct overview *o, double end, double most)
{
	for (size_t i = 0; o->host && i < o->count; i++) {
		double start = o->origin + (double)i * o->width - o->window, sum = 0, busy = 0;
		if (start + o->width <= end || start >= most)
			continue;
		for (int k = 0; k < TF_HOSTS; k++)
			sum += o->host[i][k];
		for (size_t d = 0; d < o->device_count; d++)
			busy = fmax(busy, o->devices[d].busy[i]);
		if (!(o->host[i][TF_HOST_SYNC_USEFUL] > 0.5 * sum) || !(busy > 0.5 * o->width))
			break;
		end = fmin(most, start + o->width);
	}
	return end;
}

/* Where the host runs ahead, its last steps are given before the GPU has done them: what it then
 * waits is the loop's time. */
static void add_waits(const struct model *m, struct phase_candidates *of)
{
	const struct model_process *p = &m->processes[of->process];

	for (size_t i = 0; i < of->count; i++) {
		struct phase_candidate *c = &of->items[i];
		for (size_t k = c->count > STRETCHES_FEW ? c->count - 1 : 0;
		     c->taken && k < c->count; k++) {
			struct model_stretch *s = &c->stretches[k];
			double most = next_start(of, s->end, p->window),
			       until = waited_until(&p->call_log, s->end, most, c->time / c->steps,
			                            c->found ? LAST_PIECES * c->work / c->steps
			                                     : 0);
			s->end = isnan(until) ? busy_until(&p->overview, s->end, most) : until;
		}
	}
}

void phase_loops_find(struct phase_candidates *to, const struct model *m, size_t range)
{
	add_ranges(to, m, range);
	if (!m->steps_from || to->count)
		add_found(to, m);
	if (to->count)
		take_loops(m, to, range);
	add_waits(m, to);
}

void phase_loops_free(struct phase_candidates *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->items[i].stretches);
		free(c->items[i].alike);
	}
	free(c->items);
}
