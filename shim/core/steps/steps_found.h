/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of finding steps, for its own files: steps_found.c (the threads looked at,
 * and when their events are looked over), steps_events.c (these), steps_candidates.c (the symbols
 * that may mark steps), steps_marker.c (the look that chooses one of them), steps_loop.c (the steps
 * that a marker makes), steps_loops.c (the rows of table `loops`).
 */
#ifndef SPY_STEPS_FOUND_H
#define SPY_STEPS_FOUND_H

#include "shim/core/steps/steps.h"

#define STEP_HISTORY                                                                               \
	65536u             /* events kept of a thread: 2.5 MiB, of which only what is used counts */
#define STEP_BUCKETS  32u  /* what symbols are counted by when steps are compared */
#define STEP_ODD_MOST 3u   /* odd steps in a row: the loop is over */
#define STEP_LOOK     64u  /* events that are worth a look */
#define ALIKE_LEAST   0.75 /* steps of a loop, on average */
#define ALIKE_ODD     0.5  /* a step less alike than that to the typical one is odd */
#define GAP_LEARN     16u  /* events after which it is known what times between calls are usual */
#define GAP_QUARTER   4u   /* of these; their gaps may be long */
#define SYMBOL_GAP    2u   /* of an event that comes after a long time without calls */
#define SYMBOL_PAIR   2u   /* ... and lowest bits of the symbol of an event and the one before it */
#define PAIR_BACK     8u   /* events that tell nothing may lie in between */

struct steps_event {
	uint64_t start, end, bytes;
	uint32_t id; /* as tf_loop.marker */
	uint16_t items;
	uint8_t cls;
	uint8_t flags; /* TF_ANCHOR_..., STEP_PAGEABLE */
};
#define STEP_NONE     UINT64_MAX
#define STEP_PAGEABLE 8u
#define STEP_STRONG   (TF_ANCHOR_WAIT | TF_ANCHOR_UPLOAD) /* anchors that are no chance */
_Static_assert(sizeof(struct steps_event) == 32, "two to a cache line");

struct steps_segment { /* a step */
	uint64_t start, end;
	uint64_t first;  /* number of its first event */
	uint64_t events; /* with a symbol */
	struct tf_counts counts;
	uint32_t buckets[STEP_BUCKETS];
};

/* A loop of this detector, so that it is known when it comes again. */
struct steps_known {
	uint32_t loop; /* index in table `loops` */
	uint32_t marker;
	uint64_t first,
	        told; /* number of its first step's first event; of that behind its last step */
	uint64_t last_end; /* tick: of its last step */
	uint64_t events;   /* of its last step that was not odd */
	uint32_t buckets[STEP_BUCKETS];
};

struct steps_detector { /* of one thread, or of all */
	bool used;
	bool marker_waits; /* the marker is a wait */
	bool pairs;        /* pairs of events are looked at too */
	bool whole;        /* its steps are told from the thread's first event on */
	bool inside;       /* `now` is a step under way */
	bool has_typical, first_waits;
	uint64_t
	        begins; /* tick: the next step that starts no sooner begins an episode; STEP_NONE */
	uint32_t thread; /* TF_LOOP_ALL: of all */
	uint32_t marker; /* symbol; 0 = in no loop */
	uint32_t known;  /* which of the known loops this is */
	uint32_t held_count;
	uint64_t count; /* events ever; the last STEP_HISTORY of them are in `events` */
	uint64_t since; /* event at which the last loop was over */
	uint64_t told;  /* event behind the last step that was told */
	/* counts at which there are the next looks; the last: over the latest events alone */
	uint64_t next_short, next_long, next_late;
	uint64_t last_end; /* of all calls */
	uint64_t own;      /* ticks since then that were ours */
	uint64_t gap_p90;  /* ticks; nine of ten times between two calls are shorter, roughly */
	uint64_t gap_most[GAP_QUARTER]; /* the longest of the first ones, the longest first */
	/* `typical`: the last one that was not odd, but for its times and counts. */
	struct steps_segment now, typical;
	uint64_t matched; /* events of `now` that the typical step has as well */
	bool torn;        /* a pause lies amid `now`: what is on its other side is left out */
	struct steps_segment held[STEP_ODD_MOST]; /* odd ones since */
	struct steps_segment cut;   /* `now` when it had as many events as the typical one */
	struct steps_segment early; /* and before an event that came late, by which it may
	                               have ended */
	uint64_t early_matched;     /* `matched` then */
	bool early_long;            /* it came very late */
	uint32_t known_count;
	struct steps_known knowns[TF_LOOPS_MAX];
	struct steps_symbols symbols[STEP_HISTORY];
	struct steps_event events[STEP_HISTORY];
};

/* ---- the events kept ---- */

static inline const struct steps_event *event_at(const struct steps_detector *d, uint64_t n)
{
	return &d->events[n % STEP_HISTORY];
}

static inline const struct steps_symbols *symbols_at(const struct steps_detector *d, uint64_t n)
{
	return &d->symbols[n % STEP_HISTORY];
}

static inline uint64_t first_kept(const struct steps_detector *d)
{
	return d->count > STEP_HISTORY ? d->count - STEP_HISTORY : 0;
}

static inline bool is_pair(uint32_t symbol)
{
	return (symbol & 3u) == SYMBOL_PAIR && symbol != SYMBOL_GAP;
}

