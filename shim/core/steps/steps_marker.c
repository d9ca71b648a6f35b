/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/steps/steps_found.h"

#define STEP_EVENTS  1.9 /* a marker every so few events makes no steps, but for graph launches */
#define OCCUR_LEAST  4u  /* occurrences of a marker */
#define OCCUR_MANY   12u
#define OCCUR_LONG   6u /* at least, where steps are longer than LONG events */
#define LONG         2000
#define COVER_LEAST  0.5  /* of the events looked at: between its first and last occurrence */
#define ALIKE_FEW    0.95 /* where the marker occurs less than OCCUR_MANY times */
#define ALIKE_EQUAL  0.02 /* markers whose steps are alike within this are equally good */
#define ALIKE_CHANGE 0.1  /* another marker must be that much better to take over later on */

/* ---- candidates ---- */

/* Where the symbol's candidate stands, or would; NULL where there is no place left. */
static uint16_t *slot_of(struct steps_look *l, uint32_t symbol)
{
	for (uint32_t i = symbol, n = 0; n < 16; i++, n++) {
		uint16_t *slot = &l->slots[i % LOOK_SLOTS];
		if (!*slot || l->candidates[*slot - 1].symbol == symbol)
			return slot;
	}
	return NULL;
}

static struct steps_candidate *candidate_of(struct steps_look *l, uint32_t symbol)
{
	const uint16_t *slot = slot_of(l, symbol);

	return slot && *slot ? &l->candidates[*slot - 1] : NULL;
}

/* One more occurrence, in event `e`, before which lie `at` events. `recent`: its candidate, if it
 * was the last one of its kind. */
static struct steps_candidate *occurs(struct steps_look *l, struct steps_candidate *recent,
                                      uint32_t symbol, const struct steps_event *e, uint32_t at)
{
	struct steps_candidate *c = recent;

	if (!c || c->symbol != symbol) {
		uint16_t *slot = slot_of(l, symbol);
		if (!slot || (!*slot && l->count == LOOK_SYMBOLS))
			return NULL;
		if (!*slot) {
			*slot = (uint16_t)++l->count;
			l->candidates[l->count - 1] = (struct steps_candidate){
			        .symbol = symbol, .cls = e->cls, .id = e->id, .first = at};
		}
		c = &l->candidates[*slot - 1];
	}
	c->seen++;
	c->last = at;
	return c;
}

/* Fills the look's candidates from the events kept; how many of these have symbols. */
static uint32_t look_over(const struct steps_detector *d, struct steps_look *l)
{
	struct steps_candidate *coarse = NULL, *fine = NULL;
	uint32_t at = 0;

	memset(l->slots, 0, sizeof(l->slots));
	l->count = 0;
	for (uint64_t n = first_kept(d); n < d->count; n++) {
		const struct steps_symbols *s = symbols_at(d, n);
		if (!s->coarse)
			continue;
		coarse = occurs(l, coarse, s->coarse, event_at(d, n), at);
		fine = occurs(l, fine, s->fine, event_at(d, n), at);
		at++;
	}
	return at;
}

/* What lies between the last two occurrences is compared with what lies between the two before. */
static void compare(struct steps_candidate *c, const uint16_t *so_far, uint32_t at)
{
	uint16_t segment[STEP_BUCKETS];

	if (c->met++) {
		uint32_t length = at - c->at, differ = 0;
		for (unsigned i = 0; i < STEP_BUCKETS; i++) {
			segment[i] = (uint16_t)(so_far[i] - c->so_far[i]);
			differ += segment[i] > c->segment[i]
			                  ? (uint16_t)(segment[i] - c->segment[i])
			                  : (uint16_t)(c->segment[i] - segment[i]);
		}
		if (c->met > 2) {
			c->differ += differ;
			c->compared += length + c->last_length;
		}
		memcpy(c->segment, segment, sizeof(segment));
		c->last_length = length;
	}
	memcpy(c->so_far, so_far, sizeof(c->so_far));
	c->at = at;
}

