/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/steps/steps_found.h"

#define PAUSE       200u /* mean steps: a longer time between two of them belongs to none */
#define PAUSE_STEPS 4u
#define ALLOC_STEPS 2u  /* no call that allocates in each step takes so many mean steps */
#define EARLY_STEPS 16u /* a longer pause is not within a last step */

double steps_alike(const uint32_t *a, const uint32_t *b)
{
	uint64_t differ = 0, sum = 0;

	for (unsigned i = 0; i < STEP_BUCKETS; i++) {
		differ += a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
		sum += (uint64_t)a[i] + b[i];
	}
	return sum ? 1 - (double)differ / (double)sum : 0;
}

/* ---- steps, one after the other ---- */

static void begin_step(struct steps_detector *d, uint64_t start, uint64_t first)
{
	d->now = (struct steps_segment){.start = start, .first = first};
	d->matched = 0;
	d->torn = false;
}

/* How much alike the typical step the one under way is: what its events were counted for. */
static double alike_now(const struct steps_detector *d)
{
	uint64_t sum = d->now.events + d->typical.events, differ = sum - 2 * d->matched;

	return sum ? 1 - (double)differ / (double)sum : 0;
}

/* The loop is over since its last step that was alike: what came behind it is looked at anew. */
static void leave(struct steps_detector *d)
{
	d->marker = 0;
	d->inside = d->has_typical = false;
	d->held_count = 0;
	if (d->since < d->told) {
		d->since = d->told;
		d->next_short = d->since + STEP_LOOK > d->count ? d->since + STEP_LOOK : d->count;
	} else { /* no step was told: the same look would find the same */
		d->next_short = d->count + STEP_LOOK + (d->count - d->since);
	}
}

/* The odd steps before one that is alike are the loop's. */
static void put_held(struct steps_detector *d, struct tf_map *map)
{
	for (uint32_t i = 0; i < d->held_count; i++) {
		const struct steps_segment *s = &d->held[i];
		steps_put(d, map, s, steps_alike(s->buckets, d->typical.buckets), s->first);
	}
	d->held_count = 0;
}

/*
 * A step is over, before event `behind`. The first one waits for the second, and an odd one for the
 * next that is not: what comes before or after a loop is no step of it. Nor is what a pause has
 * left of one: a step's counts would be short of what was done.
 */
static void end_segment(struct steps_detector *d, struct tf_map *map, const struct steps_segment *s,
                        uint64_t behind)
{
	if (!s->events || s->first < d->told)
		return;
	double how = !d->has_typical ? 0
	             : s == &d->now  ? alike_now(d)
	                             : steps_alike(s->buckets, d->typical.buckets);
	if (s == &d->now && d->torn && d->has_typical && s->events < d->typical.events)
		return;
	if (d->first_waits && how >= ALIKE_LEAST)
		steps_put(d, map, &d->typical, how, s->first);
	if (!d->has_typical || d->first_waits) {
		if (d->has_typical && how < ALIKE_LEAST && ++d->held_count == STEP_ODD_MOST) {
			leave(d);
			return;
		}
		d->first_waits = !d->has_typical || how < ALIKE_LEAST;
		d->has_typical = true;
		d->typical = *s;
		if (d->first_waits)
			return;
		d->held_count = 0;
		steps_put(d, map, s, how, behind);
		return;
	}
	if (how < ALIKE_ODD) {
		d->held[d->held_count++] = *s;
		if (d->held_count == STEP_ODD_MOST)
			leave(d);
		return;
	}
	put_held(d, map);
	steps_put(d, map, s, how, behind);
	if (how < 1) /* else it has the same events */
		d->typical = *s;
	d->typical.counts.allocs = s->counts.allocs; /* no part of what makes steps alike */
}

static void add_event(struct steps_detector *d, const struct steps_event *e,
                      const struct steps_symbols *symbols)
{
	struct tf_counts *c = &d->now.counts;

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
		c->pageable_copies += e->flags & STEP_PAGEABLE ? e->items : 0;
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
	if (symbols->coarse)
		steps_count(d, symbols);
}

/* More than so many mean steps. */
static bool is_longer(const struct steps_detector *d, const struct tf_map *map, uint64_t from,
                      uint64_t until, uint64_t steps)
{
	const struct tf_loop *l = d->marker && until > from ? steps_loop_of(d, map) : NULL;

	return l && l->steps >= PAUSE_STEPS && until - from > steps * steps_mean(l);
}

/* Between two steps, so long that it belongs to none: the program does something else. */
static bool is_pause(const struct steps_detector *d, const struct tf_map *map, uint64_t from,
                     uint64_t until)
{
	return is_longer(d, map, from, until, PAUSE);
}

/* So late behind the step's last event that it may be no part of it any more: it comes a mean step
 * later, or is a free that ends as late, and the typical step has no more of them. */
static bool is_late(const struct steps_detector *d, const struct tf_map *map,
                    const struct steps_event *e)
{
	if (e->cls == SPY_CLASS_ALLOC && d->now.counts.allocs < d->typical.counts.allocs &&
	    !is_longer(d, map, d->now.end, e->end, ALLOC_STEPS))
		return false;
	if (e->flags & TF_ANCHOR_GAP && is_longer(d, map, d->now.end, e->start, 1))
		return true;
	return e->cls == SPY_CLASS_ALLOC && is_longer(d, map, d->now.end, e->end, 1);
}

