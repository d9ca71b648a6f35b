/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/steps/steps_candidates.h"

#define STEP_EVENTS  1.9 /* a marker every so few events makes no steps, but for graph launches */
#define OCCUR_LEAST  4u  /* occurrences of a marker */
#define OCCUR_LONG   6u  /* at least, where steps are longer than LONG events */
#define LONG         2000
#define COVER_LEAST  0.5 /* of the events looked at: between its first and last occurrence */
#define SAME_SEEN    4u  /* symbols that occur equally often: so many are compared */
#define SEEN_BUCKETS 256u

/* ---- finding them ---- */

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

struct steps_candidate *steps_candidate_of(struct steps_look *l, uint32_t symbol)
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

/* Fills the look's candidates from the events; how many of these have symbols. */
static uint32_t look_over(const struct steps_detector *d, struct steps_look *l, uint64_t from)
{
	struct steps_candidate *coarse = NULL, *fine = NULL;
	uint32_t at = 0;

	memset(l->slots, 0, sizeof(l->slots));
	l->count = l->anchors = 0;
	for (uint64_t n = from; n < d->count; n++) {
		const struct steps_symbols *s = symbols_at(d, n);
		if (!s->coarse)
			continue;
		if (event_at(d, n)->flags & TF_ANCHOR_GAP)
			occurs(l, NULL, SYMBOL_GAP, event_at(d, n), at);
		coarse = occurs(l, coarse, s->coarse, event_at(d, n), at);
		fine = occurs(l, fine, s->fine, event_at(d, n), at);
		if (d->pairs)
			occurs(l, NULL, pair_at(d, n), event_at(d, n), at);
		l->anchors += (event_at(d, n)->flags & STEP_STRONG) != 0;
		at++;
	}
	return at;
}

/* ---- which of them are compared ---- */

/* Whether it occurs as a marker does. What does not, need not be compared. */
static bool occurs_well(const struct steps_candidate *c, uint32_t events)
{
	if (c->seen < OCCUR_LEAST || (c->seen < OCCUR_LONG && length_of(c) > LONG))
		return false;
	return c->last - c->first >= COVER_LEAST * events &&
	       (length_of(c) >= STEP_EVENTS || c->cls == SPY_CLASS_GRAPH_LAUNCH);
}

/*
 * What occurs equally often is mostly in the same steps: of such symbols a few are compared, waits,
 * pauses and copies first, then what comes first, pairs last.
 */
static void few_of_each(struct steps_look *l)
{
	uint16_t first[SEEN_BUCKETS] = {0};

	for (uint32_t pass = 0; pass < 3; pass++) {
		for (uint32_t i = 0; i < l->count; i++) {
			struct steps_candidate *c = &l->candidates[i];
			uint16_t *n = &first[c->seen % SEEN_BUCKETS];
			bool launch = c->cls == SPY_CLASS_LAUNCH && c->symbol != SYMBOL_GAP;
			if (c->compare && pass == (is_pair(c->symbol) ? 2u : launch))
				c->compare = (*n)++ < SAME_SEEN;
		}
	}
}

/* ---- comparing ---- */

/* What lies between the last two occurrences is compared with what lies between the two before. */
static void compare(struct steps_candidate *c, const uint16_t *so_far, const uint32_t *anchors,
                    uint32_t at)
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
		for (unsigned i = 0; i < ANCHORS; i++)
			c->anchored[i] += anchors[i] != c->anchors_at[i];
	}
	memcpy(c->so_far, so_far, sizeof(c->so_far));
	memcpy(c->anchors_at, anchors, sizeof(c->anchors_at));
	c->at = at;
}

static void compare_event(const struct steps_detector *d, struct steps_look *l, uint64_t n,
                          const uint16_t *so_far, const uint32_t *anchors, uint32_t at)
{
	const struct steps_symbols *s = symbols_at(d, n);
	const uint32_t symbols[] = {s->coarse, s->fine,
	                            event_at(d, n)->flags & TF_ANCHOR_GAP ? SYMBOL_GAP : 0,
	                            d->pairs ? pair_at(d, n) : 0};

	for (unsigned i = 0; i < 4; i++) {
		struct steps_candidate *c = symbols[i] ? steps_candidate_of(l, symbols[i]) : NULL;
		if (c && c->compare)
			compare(c, so_far, anchors, at);
	}
}

/* The second time over the events: how much alike what lies between each candidate is. */
static void compare_all(const struct steps_detector *d, struct steps_look *l, uint64_t from)
{
	uint16_t so_far[STEP_BUCKETS] = {0};
	uint32_t anchors[ANCHORS] = {0};
	uint32_t at = 0;

	for (uint64_t n = from; n < d->count; n++) {
		const struct steps_symbols *s = symbols_at(d, n);
		const struct steps_event *e = event_at(d, n);
		if (!s->coarse)
			continue;
		/* The gap lies before the event, what it does itself behind. */
		anchors[2] += e->flags / TF_ANCHOR_GAP & 1;
		compare_event(d, l, n, so_far, anchors, at);
		anchors[0] += e->flags & TF_ANCHOR_WAIT;
		anchors[1] += e->flags / TF_ANCHOR_UPLOAD & 1;
		so_far[bucket_of(s)]++;
		at++;
	}
}

uint32_t steps_compare(struct steps_look *l, const struct steps_detector *d, uint64_t from)
{
	uint32_t events = look_over(d, l, from);
	bool any = false;

	for (uint32_t i = 0; i < l->count; i++)
		any |= l->candidates[i].compare = occurs_well(&l->candidates[i], events);
	few_of_each(l);
	if (!any)
		return 0;
	compare_all(d, l, from);
	return events;
}