/* The symbol of event `n`, which has one, together with the one before it; 0 = none is kept. */
static inline uint32_t pair_at(const struct steps_detector *d, uint64_t n)
{
	uint64_t least = first_kept(d);

	for (uint64_t k = n; k > least && n - k < PAIR_BACK; k--) {
		uint32_t before = symbols_at(d, k - 1)->coarse;
		if (before)
			return ((before * 0x9e3779b1u ^ symbols_at(d, n)->coarse * 0x85ebca6bu) &
			        ~3u) |
			       4u | SYMBOL_PAIR;
	}
	return 0;
}

/* Whether event `n`, which is kept, is one of these. */
static inline bool is_symbol(const struct steps_detector *d, uint32_t symbol, uint64_t n)
{
	const struct steps_symbols *s = symbols_at(d, n);

	if (symbol == SYMBOL_GAP)
		return event_at(d, n)->flags & TF_ANCHOR_GAP;
	if (is_pair(symbol))
		return s->coarse && pair_at(d, n) == symbol;
	return symbol & 1 ? s->fine == symbol : s->coarse == symbol;
}

/* Where a symbol is counted: its lowest bits are not chance. */
static inline uint32_t bucket_of(const struct steps_symbols *s)
{
	return s->coarse >> 27;
}
_Static_assert(STEP_BUCKETS == 32, "bucket_of()");

/* ---- steps_events.c ---- */

/* One more event, of a record that tells something of steps; its number. */
uint64_t steps_event(struct steps_detector *d, const struct tf_record *r, unsigned cls);
/* The same of one of steps_launches(). */
uint64_t steps_event_of_launch(struct steps_detector *d, const struct tf_record *r,
                               const struct steps_symbols *symbols);

/*
 * Of launches as of steps_launches() those at the front that are one more event within the step
 * under way, or outside all loops, and nothing else is to be done: they are added and counted. How
 * many they were.
 */
unsigned steps_events_within(struct steps_detector *d, const struct tf_record *r,
                             const struct steps_symbols *const *symbols, unsigned n);

/* ---- steps_marker.c ---- */

struct steps_look;
/* Looks over the events from number `from` on, which are kept, and goes into a loop if it finds
 * one, or into a better one than it is in. `lately`: these are but the last events since the last
 * loop was over; what repeats in them is a loop if it has the host's rhythm, or is a graph. What
 * was in the look before does not matter. */
void steps_look(struct steps_look *l, struct steps_detector *d, struct tf_map *map, uint64_t from,
                bool lately);

/* ---- steps_loop.c ---- */

/* How much alike what occurs in two pieces is, 0 to 1. */
double steps_alike(const uint32_t *a, const uint32_t *b);
/* Event `n`, which is kept, comes to a detector that is in a loop. */
void steps_walk(struct steps_detector *d, struct tf_map *map, uint64_t n);

/* One more event, with this symbol, in the step under way. */
static inline void steps_count(struct steps_detector *d, const struct steps_symbols *symbols)
{
	uint32_t bucket = bucket_of(symbols), count = ++d->now.buckets[bucket];

	d->now.events++;
	d->matched += count <= d->typical.buckets[bucket];
}

/* What steps_walk() does with a launch within the step under way; false: it is none. */
static inline bool steps_goes_on(struct steps_detector *d, uint64_t n)
{
	const struct steps_event *e = event_at(d, n);
	const struct steps_symbols *symbols = symbols_at(d, n);
	struct steps_segment *now = &d->now;

	if (is_symbol(d, d->marker, n) || !d->inside || e->flags & TF_ANCHOR_GAP || !now->events ||
	    (d->has_typical && (now->events + 1 == d->typical.events ||
	                        now->events >= 2 * d->typical.events + STEP_LOOK)))
		return false;
	now->counts.launches += e->items;
	now->counts.launch_ticks += e->end - e->start;
	now->end = e->end;
	steps_count(d, symbols);
	return true;
}

/* Goes into the loop that the marker makes: its steps are told from event `from` on, those that no
 * other loop had told. */
void steps_enter(struct steps_detector *d, struct tf_map *map, uint32_t marker, bool waits,
                 uint32_t known, uint64_t from);
/* No event comes any more: ends the last step, if what came after the loop does not hide it. */
void steps_end_last(struct steps_detector *d, struct tf_map *map);

/* ---- steps_loops.c ---- */

/* Ticks of a step; 0 = there are none. Read once: a recording may become zeros meanwhile. */
static inline uint64_t steps_mean(const struct tf_loop *l)
{
	uint64_t steps = __atomic_load_n(&l->steps, __ATOMIC_RELAXED);

	return steps ? l->ticks / steps : 0;
}

struct tf_loop *steps_loop_of(const struct steps_detector *d, const struct tf_map *map);
/* A row for a loop that is not known yet; its number among the known ones, or UINT32_MAX where
 * there is no room. */
uint32_t steps_new_loop(struct steps_detector *d, struct tf_map *map, const struct tf_loop *as);
/* Takes back the loops that began at event `first`, which is kept, or later, have steps of less
 * than `events` events and lie in the pieces of another loop, which this marker begins or ends. */
void steps_drop_within(struct steps_detector *d, struct tf_map *map, uint32_t marker,
                       uint64_t first, uint64_t events);
/* One step more of the loop that the detector is in, which ends before event `behind`. */
void steps_put(struct steps_detector *d, struct tf_map *map, const struct steps_segment *s,
               double how, uint64_t behind);

#endif
