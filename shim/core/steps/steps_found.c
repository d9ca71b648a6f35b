/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/steps/steps_candidates.h"

#include <sys/mman.h>
#include "shim/core/work/work_class.h"

#define DETECTORS 8u    /* threads looked at: those that give most work */
#define DOUBLES   4096u /* events up to which looks come at twice as many */
#define OFTEN     8u    /* at last there is a look at every so many STEP_HISTORY */
#define SETTLED   8u    /* steps */
#define GAP_TIMES 4u    /* a gap is long that is so many times the usual ones' 90th percentile */
/* Ticks: a shorter one never is. Less of our own time has no record, see own_time.h. */
#define GAP_LEAST 1000u

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

/* ---- events ---- */

static uint32_t symbol(uint64_t a, uint64_t b, uint32_t fine)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

	h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;

	/* The lowest bits tell the kinds of symbols apart; none is 0, or SYMBOL_GAP. */
	return ((uint32_t)(h >> 32) & ~3u) | 4u | fine;
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

/* A copy whose arguments make sense. */
static bool is_copy(const struct tf_record *r, unsigned cls)
{
	return cls == SPY_CLASS_COPY && !(r->flags & TF_NO_ARGS) &&
	       r->copy.direction < SPY_DIR_COUNT && r->copy.memory < SPY_MEM_COUNT;
}

/* As tf_loop.marker. */
static uint32_t id_of(const struct tf_record *r, unsigned cls)
{
	const bool args = !(r->flags & TF_NO_ARGS);

	switch (cls) {
	case SPY_CLASS_LAUNCH:
		return args ? r->launch.kernel : TF_KERNEL_UNKNOWN;
	case SPY_CLASS_GRAPH_LAUNCH:
		return args ? work_graph(r->graph.graph, r->graph.content) : 0;
	case SPY_CLASS_COPY:
		return is_copy(r, cls)
		               ? TF_COPY_KIND(r->copy.direction, r->copy.memory, r->copy.async)
		               : 0;
	case SPY_CLASS_SYNC:
		return r->call;
	default:
		return 0;
	}
}

struct steps_symbols steps_symbols_of(const struct tf_record *r, unsigned cls)
{
	const bool args = !(r->flags & TF_NO_ARGS);
	uint64_t id = 0, shape = 0;

	switch (cls) {
	case SPY_CLASS_LAUNCH:
	case SPY_CLASS_GRAPH_LAUNCH:
	case SPY_CLASS_COPY:
	case SPY_CLASS_SET:
	case SPY_CLASS_SYNC:
		id = id_of(r, cls);
		break;
	default:
		return (struct steps_symbols){0};
	}
	if (cls == SPY_CLASS_LAUNCH && args)
		shape = (r->launch.grid_x * 0x10001ull + r->launch.grid_y) * 0x10001u +
		        r->launch.grid_z * 77u + r->launch.block_x * 0x1000003ull +
		        r->launch.block_y * 1031u + r->launch.block_z + 1;
	else if ((cls == SPY_CLASS_COPY || cls == SPY_CLASS_SET) && args)
		shape = r->copy.bytes;
	return (struct steps_symbols){symbol(cls, id + 1, 0),
	                              symbol(cls, (id + 1) * 0x100000001b3u + shape, 1)};
}

static void event_of(struct steps_event *e, const struct tf_record *r, unsigned cls)
{
	const bool args = !(r->flags & TF_NO_ARGS);

	*e = (struct steps_event){.start = r->start,
	                          .end = r->end,
	                          .id = id_of(r, cls),
	                          .items = 1,
	                          .cls = (uint8_t)cls,
	                          .flags = cls == SPY_CLASS_SYNC ? TF_ANCHOR_WAIT : 0};
	if (!args)
		return;
	if (cls == SPY_CLASS_LAUNCH && r->launch.items)
		e->items = (uint16_t)r->launch.items;
	if (cls != SPY_CLASS_COPY && cls != SPY_CLASS_SET)
		return;
	e->items = r->copy.items ? r->copy.items : 1;
	e->bytes = r->copy.bytes;
	if (is_copy(r, cls))
		e->flags = (r->copy.memory == SPY_MEM_PAGEABLE ? STEP_PAGEABLE : 0) |
		           (r->copy.direction == SPY_DIR_HTOD ? TF_ANCHOR_UPLOAD : 0);
}

