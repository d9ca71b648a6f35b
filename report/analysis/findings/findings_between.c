/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between which lines of the program work of the host's own lies: that of the last call before it,
 * and that of the next one. Few calls have a line, so that it is told by those gaps that have both.
 * A thread that runs none of the program's lines works for one that does: its lines are told.
 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/findings/findings_internal.h"

/* Gaps of which a line is known: fewer tell none. */
#define VOTES_LEAST 3u
/* A line is told of a gap where no pause of more than this share of it lies between the two. */
#define PAUSE_MOST 0.1
/* Of the stacks of a kind of work so many are from one place, or it has none. */
#define FROM_ONE_PLACE 0.9

/* Whether it is a line of the program's own. */
static bool is_line(const struct model_sites *s, uint32_t place)
{
	const struct model_site *site = place ? &s->items[s->places[place - 1].site] : NULL;

	return site && !site->thread && site->frame_count && !site->frames[site->head].foreign;
}

struct scan { /* of the calls, one after the other */
	const struct finding_context *c;
	const uint32_t *by_work;   /* places_of_works() */
	double *edge;              /* by thread: where its call before (behind) ended (began) */
	struct finding_line *line; /* by thread: its last (next) call's line */
	bool *runs;                /* by thread: lines of the program */
	size_t any;                /* the thread of these that called last (next); count: none */
};

/* The place of a call's stack, and its kind of work; 0 = it has none, or gave no work. */
static uint32_t stacked(const struct finding_context *c, size_t i, uint32_t *work)
{
	*work = c->call_events[i].work;
	return *work < c->h->work_count ? finding_place_of(c, &c->call_events[i]) : 0;
}

/* Of launches few have a stack: by kind of work the place that nearly all of its stacks are from,
 * or 0 (free it). */
static uint32_t *places_of_works(const struct finding_context *c)
{
	size_t n = c->h->work_count;
	uint32_t *place = alloc_zeroed(n + 1, sizeof(*place)), work, here;
	struct votes {
		uint32_t lead, here, all;
	} *votes = alloc_zeroed(n + 1, sizeof(*votes));

	/* A place that most are from has a lead at the end. */
	for (size_t i = 0; i < c->count; i++) {
		if (!(here = stacked(c, i, &work)))
			continue;
		if (!votes[work].lead)
			place[work] = here;
		votes[work].lead += here == place[work] ? 1u : -1u;
	}
	for (size_t i = 0; i < c->count; i++) {
		if (!(here = stacked(c, i, &work)))
			continue;
		votes[work].all++;
		votes[work].here += here == place[work];
	}
	for (size_t i = 0; i < n; i++)
		if (votes[i].here < FROM_ONE_PLACE * votes[i].all)
			place[i] = 0;
	free(votes);
	return place;
}

static void scan_start(struct scan *s, const struct finding_context *c, const uint32_t *by_work)
{
	size_t n = c->h->thread_count;

	*s = (struct scan){.c = c,
	                   .by_work = by_work,
	                   .edge = alloc_zeroed(n + 1, sizeof(*s->edge)),
	                   .line = alloc_zeroed(n + 1, sizeof(*s->line)),
	                   .runs = alloc_zeroed(n + 1, sizeof(*s->runs)),
	                   .any = n};
	for (size_t i = 0; i < c->count; i++)
		s->runs[c->call_events[i].thread] |=
		        is_line(&c->m->sites, finding_place_of(c, &c->call_events[i]));
}

static void scan_end(struct scan *s)
{
	free(s->edge);
	free(s->line);
	free(s->runs);
}

