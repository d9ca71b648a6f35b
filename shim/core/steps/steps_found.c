/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/steps/steps_candidates.h"

#include <sys/mman.h>

#define DETECTORS  8u    /* threads looked at: those that give most work */
#define DOUBLES    4096u /* events up to which looks come at twice as many */
#define OFTEN      8u    /* at last there is a look at every so many STEP_HISTORY */
#define SETTLED    8u    /* steps */
#define LATE_PART  8u    /* of the events since the last loop: the latest ones */
#define LATE_PAUSE 8u    /* steps of the last loop: until then these may be some of its */

struct steps {
	uint32_t owners[DETECTORS]; /* threads of the detectors + 1; 0 = it is free */
	struct steps_detector detectors[DETECTORS];
	struct steps_detector all;     /* of all threads, once there are several */
	struct steps_detector *recent; /* of the thread that called last; NULL = none */
	uint32_t first_thread;         /* + 1; 0 = none yet */
	bool several;
	uint32_t seen[256]; /* events of threads, by the index's low byte */
	struct steps_look look;
};

struct steps *steps_new(void)
{
	void *p = mmap(NULL, sizeof(struct steps), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void steps_free(struct steps *s)
{
	if (s)
		munmap(s, sizeof(*s));
}

/* Whether a record tells anything of steps. */
static bool tells(const struct tf_record *r, unsigned cls)
{
	/* Allocations are counted alone: caches make them irregular. */
	const unsigned telling = 1u << SPY_CLASS_LAUNCH | 1u << SPY_CLASS_GRAPH_LAUNCH |
	                         1u << SPY_CLASS_COPY | 1u << SPY_CLASS_SET | 1u << SPY_CLASS_SYNC |
	                         1u << SPY_CLASS_ALLOC;

	return !r->result && !(r->flags & (TF_NESTED | TF_CAPTURED)) && telling >> cls & 1;
}

/* ---- threads ---- */

static void detector_start(struct steps_detector *d, uint32_t thread)
{
	/* The events stay where they are: those below the count are valid. */
	memset(d, 0, offsetof(struct steps_detector, symbols));
	d->used = true;
	d->thread = thread;
	d->next_short = d->next_long = STEP_LOOK;
	d->next_late = 2 * STEP_LOOK;
}

/* A thread's detector; the one in place of which it gets one where it has none yet, or NULL. */
static struct steps_detector *detector_of(struct steps *s, uint32_t thread)
{
	uint32_t *seen = &s->seen[thread % 256];
	unsigned least = 0;

	*seen += *seen < UINT32_MAX;
	for (unsigned i = 0; i < DETECTORS; i++)
		if (s->owners[i] == thread + 1)
			return s->recent = &s->detectors[i];
	for (unsigned i = 0; i < DETECTORS; i++)
		if (!s->owners[i] ||
		    (s->owners[least] && s->detectors[i].count < s->detectors[least].count))
			least = i;
	struct steps_detector *d = &s->detectors[least];
	if (s->owners[least] && (d->known_count || *seen < 2 * d->count + STEP_LOOK))
		return NULL;
	s->owners[least] = thread + 1;
	detector_start(d, thread);
	return s->recent = d;
}

/* ---- looks ---- */

/* Counts double, later they quadruple: over all looks an event is looked over about twice. */
static uint64_t later_look(uint64_t count, uint64_t from)
{
	uint64_t events = count - from;

	if (events < STEP_LOOK)
		return from + STEP_LOOK;
	if (events < DOUBLES)
		return from + 2 * events;
	return events < OFTEN * STEP_HISTORY ? from + 4 * events : count + OFTEN * STEP_HISTORY;
}

/* In a loop whose steps have anchors and are alike: no other level would take its place. */
static bool settled(const struct steps_detector *d, const struct tf_map *map)
{
	const struct tf_loop *l = d->marker ? steps_loop_of(d, map) : NULL;

	return l && l->anchors & STEP_STRONG && l->steps >= SETTLED &&
	       l->alike_x1000 >= 900 * l->steps;
}

/* Whether the loop that was left is not long over: it may go on behind some odd steps. */
static bool just_left(const struct steps_detector *d, const struct tf_map *map)
{
	const struct tf_loop *l = d->count ? steps_loop_of(d, map) : NULL;

	return l && l->steps &&
	       event_at(d, d->count - 1)->start <
	               d->knowns[d->known].last_end + LATE_PAUSE * steps_mean(l);
}

/*
 * Over the latest events alone, an eighth of those since the last loop: what a program did long
 * before its loop, as compiling it, may be more than the loop ever gives. Each event is looked over
 * once more by that.
 */
static void look_late(struct steps *s, struct steps_detector *d, struct tf_map *map)
{
	uint64_t since = d->count - d->since, events = since / LATE_PART;

	if (events < STEP_LOOK)
		events = STEP_LOOK;
	d->next_late = d->count + events;
	if (since > events && d->count - first_kept(d) > events && !just_left(d, map))
		steps_look(&s->look, d, map, d->count - events, true);
}

/*
 * Three kinds of looks: over what came since the last loop was over, so that the next one is found
 * soon, over the latest of that, and over all that is kept, so that what repeats at a higher level
 * is.
 */
static void look(struct steps *s, struct steps_detector *d, struct tf_map *map)
{
	uint64_t from = first_kept(d);

	if (d->count >= d->next_long) {
		d->next_long = later_look(d->count, 0);
		if (d->count > DOUBLES && settled(d, map))
			return;
		steps_look(&s->look, d, map, from, false);
		if (d->since <= from)
			d->next_short = later_look(d->count, d->since);
	}
	while (!d->marker && d->count >= d->next_short) {
		d->next_short = later_look(d->count, d->since);
		steps_look(&s->look, d, map, d->since > from ? d->since : from, false);
	}
	if (!d->marker && d->count >= d->next_late)
		look_late(s, d, map);
}

/* ---- calls ---- */

static inline void looks(struct steps *s, struct steps_detector *d, struct tf_map *map)
{
	if (d->count >= d->next_long ||
	    (!d->marker && (d->count >= d->next_short || d->count >= d->next_late)))
		look(s, d, map);
}

static void take(struct steps *s, struct steps_detector *d, struct tf_map *map,
                 const struct tf_record *r, unsigned cls)
{
	uint64_t n = steps_event(d, r, cls);

	if (d->marker)
		steps_walk(d, map, n);
	looks(s, d, map);
}

/* All threads' events: what the first one gave last, before there was another one, is part of the
 * step that is under way. */
static void start_all(struct steps *s)
{
	const struct steps_detector *from = NULL;
	struct steps_detector *to = &s->all;

	for (unsigned i = 0; i < DETECTORS; i++)
		if (s->owners[i] == s->first_thread)
			from = &s->detectors[i];
	detector_start(to, TF_LOOP_ALL);
	s->several = true;
	if (!from)
		return;
	to->count = from->count < STEP_LOOK ? from->count : STEP_LOOK - 1;
	for (uint64_t i = 0; i < to->count; i++) {
		uint64_t n = from->count - to->count + i;
		to->events[i] = *event_at(from, n);
		to->symbols[i] = *symbols_at(from, n);
	}
	to->last_end = from->last_end;
	to->own = from->own;
	to->gap_p90 = from->gap_p90;
	memcpy(to->gap_most, from->gap_most, sizeof(to->gap_most));
}

/* A call of this thread comes: its detector, NULL = it has none. */
static struct steps_detector *next_of(struct steps *s, uint32_t thread)
{
	if (!s->first_thread)
		s->first_thread = thread + 1;
	else if (thread + 1 != s->first_thread && !s->several)
		start_all(s);
	return s->recent && s->recent->thread == thread ? s->recent : detector_of(s, thread);
}

void steps_call(struct steps *s, struct tf_map *map, uint32_t thread, const struct tf_record *r,
                unsigned cls)
{
	if (!s || !tells(r, cls))
		return;
	struct steps_detector *d = next_of(s, thread);
	if (s->several)
		take(s, &s->all, map, r, cls);
	if (d)
		take(s, d, map, r, cls);
}

static inline void take_launch(struct steps *s, struct steps_detector *d, struct tf_map *map,
                               const struct tf_record *r, const struct steps_symbols *symbols)
{
	uint64_t n = steps_event_of_launch(d, r, symbols);

	if (d->marker && !steps_goes_on(d, n))
		steps_walk(d, map, n);
	looks(s, d, map);
}

/* As take_launch() for each of the two, in this order; NULL = there is none. What is none but one
 * more event of both changes nothing of the recording: each takes as many of these as there are. */
static void take_launches(struct steps *s, struct steps_detector *all, struct steps_detector *d,
                          struct tf_map *map, const struct tf_record *r,
                          const struct steps_symbols *const *symbols, unsigned n)
{
	unsigned i = all ? 0 : n, k = d ? 0 : n;

	if (n == 1) { /* threads take turns */
		if (all)
			take_launch(s, all, map, r, symbols[0]);
		if (d)
			take_launch(s, d, map, r, symbols[0]);
		return;
	}
	while (i < n || k < n) {
		if (i < n)
			i += steps_events_within(all, r + i, symbols + i, n - i);
		if (k < n)
			k += steps_events_within(d, r + k, symbols + k, n - k);
		if (i < n && i <= k) {
			take_launch(s, all, map, &r[i], symbols[i]);
			i++;
		} else if (k < n) {
			take_launch(s, d, map, &r[k], symbols[k]);
			k++;
		}
	}
}

void steps_launches(struct steps *s, struct tf_map *map, uint32_t thread, const struct tf_record *r,
                    const struct steps_symbols *const *symbols, unsigned n)
{
	struct steps_detector *d = NULL;
	unsigned i = 0;

	if (!s)
		return;
	/* A thread without a detector may get one with each of its calls. */
	for (; i < n && !(d = next_of(s, thread)); i++)
		if (s->several)
			take_launch(s, &s->all, map, &r[i], symbols[i]);
	take_launches(s, s->several ? &s->all : NULL, d, map, r + i, symbols + i, n - i);
}

void steps_own(struct steps *s, uint32_t thread, const struct tf_record *r)
{
	uint64_t ticks = r->end - r->start;

	if (!s)
		return;
	if (s->several)
		s->all.own += ticks;
	for (unsigned i = 0; i < DETECTORS; i++)
		if (s->owners[i] == thread + 1)
			s->detectors[i].own += ticks;
}

static void finish(struct steps *s, struct steps_detector *d, struct tf_map *map)
{
	if (!d->used)
		return;
	if (d->count <= STEP_HISTORY)
		d->next_long = d->count;
	if (d->count - d->since <= STEP_HISTORY)
		d->next_short = d->count;
	d->next_late = d->count;
	if (d->count)
		look(s, d, map);
	steps_end_last(d, map);
}

void steps_finish(struct steps *s, struct tf_map *map)
{
	if (!s)
		return;
	for (unsigned i = 0; i < DETECTORS; i++)
		finish(s, &s->detectors[i], map);
	finish(s, &s->all, map);
}