/* What comes from then on is another episode. */
static void begin_behind(struct steps_detector *d, uint64_t start)
{
	if (d->begins == STEP_NONE)
		d->begins = start;
}

/*
 * A pause that lies between the calls of a step: what came before it ends a step that begins with
 * its marker, and is no part of one that ends with it.
 */
static void cut_at_pause(struct steps_detector *d, struct tf_map *map, uint64_t n)
{
	bool waits = d->inside && d->marker_waits;

	if (d->inside && !d->marker_waits) {
		d->torn = true;
		end_segment(d, map, &d->now, n);
		d->inside = false;
	}
	begin_step(d, event_at(d, n)->start, n);
	d->torn = waits;
	begin_behind(d, d->now.start);
}

/* Its marker does not come any more: so many events, in a step under way or since the last one. */
static bool is_over(const struct steps_detector *d, uint64_t n)
{
	uint64_t last = d->told > d->typical.first ? d->told : d->typical.first,
	         events = d->inside  ? d->now.events
	                  : n > last ? n - last
	                             : 0;

	return d->marker && d->has_typical && events > 2 * d->typical.events + STEP_LOOK;
}

static bool is_whole(const struct steps_detector *d, const struct steps_segment *s)
{
	return s->events && steps_alike(s->buckets, d->typical.buckets) >= ALIKE_LEAST;
}

/* Whether the step under way ended before its last late event: nothing of what the typical step has
 * came since, or that came very late; or it was whole then, and most of what came is none of the
 * typical step's. */
static bool ended_early(const struct steps_detector *d)
{
	if (d->early.start != d->now.start)
		return false;
	uint64_t events = d->now.events - d->early.events, same = d->matched - d->early_matched;
	return !same || d->early_long || (2 * same < events && is_whole(d, &d->early));
}

/* A wait ends its step; any other marker begins one. */
void steps_walk(struct steps_detector *d, struct tf_map *map, uint64_t n)
{
	const struct steps_event *e = &d->events[n % STEP_HISTORY];
	const struct steps_symbols *symbols = &d->symbols[n % STEP_HISTORY];
	bool marker = is_symbol(d, d->marker, n);

	if (marker && !d->marker_waits) {
		bool pause = is_pause(d, map, d->now.end, e->start);
		if (!pause)
			d->now.end = e->start;
		if (d->inside)
			end_segment(d, map, &d->now, n);
		if (pause)
			begin_behind(d, e->start);
		begin_step(d, e->start, n);
		d->inside = true;
	}
	if (!d->inside) {
		begin_step(d, e->start, n);
		/* Before the first wait lies a first step, if all that was before it is known. */
		d->inside = d->marker_waits && d->whole;
	}
	if (d->marker_waits && !d->now.events && is_pause(d, map, d->now.start, e->start)) {
		d->now.start = e->start;
		begin_behind(d, e->start);
	}
	if (e->flags & TF_ANCHOR_GAP && d->now.events && is_pause(d, map, d->now.end, e->start))
		cut_at_pause(d, map, n);
	/* The step went on behind the late event before, if any. */
	if (d->now.events && is_late(d, map, e) && !ended_early(d)) {
		d->early = d->now;
		d->early_matched = d->matched;
		d->early_long = is_longer(d, map, d->now.end, e->end, EARLY_STEPS);
	}
	add_event(d, e, symbols);
	d->now.end = e->end;
	if (d->has_typical && d->now.events == d->typical.events)
		d->cut = d->now;
	if (marker && d->marker_waits) {
		if (d->inside)
			end_segment(d, map, &d->now, n + 1);
		begin_step(d, e->end, n + 1);
		d->inside = true;
	}
	if (is_over(d, n))
		leave(d);
}

/* Behind the last step the program does other things: it ends where a typical one would have, or
 * before what came so late that it hardly belongs to it, as freeing memory at exit. */
void steps_end_last(struct steps_detector *d, struct tf_map *map)
{
	struct steps_segment *last = &d->now;

	if (d->cut.start == d->now.start && d->cut.events < last->events)
		last = &d->cut;
	if (ended_early(d) && d->early.end < last->end)
		last = &d->early;
	if (d->marker && d->inside && d->has_typical && is_whole(d, last))
		end_segment(d, map, last, d->count);
	d->inside = false;
}

/* ---- entering a loop ---- */

/* The steps of a marker are told anew. */
static void begin_marker(struct steps_detector *d, uint32_t marker)
{
	d->marker = marker;
	d->inside = d->has_typical = d->first_waits = false;
	d->begins = 0;
	d->held_count = 0;
	d->cut = d->early = (struct steps_segment){0};
}

void steps_enter(struct steps_detector *d, struct tf_map *map, uint32_t marker, bool waits,
                 uint32_t known, uint64_t from)
{
	begin_marker(d, marker);
	d->marker_waits = waits;
	d->known = known;
	d->knowns[known].marker = marker;
	d->whole = !from;
	if (from < d->told)
		from = d->told;
	if (from < first_kept(d))
		from = first_kept(d);
	for (uint64_t n = from; n < d->count; n++) {
		/* It may be over before the last event: what comes then is looked at again. But odd
		 * pieces alone lie before the first step, in the first half: a program waits now
		 * and then while it starts, as it does in each step later on. */
		if (!d->marker && (d->told || n - from > (d->count - from) / 2))
			break;
		if (!d->marker) {
			begin_marker(d, marker);
			d->whole = false;
		}
		steps_walk(d, map, n);
	}
}