/* A call that comes `apart` from the thread's that was looked at before; `edge`: its other end. */
static void scan_call(struct scan *s, const struct call_event *e, double apart, double edge)
{
	uint32_t place = finding_place_of(s->c, e);
	struct finding_line *line = &s->line[e->thread];

	if (!s->runs[e->thread])
		return;
	if (!place && e->work < s->c->h->work_count)
		place = s->by_work[e->work];
	line->pause = fmax(line->pause, apart);
	if (is_line(&s->c->m->sites, place))
		*line = (struct finding_line){.place = place};
	else if (e->kind != TF_WORK_NONE) /* that one has a line too, which is not known */
		*line = (struct finding_line){0};
	s->edge[e->thread] = edge;
	s->any = e->thread;
}

void finding_lines_make(struct finding_lines *to, const struct finding_context *c)
{
	struct scan s;
	uint32_t *by_work = places_of_works(c);

	*to = (struct finding_lines){.before = alloc_zeroed(c->count + 1, sizeof(*to->before)),
	                             .next = alloc_zeroed(c->count + 1, sizeof(*to->next))};
	scan_start(&s, c, by_work);
	for (size_t i = 0; i < c->count; i++) {
		const struct call_event *e = &c->call_events[i];
		to->before[i] = s.line[s.runs[e->thread] ? e->thread : s.any];
		scan_call(&s, e, e->start - s.edge[e->thread], e->end);
	}
	scan_end(&s);
	scan_start(&s, c, by_work);
	for (size_t i = c->count; i-- > 0;) {
		const struct call_event *e = &c->call_events[i];
		if (!s.runs[e->thread]) {
			to->next[i] = s.line[s.any];
			to->next[i].pause = fmax(to->next[i].pause, s.edge[s.any] - e->end);
		}
		scan_call(&s, e, s.edge[e->thread] - e->end, e->start);
	}
	scan_end(&s);
	free(by_work);
}

uint32_t finding_line_beside(const struct finding_line *l, double idle)
{
	return l->pause <= PAUSE_MOST * idle ? l->place : 0;
}

void finding_lines_free(struct finding_lines *l)
{
	free(l->before);
	free(l->next);
}

static const struct model_frame *frame_of(const struct model_sites *s, size_t place)
{
	const struct model_site *site = &s->items[s->places[place].site];

	return &site->frames[site->head];
}

/* Calls of several functions may stand on one line: the first place that does. */
static size_t first_on_line(const struct model_sites *s, size_t place)
{
	const struct model_frame *f = frame_of(s, place);

	for (size_t i = 0; i < place; i++) {
		const struct model_frame *other =
		        is_line(s, (uint32_t)i + 1) ? frame_of(s, i) : NULL;
		if (other && other->hash == f->hash && other->line == f->line &&
		    other->address == f->address)
			return i;
	}
	return place;
}

/* The line that most of the time of those that end at the finding's place has. */
static const struct model_frame *most_of(const struct finding_context *c,
                                         const struct finding_gap *gaps, size_t count,
                                         const struct finding *f, bool before)
{
	const struct model_sites *s = &c->m->sites;
	uint32_t here = (uint32_t)(f->place - s->places) + 1;
	double *of = alloc_zeroed(s->place_count, sizeof(*of)), sum = 0;
	size_t most = 0, votes = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t place = before ? gaps[i].before : gaps[i].next;
		if (gaps[i].place != here || !place)
			continue;
		size_t at = first_on_line(s, place - 1);
		of[at] += gaps[i].idle;
		sum += gaps[i].idle;
		votes++;
		if (of[at] > of[most])
			most = at;
	}
	bool told = votes >= VOTES_LEAST && of[most] * 2 >= sum;
	free(of);
	return told ? frame_of(s, most) : NULL;
}

void finding_find_between(const struct finding_context *c, const struct finding_gap *gaps,
                          size_t count, struct finding *f)
{
	if (!f->place)
		return;
	f->since = most_of(c, gaps, count, f, true);
	f->until = f->site->thread ? most_of(c, gaps, count, f, false)
	           : f->site->frame_count && !f->site->frames[f->site->head].foreign
	                   ? &f->site->frames[f->site->head]
	                   : NULL;
	if (!f->since || !f->until)
		f->since = f->until = NULL;
}