/* The second time over the events: how much alike what lies between each candidate is. */
static void compare_all(const struct steps_detector *d, struct steps_look *l)
{
	uint16_t so_far[STEP_BUCKETS] = {0};
	uint32_t at = 0;

	for (uint64_t n = first_kept(d); n < d->count; n++) {
		const struct steps_symbols *s = symbols_at(d, n);
		if (!s->coarse)
			continue;
		for (int fine = 0; fine < 2; fine++) {
			struct steps_candidate *c = candidate_of(l, fine ? s->fine : s->coarse);
			if (c && c->compare)
				compare(c, so_far, at);
		}
		so_far[s->coarse / 2 % STEP_BUCKETS]++;
		at++;
	}
}

/* ---- choosing one ---- */

static double alike_of(const struct steps_candidate *c)
{
	return c->compared ? 1 - (double)c->differ / (double)c->compared : 0;
}

static double length_of(const struct steps_candidate *c)
{
	return (double)(c->last - c->first) / (c->seen - 1);
}

/*
 * How much alike what lies between must be. Of many symbols without any order some come at even
 * distances a few times by chance, and long stretches of the same mixture are alike: few
 * occurrences must be the more exact.
 */
static double alike_least(const struct steps_candidate *c)
{
	return c->seen < OCCUR_MANY ? ALIKE_FEW : ALIKE_LEAST;
}

/* Whether it occurs as a marker does. What does not, need not be compared. */
static bool occurs_well(const struct steps_candidate *c, uint32_t events)
{
	if (c->seen < OCCUR_LEAST || (c->seen < OCCUR_LONG && length_of(c) > LONG))
		return false;
	return c->last - c->first >= COVER_LEAST * events &&
	       (length_of(c) >= STEP_EVENTS || c->cls == SPY_CLASS_GRAPH_LAUNCH);
}

static bool may_mark(const struct steps_candidate *c)
{
	return c->compare && alike_of(c) >= alike_least(c);
}

/* Of two equally good ones: the shorter steps; where these are the same, a wait, then what comes
 * first. */
static bool preferred(const struct steps_candidate *a, const struct steps_candidate *b)
{
	double x = length_of(a), y = length_of(b);

	if (x < 0.98 * y || y < 0.98 * x)
		return x < y;
	if ((a->cls == SPY_CLASS_SYNC) != (b->cls == SPY_CLASS_SYNC))
		return a->cls == SPY_CLASS_SYNC;
	return a->first < b->first;
}

static const struct steps_candidate *choose(const struct steps_look *l)
{
	const struct steps_candidate *chosen = NULL;
	double best = 0;

	for (uint32_t i = 0; i < l->count; i++)
		if (may_mark(&l->candidates[i]) && alike_of(&l->candidates[i]) > best)
			best = alike_of(&l->candidates[i]);
	for (uint32_t i = 0; i < l->count; i++) {
		const struct steps_candidate *c = &l->candidates[i];
		if (may_mark(c) && alike_of(c) >= best - ALIKE_EQUAL &&
		    (!chosen || preferred(c, chosen)))
			chosen = c;
	}
	return chosen;
}

/* ---- one look ---- */

void steps_look(struct steps_look *l, struct steps_detector *d, struct tf_map *map)
{
	const struct steps_candidate *c, *old = NULL;
	uint32_t events = look_over(d, l);
	bool any = false;

	for (uint32_t i = 0; i < l->count; i++)
		any |= l->candidates[i].compare = occurs_well(&l->candidates[i], events);
	if (any)
		compare_all(d, l);
	c = choose(l);
	d->looked = d->count;
	if (!c || c->symbol == d->marker || d->no_more)
		return;
	if (d->marker)
		old = candidate_of(l, d->marker);
	if (old && may_mark(old)) {
		/* Later on it stays, unless it is clearly worse; the same steps, another marker: it
		 * stays as well. */
		bool same = length_of(old) < 1.02 * length_of(c) &&
		            length_of(c) < 1.02 * length_of(old);
		double worse = alike_of(c) - alike_of(old);
		if (same ? worse < ALIKE_EQUAL &&
		                    (old->cls == SPY_CLASS_SYNC || c->cls != SPY_CLASS_SYNC)
		         : d->count > STEP_HISTORY && worse < ALIKE_CHANGE)
			return;
	}
	steps_take_marker(d, map, c);
}
