/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/steps/steps_found.h"

#include "shim/core/format/histogram.h"

#define ALIKE_ODD 0.5 /* a step less alike than that to the typical one is odd */

/* ---- steps of a loop, one after the other ---- */

static double alike(const uint32_t *a, const uint32_t *b)
{
	uint64_t differ = 0, sum = 0;

	for (unsigned i = 0; i < STEP_BUCKETS; i++) {
		differ += a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
		sum += (uint64_t)a[i] + b[i];
	}
	return sum ? 1 - (double)differ / (double)sum : 0;
}

/* Two neighbours become one: those with the shortest time between them. */
static void merge_episodes(struct tf_loop *l)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i + 1 < TF_EPISODES; i++)
		if (l->episode[i + 1].start - l->episode[i].end <
		    l->episode[at + 1].start - l->episode[at].end)
			at = i;
	l->episode[at].end = l->episode[at + 1].end;
	l->episode[at].steps += l->episode[at + 1].steps;
	memmove(&l->episode[at + 1], &l->episode[at + 2],
	        (TF_EPISODES - at - 2) * sizeof(l->episode[0]));
	l->episodes--;
	l->merged++;
}

/* A step from `start` to `end` belongs to the last episode, or begins one. */
static void add_to_episode(struct tf_loop *l, bool begins, uint64_t start, uint64_t end)
{
	if (begins || !l->episodes) {
		if (l->episodes == TF_EPISODES)
			merge_episodes(l);
		l->episode[l->episodes++] = (struct tf_episode){.start = start};
	}
	l->episode[l->episodes - 1].end = end;
	l->episode[l->episodes - 1].steps++;
}

static void put_row(struct steps_detector *d, struct tf_map *map, struct tf_loop *p,
                    const struct steps_segment *s, double how)
{
	struct tf_step row = {.start = s->start,
	                      .end = s->end,
	                      .source = d->loop,
	                      .number = (uint32_t)p->steps,
	                      .thread = (uint16_t)d->thread,
	                      .flags = TF_STEP_FOUND | (how < ALIKE_ODD ? TF_STEP_ODD : 0),
	                      .counts = s->counts};

	if (row.end < row.start)
		return;
	p->steps++;
	p->events += s->events;
	p->alike_x1000 += (uint64_t)(how * 1000 + 0.5);
	p->odd += how < ALIKE_ODD;
	p->ticks += row.end - row.start;
	steps_add_counts(&p->counts, &s->counts);
	add_to_episode(p, false, row.start, row.end);
	if (!p->hist)
		p->hist = map->alloc(map, sizeof(struct tf_hist));
	struct tf_hist *hist = tf_at(map, p->hist, sizeof(*hist));
	if (hist)
		hist_add(hist, row.end - row.start);
	steps_row(map, &row, &p->rows, &p->stride);
}

static struct tf_loop *loop_at(const struct steps_detector *d, const struct tf_map *map)
{
	return tf_entry(map, &tf_header(map)->loops, d->loop, sizeof(struct tf_loop));
}

static void put_held(struct steps_detector *d, struct tf_map *map, struct tf_loop *p)
{
	for (uint32_t i = 0; i < d->held_count; i++)
		put_row(d, map, p, &d->held[i], alike(d->held[i].buckets, d->typical.buckets));
	d->held_count = 0;
}

/*
 * A step is over. The first one waits for the second, and an odd one for the next that is not: what
 * comes before or after a loop is no step of it.
 */
static void end_segment(struct steps_detector *d, struct tf_map *map, struct steps_segment *s)
{
	struct tf_loop *p = loop_at(d, map);

	if (!p || !s->events)
		return;
	double how = d->has_typical ? alike(s->buckets, d->typical.buckets) : 0;
	if (d->first_waits && how >= ALIKE_LEAST)
		put_row(d, map, p, &d->typical, how);
	if (!d->has_typical || d->first_waits) {
		d->first_waits = !d->has_typical || how < ALIKE_LEAST;
		d->has_typical = true;
		d->typical = *s;
		if (!d->first_waits)
			put_row(d, map, p, s, how);
		return;
	}
	if (how < ALIKE_ODD) {
		d->held[d->held_count++] = *s;
		if (d->held_count < STEP_ODD_MOST)
			return;
		put_held(d, map, p);
	} else {
		put_held(d, map, p);
		put_row(d, map, p, s, how);
	}
	d->typical = *s;
}

