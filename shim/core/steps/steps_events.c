/* SPDX-License-Identifier: Apache-2.0 */
/* Records as events: what each is, and how long it was before it came. */
#include "shim/core/steps/steps_found.h"

#include "shim/core/cuda/copies.h"
#include "shim/core/work/work_class.h"

#define AHEAD     16u /* events whose places are fetched ahead */
#define GAP_TIMES 4u  /* a gap is long that is so many times the usual ones' 90th percentile */
/* Ticks: a shorter one never is. Less of our own time has no record, see own_time.h. */
#define GAP_LEAST 1000u

/* ---- what it is ---- */

static uint32_t symbol(uint64_t a, uint64_t b, uint32_t fine)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

	h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;

	/* The lowest bits tell the kinds of symbols apart; none is 0, or SYMBOL_GAP. */
	return ((uint32_t)(h >> 32) & ~3u) | 4u | fine;
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

/* A copy to the host for which its caller waits. */
static bool brings_back(const struct tf_record *r)
{
	return r->copy.direction == SPY_DIR_DTOH && cuda_copy_holds(cuda_copy_of(r));
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
		           (r->copy.direction == SPY_DIR_HTOD ? TF_ANCHOR_UPLOAD : 0) |
		           (brings_back(r) ? TF_ANCHOR_WAIT : 0);
}

/* The event of a launch with its arguments. Each field is stored where it stands: put together
 * elsewhere it would be waited for. */
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

/* ---- when it comes ---- */

static inline bool is_long(uint64_t gap, uint64_t p90)
{
	return gap > GAP_TIMES * p90 && gap > GAP_LEAST;
}

/* One in ten is longer: it grows by 9 parts then, else it shrinks by one. */
static inline uint64_t learned(uint64_t p90, uint64_t gap)
{
	return gap > p90 ? p90 + p90 * 9 / 128 + 9 : p90 - p90 / 128 - (p90 > 0);
}

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
	else if (d->last_end && is_long(gap, p90))
		e->flags |= TF_ANCHOR_GAP;
	if (d->last_end && d->count != GAP_LEARN)
		d->gap_p90 = learned(p90, gap);
	if (e->end > d->last_end)
		d->last_end = e->end;
}

/* ---- one more ---- */

uint64_t steps_event(struct steps_detector *d, const struct tf_record *r, unsigned cls)
{
	uint64_t n = d->count++;
	struct steps_event *e = &d->events[n % STEP_HISTORY];

	event_of(e, r, cls);
	d->symbols[n % STEP_HISTORY] = steps_symbols_of(r, cls);
	find_gap(d, e);
	return n;
}

uint64_t steps_event_of_launch(struct steps_detector *d, const struct tf_record *r,
                               const struct steps_symbols *symbols)
{
	uint64_t n = d->count++;
	struct steps_event *e = &d->events[n % STEP_HISTORY];

	launch_of(e, r);
	d->symbols[n % STEP_HISTORY] = *symbols;
	find_gap(d, e);
	return n;
}

/* So many launches may come and be nothing but events within the step under way, if none of them is
 * the marker and none comes late. Whether one is the marker with the event before it is not looked
 * at here. */
static unsigned room_within(const struct steps_detector *d, unsigned n)
{
	const uint64_t events = d->now.events, typical = d->typical.events,
	               kept = STEP_HISTORY - d->count % STEP_HISTORY;
	uint64_t room = kept < n ? kept : n, look = d->next_long, whole;

	if (d->own || d->count < GAP_LEARN || !d->last_end)
		return 0;
	if (!d->marker && d->next_short < look)
		look = d->next_short;
	if (!d->marker && d->next_late < look)
		look = d->next_late;
	if (d->count + 1 >= look)
		return 0;
	room = room < look - 1 - d->count ? room : look - 1 - d->count;
	if (!d->marker)
		return (unsigned)room;
	if (!d->inside || !events || is_pair(d->marker))
		return 0;
	if (!d->has_typical)
		return (unsigned)room;
	/* With its last event something is to be done; and where there are far too many. */
	whole = events < typical ? typical - 1 : 2 * typical + STEP_LOOK;
	whole = whole > events ? whole - events : 0;
	return (unsigned)(room < whole ? room : whole);
}

unsigned steps_events_within(struct steps_detector *d, const struct tf_record *r,
                             const struct steps_symbols *const *symbols, unsigned n)
{
	const unsigned most = room_within(d, n);
	const uint64_t from = d->count % STEP_HISTORY;
	struct steps_event *e = &d->events[from];
	struct steps_symbols *to = &d->symbols[from];
	uint64_t last_end = d->last_end, p90 = d->gap_p90, launches = 0, ticks = 0, matched = 0;
	const uint32_t marker = d->marker;
	unsigned i = 0;

	for (; i < most; i++, r++) {
		const uint64_t start = r->start, end = r->end,
		               gap = start > last_end ? start - last_end : 0;
		const struct steps_symbols s = *symbols[i];
		if (is_long(gap, p90) || s.coarse == marker || s.fine == marker)
			break;
		/* A round later they are in no cache any more. */
		__builtin_prefetch(&e[i + AHEAD], 1);
		if (i % 8 == 0)
			__builtin_prefetch(&to[i + AHEAD], 1);
		launch_of(&e[i], r);
		to[i] = s;
		p90 = learned(p90, gap);
		last_end = end > last_end ? end : last_end;
		if (!marker)
			continue;
		const uint32_t bucket = bucket_of(&s), count = ++d->now.buckets[bucket];
		matched += count <= d->typical.buckets[bucket];
		launches += e[i].items;
		ticks += end - start;
	}
	if (!i)
		return 0;
	d->count += i;
	d->last_end = last_end;
	d->gap_p90 = p90;
	if (!marker)
		return i;
	d->matched += matched;
	d->now.events += i;
	d->now.counts.launches += launches;
	d->now.counts.launch_ticks += ticks;
	d->now.end = r[-1].end;
	return i;
}
