/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time slices: at most TF_SLICES of equal width over the recording, merged pairwise when time runs
 * past the last. The devices' busy slices (struct tf_device_time) are cut at the same places and
 * merged with them. For the drain and the timeline.
 */
#ifndef SPY_SLICES_H
#define SPY_SLICES_H

#include "shim/core/format/trace_map.h"

/*
 * The slices, wide enough to hold time `until` (ticks); NULL where the recording has none, or the
 * time is absurd.
 */
struct tf_slices *slices_until(const struct tf_map *map, uint64_t until);

/* Something is about to be put elsewhere in the recording, or was: a reader of a running process
 * looks again. One writer; not nested. */
static inline void slices_rearrange(const struct tf_map *map)
{
	struct tf_slices *s = tf_at(map, tf_header(map)->slices, sizeof(*s));

	/* Sequentially consistent: ahead of what follows, and behind what was before. */
	if (s)
		__atomic_fetch_add(&s->rearranged, 1, __ATOMIC_SEQ_CST);
}

/* Read once wherever it divides: a recording that is cut while it is written becomes zeros. */
static inline uint64_t slices_width(const struct tf_slices *s)
{
	return __atomic_load_n(&s->width, __ATOMIC_RELAXED);
}

/* The slice of a time, given as ticks since the origin; `width` is not 0. A writer's widths are
 * powers of two, which spares a division. */
static inline uint64_t slice_of(uint64_t since_origin, uint64_t width)
{
	return width & (width - 1) ? since_origin / width : since_origin >> __builtin_ctzll(width);
}

/*
 * Spreads `ticks` evenly over [start, end) and adds each slice's part to the counter at byte
 * `offset` of its entry; entries are `bytes` long and the first is at `first`. What lies before the
 * origin falls into the first slice. The slices must reach `end`: slices_until().
 */
void slices_spread(const struct tf_slices *s, void *first, uint64_t bytes, uint64_t offset,
                   uint64_t start, uint64_t end, uint64_t ticks);

/* The slice looked at last: what lies in it wholly is added to it without a search. All zero at the
 * start. */
struct slice_cursor {
	uint64_t width; /* of the slices when it was looked up */
	uint64_t from, to;
	uint64_t index;
};

/* Whether [start, end] lies in the slice looked at last, and the slices are still as they were. */
static inline bool slice_holds(const struct tf_slices *s, const struct slice_cursor *at,
                               uint64_t start, uint64_t end)
{
	return start >= at->from && end < at->to && s->width == at->width;
}

/* The slice that holds `tick`, which the slices reach, is the one looked at. All zero where they
 * turn out not to. */
void slice_move(const struct tf_slices *s, struct slice_cursor *at, uint64_t tick);

/* The slow way of slices_add(). */
void slices_add_far(const struct tf_map *map, struct slice_cursor *at, void *first, uint64_t bytes,
                    uint64_t offset, uint64_t start, uint64_t end);

/*
 * As slices_spread(), with each tick where it is and the slices made wide enough. `slices`: of the
 * recording, NULL where it has none.
 */
static inline void slices_add(const struct tf_map *map, const struct tf_slices *slices,
                              struct slice_cursor *at, void *first, uint64_t bytes, uint64_t offset,
                              uint64_t start, uint64_t end)
{
	if (slices && slice_holds(slices, at, start, end))
		*(uint64_t *)((uint8_t *)first + at->index * bytes + offset) += end - start;
	else if (slices)
		slices_add_far(map, at, first, bytes, offset, start, end);
}

#endif
