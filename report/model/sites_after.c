/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that run no Python work for one that does (autograd's backward, JAX's dispatch): which
 * line that one was last seen at before them. By the recent calls, where the last call of another
 * thread has a line; told where one line is it mostly.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/sites_internal.h"

#define VOTES_LEAST 3u

struct votes {         /* of a place: the line that may have most of them, by their majority */
	uint32_t line; /* index + 1 of a place */
	uint32_t lead;
	uint64_t of_line, all;
};

static bool is_line(const struct model_sites *s, uint32_t place)
{
	const struct model_site *site = place ? &s->items[s->places[place - 1].site] : NULL;

	return site && !site->thread && site->frame_count && site->frames[site->head].python &&
	       !site->frames[site->head].foreign;
}

static void vote(struct votes *v, uint32_t line, bool again)
{
	if (again) {
		v->all++;
		v->of_line += v->line == line;
	} else if (v->line == line) {
		v->lead++;
	} else if (v->lead) {
		v->lead--;
	} else {
		v->line = line;
		v->lead = 1;
	}
}

/* Calls that have no site, however long they take. */
static bool says_nothing(const struct call_event *e)
{
	return e->cls == SPY_CLASS_EVENT || e->cls == SPY_CLASS_QUERY ||
	       e->cls == SPY_CLASS_STREAM || e->cls == SPY_CLASS_CONTEXT ||
	       e->cls == SPY_CLASS_OTHER;
}

/* Index + 1 of the place that it was made from; 0 = not known. */
static uint32_t place_of(const struct model_sites *s, const struct model_process *p,
                         const struct call_event *e)
{
	uint32_t site = e->site && e->site <= p->site_count ? p->site_of[e->site - 1] : UINT32_MAX;

	return site < s->count ? (uint32_t)s->items[site].place + 1 : 0;
}

/* `again`: the lines are there, and are counted. */
static void look_through(const struct model_sites *s, const struct model_process *p,
                         struct votes *votes, bool again)
{
	const struct call_log *h = &p->call_log;
	bool *runs_python = alloc_zeroed(h->thread_count + 1, sizeof(*runs_python));
	uint32_t line = 0; /* of the last call of such a thread; 0 = not known */

	for (size_t i = 0; i < h->count; i++)
		runs_python[h->call_events[i].thread] |=
		        is_line(s, place_of(s, p, &h->call_events[i]));
	for (size_t i = 0; i < h->count; i++) {
		const struct call_event *e = &h->call_events[i];
		uint32_t place = place_of(s, p, e);
		if (place && line && s->items[s->places[place - 1].site].thread)
			vote(&votes[place - 1], line, again);
		if (is_line(s, place))
			line = place;
		else if (runs_python[e->thread] && !says_nothing(e))
			line = 0;
	}
	free(runs_python);
}

void sites_find_after(struct model *m)
{
	struct model_sites *s = &m->sites;
	struct votes *votes = alloc_zeroed(s->place_count + 1, sizeof(*votes));

	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < m->process_count; i++)
			look_through(s, &m->processes[i], votes, again);
	for (size_t i = 0; i < s->count; i++) {
		const struct votes *v = &votes[s->items[i].place];
		if (v->all < VOTES_LEAST || v->of_line * 2 < v->all)
			continue;
		const struct model_site *line = &s->items[s->places[v->line - 1].site];
		s->items[i].after = &line->frames[line->head];
	}
	free(votes);
}
