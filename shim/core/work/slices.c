/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/work/slices.h"

/* Adds entry 2i+1 to entry 2i, in place of entry i, for counters only. */
static void halve(void *first, uint64_t bytes)
{
	uint64_t *words = first, n = bytes / sizeof(uint64_t);

	for (uint32_t i = 0; i < TF_SLICES / 2; i++)
		for (uint64_t w = 0; w < n; w++)
			words[i * n + w] = words[2 * i * n + w] + words[(2 * i + 1) * n + w];
	memset(words + TF_SLICES / 2 * n, 0, TF_SLICES / 2 * bytes);
}

static void halve_all(const struct tf_map *map, struct tf_slices *s)
{
	struct tf_header *h = tf_header(map);

	slices_rearrange(map);
	halve(s->slice, sizeof(s->slice[0]));
	for (uint32_t i = 0; i < TF_DEVICES_TIMED; i++) {
		struct tf_device_time *d = tf_at(map, h->devices_time[i], sizeof(*d));
		if (d)
			halve(d->slices.busy, sizeof(d->slices.busy[0]));
	}
	s->width *= 2;
	s->used = (s->used + 1) / 2;
	slices_rearrange(map);
}

/* With CUDASPY_RANGE nothing is recorded ahead of the range: they begin with it. */
static void begin_with_range(const struct tf_map *map, struct tf_slices *s)
{
	/* Relaxed: it was written ahead of the records that came through the gate. */
	uint64_t from = __atomic_load_n(&tf_header(map)->range_from, __ATOMIC_RELAXED);

	if (s->used || from <= s->origin)
		return;
	slices_rearrange(map);
	s->origin = from;
	slices_rearrange(map);
}

struct tf_slices *slices_until(const struct tf_map *map, uint64_t until)
{
	struct tf_slices *s = tf_at(map, tf_header(map)->slices, sizeof(*s));

	if (s)
		begin_with_range(map, s);
	for (;;) {
		uint64_t width = s ? slices_width(s) : 0, origin = s ? s->origin : 0;
		uint64_t index = width ? slice_of(until > origin ? until - origin : 0, width) : 0;
		if (!width || (index >= TF_SLICES && width > UINT64_MAX / 4 / TF_SLICES))
			return NULL;
		if (index < TF_SLICES) {
			if (index + 1 > s->used)
				s->used = index + 1;
			return s;
		}
		halve_all(map, s);
	}
}

void slices_spread(const struct tf_slices *s, void *first, uint64_t bytes, uint64_t offset,
                   uint64_t start, uint64_t end, uint64_t ticks)
{
	uint8_t *to = (uint8_t *)first + offset;
	uint64_t width = slices_width(s), origin = s->origin, given = 0;

	if (!width)
		return;
	start = start > origin ? start - origin : 0;
	end = end > origin ? end - origin : 0;
	uint64_t from = slice_of(start, width), last = slice_of(end, width);
	if (last >= TF_SLICES)
		return;
	for (uint64_t i = from; i < last; i++) {
		uint64_t border = (i + 1) * width;
		uint64_t share = ticks == end - start
		                         ? border - start /* each tick where it is */
		                         : (uint64_t)((double)ticks * (double)(border - start) /
		                                      (double)(end - start));
		if (share <= given)
			continue;
		*(uint64_t *)(to + i * bytes) += share - given;
		given = share;
	}
	*(uint64_t *)(to + last * bytes) += ticks > given ? ticks - given : 0;
}

void slice_move(const struct tf_slices *s, struct slice_cursor *at, uint64_t tick)
{
	uint64_t width = slices_width(s), origin = s->origin;
	uint64_t index = width ? slice_of(tick > origin ? tick - origin : 0, width) : TF_SLICES;

	if (index >= TF_SLICES) { /* areas of a damaged recording lie over each other */
		*at = (struct slice_cursor){0};
		return;
	}
	*at = (struct slice_cursor){width, origin + index * width, origin + (index + 1) * width,
	                            index};
}

void slices_add_far(const struct tf_map *map, struct slice_cursor *at, void *first, uint64_t bytes,
                    uint64_t offset, uint64_t start, uint64_t end)
{
	const struct tf_slices *s = slices_until(map, end);

	if (!s)
		return;
	slices_spread(s, first, bytes, offset, start, end, end - start);
	slice_move(s, at, end);
}