/* The event of a launch with its arguments. */
static inline void launch_of(struct steps_event *e, const struct tf_record *r)
{
	e->start = r->start;
	e->end = r->end;
	e->bytes = 0;
	e->id = r->launch.kernel;
	e->items = r->launch.items ? (uint16_t)r->launch.items : 1;
	e->cls = SPY_CLASS_LAUNCH;
	e->flags = 0;
}

/* ---- threads ---- */

static void detector_start(struct steps_detector *d, uint32_t thread)
{
	/* The events stay where they are: those below the count are valid. */
	memset(d, 0, offsetof(struct steps_detector, symbols));
	d->used = true;
	d->thread = thread;
	d->next_short = d->next_long = STEP_LOOK;
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

/*
 * Two kinds of looks: over what came since the last loop was over, so that the next one is found
 * soon, and over all that is kept, so that what repeats at a higher level is.
 */
static void look(struct steps *s, struct steps_detector *d, struct tf_map *map)
{
	uint64_t from = first_kept(d);

	if (d->count >= d->next_long) {
		d->next_long = later_look(d->count, 0);
		if (d->count > DOUBLES && settled(d, map))
			return;
		steps_look(&s->look, d, map, from);
		if (d->since <= from)
			d->next_short = later_look(d->count, d->since);
	}
	while (!d->marker && d->count >= d->next_short) {
		d->next_short = later_look(d->count, d->since);
		steps_look(&s->look, d, map, d->since > from ? d->since : from);
	}
}

/* ---- calls ---- */

/*
 * The first gaps: what three of four are not longer than is usual from then on. To grow to what all
 * of them are alike would take many more, and each would seem long meanwhile.
 */
static void learn_gap(struct steps_detector *d, uint64_t gap)
{
	for (unsigned i = 0; i < GAP_QUARTER; i++) {
		uint64_t less = d->gap_most[i];
		if (gap > less) {
			d->gap_most[i] = gap;
			gap = less;
		}
	}
	if (d->count == GAP_LEARN && d->gap_p90 < d->gap_most[GAP_QUARTER - 1])
		d->gap_p90 = d->gap_most[GAP_QUARTER - 1];
}

/* How long no call was under way before this one; whether that is long. */
static void find_gap(struct steps_detector *d, struct steps_event *e)
{
	uint64_t gap = e->start > d->last_end + d->own ? e->start - d->last_end - d->own : 0,
	         p90 = d->gap_p90;

	d->own = 0;
	if (d->last_end && d->count <= GAP_LEARN)
		learn_gap(d, gap);
	else if (d->last_end && gap > GAP_TIMES * p90 && gap > GAP_LEAST)
		e->flags |= TF_ANCHOR_GAP;
	/* One in ten is longer: it grows by 9 parts then, else it shrinks by one. */
	if (d->last_end && d->count != GAP_LEARN)
		d->gap_p90 = gap > p90 ? p90 + p90 * 9 / 128 + 9 : p90 - p90 / 128 - (p90 > 0);
	if (e->end > d->last_end)
		d->last_end = e->end;
}

static inline void looks(struct steps *s, struct steps_detector *d, struct tf_map *map)
{
	if (d->count >= d->next_long || (!d->marker && d->count >= d->next_short))
		look(s, d, map);
}

static void take(struct steps *s, struct steps_detector *d, struct tf_map *map,
                 const struct tf_record *r, unsigned cls)
{
	uint64_t n = d->count++;
	struct steps_event *e = &d->events[n % STEP_HISTORY];

	event_of(e, r, cls);
	d->symbols[n % STEP_HISTORY] = steps_symbols_of(r, cls);
	find_gap(d, e);
	if (d->marker)
		steps_walk(d, map, n);
	looks(s, d, map);
}

static inline void take_launch(struct steps *s, struct steps_detector *d, struct tf_map *map,
                               const struct tf_record *r, const struct steps_symbols *symbols)
{
	uint64_t n = d->count++;
	struct steps_event *e = &d->events[n % STEP_HISTORY];

	launch_of(e, r);
	d->symbols[n % STEP_HISTORY] = *symbols;
	find_gap(d, e);
	if (d->marker)
		steps_walk_launch(d, map, n);
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

void steps_launches(struct steps *s, struct tf_map *map, uint32_t thread, const struct tf_record *r,
                    const struct steps_symbols *const *symbols, unsigned n)
{
	for (unsigned i = 0; s && i < n; i++) {
		struct steps_detector *d = next_of(s, thread);
		if (s->several)
			take_launch(s, &s->all, map, &r[i], symbols[i]);
		if (d)
			take_launch(s, d, map, &r[i], symbols[i]);
	}
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
