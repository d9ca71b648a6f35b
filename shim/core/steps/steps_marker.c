/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/steps/steps_candidates.h"

#define ALIKE_EQUAL   0.02 /* markers whose steps are alike within this are equally good */
#define ALIKE_CHANGE  0.1  /* another marker must be that much better to take over later on */
#define ALIKE_ANCHOR  0.05 /* as ALIKE_EQUAL, of those with anchors */
#define ALIKE_KNOWN   0.9  /* to the steps of a known loop: it is that one */
#define KNOWN_FEW     8u   /* events of a step: fewer are not told by what they are counted as */
#define ANCHORED      0.9  /* pieces that hold an anchor: the host's own rhythm */
#define LEVEL_SEEN    8u   /* pieces of a level without anchors that is taken for the step */
#define LENGTH_ANY    1e18
#define LOGGED_EVENTS 32 /* events of a step, at least, of which only some have an anchor */
#define LOGGED_EVERY  4  /* ... every so many-th, or fewer */
/* Strong anchors in a step: it may be some steps, without one symbol that each has once. */
#define PAIRS_ANCHORS 8

/* ---- choosing one ---- */

static bool same_length(const struct steps_candidate *a, const struct steps_candidate *b)
{
	double x = length_of(a), y = length_of(b);

	return x < 1.02 * y && y < 1.02 * x;
}

/* What nearly all its pieces hold. */
static uint8_t anchors_of(const struct steps_candidate *c)
{
	uint8_t anchors = 0;

	for (unsigned i = 0; i < ANCHORS && c->met > 1; i++)
		if (c->anchored[i] >= ANCHORED * (c->met - 1))
			anchors |= (uint8_t)(1u << i);
	return anchors;
}

/* Of two with pieces of the same length: a wait, then what comes first. */
static bool better_mark(const struct steps_candidate *a, const struct steps_candidate *b)
{
	if ((a->cls == SPY_CLASS_SYNC) != (b->cls == SPY_CLASS_SYNC))
		return a->cls == SPY_CLASS_SYNC;
	return a->first < b->first;
}

/* The most alike among those that have one of these anchors; 0 = among all. */
static double most_alike(const struct steps_look *l, uint8_t anchors)
{
	double best = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		const struct steps_candidate *c = &l->candidates[i];
		if (may_mark(c) && (!anchors || anchors_of(c) & anchors) && alike_of(c) > best)
			best = alike_of(c);
	}
	return best;
}

/* What a level must have. */
struct wanted {
	uint8_t anchors; /* one of these; 0 = none is needed */
	bool longest;    /* else the shortest */
	uint32_t seen;   /* at least so often */
	double alike;    /* at least so much */
	double events;   /* at most */
};

static const struct steps_candidate *find(const struct steps_look *l, const struct wanted *w)
{
	const struct steps_candidate *chosen = NULL;

	for (uint32_t i = 0; i < l->count; i++) {
		const struct steps_candidate *c = &l->candidates[i];
		if (!may_mark(c) || c->seen < w->seen || alike_of(c) < w->alike ||
		    (w->anchors && !(anchors_of(c) & w->anchors)) || length_of(c) > w->events)
			continue;
		if (!chosen ||
		    (same_length(c, chosen) ? better_mark(c, chosen)
		                            : w->longest == (length_of(c) > length_of(chosen))))
			chosen = c;
	}
	return chosen;
}

/* Large pieces that are as much alike as these, without what these have: every so many of them the
 * host does something, as log a value. */
static const struct steps_candidate *logged(const struct steps_look *l,
                                            const struct steps_candidate *anchored)
{
	const struct steps_candidate *c =
	        find(l, &(struct wanted){.longest = true,
	                                 .seen = LEVEL_SEEN,
	                                 .alike = alike_of(anchored) - ALIKE_EQUAL,
	                                 .events = length_of(anchored) / LOGGED_EVERY});

	return c && length_of(c) >= LOGGED_EVENTS ? c : anchored;
}

/*
 * The step is the shortest level at which the host's own rhythm shows: it waits or sends data;
 * where it never does, it does something else for long. (A pause alone may be that of a parameter
 * within an optimizer.) Where there is no such level, the longest that was seen some times; else
 * the shortest.
 */
static const struct steps_candidate *choose(const struct steps_look *l)
{
	static const uint8_t kinds[] = {STEP_STRONG, TF_ANCHOR_GAP};

	for (unsigned i = 0; i < 2; i++) {
		double best = most_alike(l, kinds[i]);
		if (best > 0)
			return logged(l, find(l, &(struct wanted){.anchors = kinds[i],
			                                          .alike = best - ALIKE_ANCHOR,
			                                          .events = LENGTH_ANY}));
	}
	struct wanted any = {.longest = true,
	                     .seen = LEVEL_SEEN,
	                     .alike = most_alike(l, 0) - ALIKE_EQUAL,
	                     .events = LENGTH_ANY};
	const struct steps_candidate *c = find(l, &any);
	any.longest = false;
	any.seen = 0;
	return c ? c : find(l, &any);
}

/* ---- one look ---- */

/* The levels that were found, shortest first; of more than there is room for, the shortest. */
static void find_levels(const struct steps_look *l, const struct steps_candidate *step,
                        struct tf_loop *to)
{
	const struct steps_candidate *last = NULL;