static void add_event(struct steps_segment *s, const struct steps_event *e,
                      const struct steps_symbols *symbols)
{
	struct tf_counts *c = &s->counts;

	switch (e->cls) {
	case SPY_CLASS_LAUNCH:
		c->launches += e->items;
		c->launch_ticks += e->end - e->start;
		break;
	case SPY_CLASS_GRAPH_LAUNCH:
		c->graph_launches++;
		c->launch_ticks += e->end - e->start;
		break;
	case SPY_CLASS_COPY:
		c->copies += e->items;
		c->copy_bytes += e->bytes;
		c->pageable_copies += e->pageable ? e->items : 0;
		break;
	case SPY_CLASS_SET:
		c->sets++;
		break;
	case SPY_CLASS_SYNC:
		c->syncs++;
		break;
	default:
		c->allocs++;
	}
	if (!symbols->coarse)
		return;
	s->events++;
	s->buckets[symbols->coarse / 2 % STEP_BUCKETS]++;
}

static bool is_marker(const struct steps_detector *d, const struct steps_symbols *symbols)
{
	return d->marker & 1 ? symbols->fine == d->marker : symbols->coarse == d->marker;
}

/* A wait ends its step; any other marker begins one. */
void steps_walk(struct steps_detector *d, struct tf_map *map, uint64_t n)
{
	const struct steps_event *e = &d->events[n % STEP_HISTORY];
	const struct steps_symbols *symbols = &d->symbols[n % STEP_HISTORY];
	bool marker = is_marker(d, symbols), wait = e->cls == SPY_CLASS_SYNC;

	if (marker && !wait) {
		d->now.end = e->start;
		if (d->inside)
			end_segment(d, map, &d->now);
		d->now = (struct steps_segment){.start = e->start};
		d->inside = true;
	}
	if (!d->inside) {
		d->now = (struct steps_segment){.start = e->start};
		/* Before the first wait lies a first step, if all that was before it is known. */
		d->inside = d->marker_waits && d->whole;
	}
	add_event(&d->now, e, symbols);
	d->now.end = e->end;
	if (d->has_typical && d->now.events == d->typical.events)
		d->cut = d->now;
	if (marker && wait) {
		if (d->inside)
			end_segment(d, map, &d->now);
		d->now = (struct steps_segment){.start = e->end};
		d->inside = true;
	}
	d->last_end = e->end;
}

void steps_end_last(struct steps_detector *d, struct tf_map *map)
{
	struct steps_segment *last =
	        d->cut.start == d->now.start && d->cut.events < d->now.events ? &d->cut : &d->now;

	if (d->marker && d->inside && d->has_typical && last->events &&
	    alike(last->buckets, d->typical.buckets) >= ALIKE_LEAST)
		end_segment(d, map, last);
	d->inside = false;
}

/* ---- taking a marker ---- */

/* The loop's entry: in place of what was found before while all events are known, else a new
 * one. */
static bool new_loop(struct steps_detector *d, struct tf_map *map, const struct steps_candidate *c)
{
	struct tf_header *h = tf_header(map);
	struct tf_loop *p = d->marker ? loop_at(d, map) : NULL;
	bool again = p && d->count <= STEP_HISTORY;

	if (again) {
		steps_forget(map, d->loop);
	} else {
		if (p)
			p->given_up = d->last_end;
		p = tf_append(map, &h->loops);
		if (!p)
			return false;
		d->loop = h->loops.count;
	}
	*p = (struct tf_loop){.thread = d->thread, .cls = c->cls, .marker = c->id};
	if (!again)
		tf_publish(&h->loops);
	return true;
}

void steps_take_marker(struct steps_detector *d, struct tf_map *map,
                       const struct steps_candidate *c)
{
	uint64_t from = first_kept(d);
	uint64_t after = d->marker && d->count > STEP_HISTORY ? d->last_end : 0;

	if (!new_loop(d, map, c)) {
		d->no_more = true;
		return;
	}
	d->marker = c->symbol;
	d->marker_waits = c->cls == SPY_CLASS_SYNC;
	d->whole = !from;
	d->inside = d->has_typical = d->first_waits = false;
	d->held_count = 0;
	d->cut.events = 0;
	for (uint64_t n = from; n < d->count; n++)
		if (event_at(d, n)->start >= after)
			steps_walk(d, map, n);
}