	while (to->levels < TF_LEVELS) {
		const struct steps_candidate *next = NULL;
		for (uint32_t i = 0; i < l->count; i++) {
			const struct steps_candidate *c = &l->candidates[i];
			if (!may_mark(c) ||
			    (last && (same_length(c, last) || length_of(c) < length_of(last))))
				continue;
			if (!next || (same_length(c, next)
			                      ? c == step || (next != step && better_mark(c, next))
			                      : length_of(c) < length_of(next)))
				next = c;
		}
		if (!next)
			return;
		if (next == step)
			to->step_level = to->levels;
		to->level[to->levels++] = (struct tf_level){
		        .marker = next->id,
		        .cls = next->symbol == SYMBOL_GAP ? SPY_CLASS_OTHER : next->cls,
		        .anchors = anchors_of(next),
		        .seen = next->seen,
		        .events_x1000 = (uint64_t)(length_of(next) * 1000),
		};
		last = next;
	}
}

/* Which known loop's steps are like these; UINT32_MAX: none's. */
static uint32_t known_like(const struct steps_detector *d, const struct steps_candidate *c)
{
	uint32_t segment[STEP_BUCKETS], best = UINT32_MAX;
	double most = 0;

	for (unsigned i = 0; i < STEP_BUCKETS; i++)
		segment[i] = c->segment[i];
	for (uint32_t k = 0; k < d->known_count; k++) {
		bool same = d->knowns[k].marker == c->symbol;
		double alike = steps_alike(segment, d->knowns[k].buckets);
		/* Of few events one more or less is much: with its marker it is the same. Without
		 * it, what else they are may share their places by chance. */
		double least = same ? ALIKE_LEAST : ALIKE_KNOWN;
		if (!same && d->knowns[k].events < KNOWN_FEW)
			continue;
		if (alike >= least && alike > most) {
			most = alike;
			best = k;
		}
	}
	return best;
}

/* How sure its anchors are. */
static int rhythm_of(const struct steps_candidate *c)
{
	uint8_t anchors = anchors_of(c);

	return anchors & STEP_STRONG ? 2 : anchors != 0;
}

/* Whether the detector stays in the loop that it is in. */
static bool stays(struct steps_look *l, const struct steps_detector *d,
                  const struct steps_candidate *c)
{
	const struct steps_candidate *old = d->marker ? steps_candidate_of(l, d->marker) : NULL;

	if (!d->marker)
		return false;
	if (c->symbol == d->marker)
		return true;
	if (!old || !may_mark(old))
		return false;
	double worse = alike_of(c) - alike_of(old);
	/* The same steps, another marker: it stays, unless that is clearly better. */
	if (same_length(old, c))
		return worse < ALIKE_EQUAL &&
		       (old->cls == SPY_CLASS_SYNC || c->cls != SPY_CLASS_SYNC);
	/* Later on only a level with the host's rhythm takes the place of one without. */
	return d->count > STEP_HISTORY && worse < ALIKE_CHANGE && rhythm_of(old) >= rhythm_of(c);
}

/* The event before which lie `at` events with a symbol, from number `from` on. */
static uint64_t event_number(const struct steps_detector *d, uint64_t from, uint32_t at)
{
	uint64_t n = from;

	for (; n < d->count; n++)
		if (symbols_at(d, n)->coarse && !at--)
			break;
	return n;
}

/* A step with many waits, or none where there are many: in an iteration that does all things twice
 * nothing is there once, but for what comes behind what. */
static bool may_be_some(const struct steps_look *l, const struct steps_candidate *c,
                        uint32_t events)
{
	return l->anchors >= PAIRS_ANCHORS * (c ? events / length_of(c) : 1);
}

/* Of few events many things repeat for a while: what the host's own rhythm shows in, and graphs, of
 * which one is mostly a step, may be a loop. */
static bool tells_soon(const struct steps_candidate *c)
{
	return anchors_of(c) || c->cls == SPY_CLASS_GRAPH_LAUNCH;
}

void steps_look(struct steps_look *l, struct steps_detector *d, struct tf_map *map, uint64_t from,
                bool lately)
{
	uint32_t events = steps_compare(l, d, from);
	const struct steps_candidate *c = events ? choose(l) : NULL;

	if (lately && !(c && tells_soon(c)))
		return;

	if (!lately && !d->pairs && may_be_some(l, c, events)) {
		d->pairs = true;
		events = steps_compare(l, d, from);
		c = events ? choose(l) : NULL;
		d->pairs = c && is_pair(c->symbol);
	}
	/* It must still go on. */
	if (!c || events - c->last > 2 * length_of(c) + STEP_LOOK || stays(l, d, c))
		return;
	uint32_t marker = c->symbol, known = known_like(d, c);
	bool waits = c->cls == SPY_CLASS_SYNC && marker != SYMBOL_GAP;
	if (known == UINT32_MAX) {
		struct tf_loop as = {.thread = d->thread,
		                     .cls = marker == SYMBOL_GAP ? SPY_CLASS_OTHER : c->cls,
		                     .marker = marker == SYMBOL_GAP ? 0 : c->id,
		                     .anchors = anchors_of(c)};
		uint64_t first = event_number(d, from, c->first),
		         back = (uint64_t)(2 * length_of(c));
		find_levels(l, c, &as);
		steps_drop_within(d, map, marker, first > from + back ? first - back : from,
		                  (uint64_t)length_of(c));
		known = steps_new_loop(d, map, &as);
	} else {
		const struct steps_candidate *old = steps_candidate_of(l, d->knowns[known].marker);
		if (d->marker && known == d->known)
			return;
		if (old && may_mark(old) && same_length(old, c)) {
			marker = old->symbol;
			waits = old->cls == SPY_CLASS_SYNC && marker != SYMBOL_GAP;
		}
		from = from > d->since ? from : d->since;
	}
	if (known != UINT32_MAX)
		steps_enter(d, map, marker, waits, known, lately ? d->since : from);
}
