/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/steps/steps.h"

#include "shim/core/format/histogram.h"
#include "shim/core/work/slices.h"

#define RANGE_HISTS 1024u /* ranges with a histogram of their own: bounds what they cost */

/* ---- rows ---- */

/* A row's source; false where it says something that there is not. */
static bool source_of(const struct tf_map *map, const struct tf_step *row, uint32_t **rows,
                      uint32_t **stride)
{
	struct tf_header *h = tf_header(map);

	if (row->flags & TF_STEP_FOUND) {
		struct tf_loop *p = row->source < tf_count(&h->loops)
		                            ? tf_entry(map, &h->loops, row->source, sizeof(*p))
		                            : NULL;
		if (!p)
			return false;
		*rows = &p->rows;
		*stride = &p->stride;
		return true;
	}
	struct tf_nvtx_range *r = row->source < tf_count(&h->ranges)
	                                  ? tf_entry(map, &h->ranges, row->source, sizeof(*r))
	                                  : NULL;
	if (!r)
		return false;
	*rows = &r->rows;
	*stride = &r->stride;
	return true;
}

static struct tf_step *row_at(const struct tf_map *map, uint32_t i)
{
	return tf_entry(map, &tf_header(map)->steps, i, sizeof(struct tf_step));
}

/* Sources that have more than half as many rows as the average one get by with half of them; their
 * strides are doubled. These hold at least half of all rows: a quarter of the table becomes free.
 */
static void widen_strides(const struct tf_map *map)
{
	struct tf_header *h = tf_header(map);
	uint32_t ranges = tf_count(&h->ranges), loops = tf_count(&h->loops), having = 0;

	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < ranges + loops; i++) {
			struct tf_step as = {.source = i < ranges ? i : i - ranges,
			                     .flags = i < ranges ? 0 : TF_STEP_FOUND};
			uint32_t *rows, *stride;
			if (!source_of(map, &as, &rows, &stride) || !*rows)
				continue;
			if (!pass)
				having++;
			else if (*rows > tf_count(&h->steps) / 2 / having &&
			         *stride < UINT32_MAX / 2)
				*stride *= 2;
		}
		if (!having)
			return;
	}
}

/* Read once: a recording that is cut while it is written becomes zeros. */
static bool left_out(uint32_t number, const uint32_t *stride)
{
	uint32_t every = __atomic_load_n(stride, __ATOMIC_RELAXED);

	return every && number % every;
}

/* Takes out the rows that their source's stride leaves out, and those of no source. */
static void drop_rows(const struct tf_map *map)
{
	struct tf_header *h = tf_header(map);
	uint32_t count = tf_count(&h->steps), kept = 0;

	slices_rearrange(map);
	for (uint32_t i = 0; i < count; i++) {
		struct tf_step *row = row_at(map, i), *to = row_at(map, kept);
		uint32_t *rows, *stride;
		if (!row || !to)
			break;
		if (!source_of(map, row, &rows, &stride) || !*stride)
			continue;
		if (left_out(row->number, stride)) {
			*rows -= *rows > 0;
			continue;
		}
		*to = *row;
		kept++;
	}
	__atomic_store_n(&h->steps.count, kept, __ATOMIC_RELEASE);
	slices_rearrange(map);
}

void steps_row(struct tf_map *map, const struct tf_step *row, uint32_t *rows, uint32_t *stride)
{
	struct tf_header *h = tf_header(map);

	if (!*stride)
		*stride = 1;
	if (left_out(row->number, stride))
		return;
	if (h->steps.count >= h->steps.max && h->steps.max) {
		widen_strides(map);
		drop_rows(map);
		if (left_out(row->number, stride))
			return;
	}
	struct tf_step *to = tf_append(map, &h->steps);
	if (!to)
		return;
	*to = *row;
	(*rows)++;
	tf_publish(&h->steps);
}

void steps_forget(struct tf_map *map, uint32_t loop)
{
	struct tf_loop *p = tf_entry(map, &tf_header(map)->loops, loop, sizeof(*p));

	if (!p || !p->rows)
		return;
	p->rows = p->stride = 0;
	drop_rows(map);
}

/* ---- ranges ---- */

void steps_add_counts(struct tf_counts *to, const struct tf_counts *more)
{
	to->launches += more->launches;
	to->graph_launches += more->graph_launches;
	to->syncs += more->syncs;
	to->copies += more->copies;
	to->pageable_copies += more->pageable_copies;
	to->sets += more->sets;
	to->allocs += more->allocs;
	to->copy_bytes += more->copy_bytes;
	to->launch_ticks += more->launch_ticks;
}

void steps_range(struct tf_map *map, uint32_t thread, const struct tf_record *r)
{
	struct tf_header *h = tf_header(map);
	uint32_t index = r->thread;
	struct tf_nvtx_range *range = index < tf_count(&h->ranges)
	                                      ? tf_entry(map, &h->ranges, index, sizeof(*range))
	                                      : NULL;
	uint64_t ticks = r->end - r->start;

	if (!range || r->end < r->start)
		return;
	struct tf_step row = {.start = r->start,
	                      .end = r->end,
	                      .source = index,
	                      .number = (uint32_t)range->count,
	                      .thread = (uint16_t)thread};
	if (r->flags & TF_RANGE_NO_COUNTS) {
		row.flags = TF_STEP_NO_COUNTS;
	} else {
		row.counts = (struct tf_counts){.launches = r->range.launches,
		                                .graph_launches = r->range.graph_launches,
		                                .syncs = r->range.syncs,
		                                .copies = r->range.copies,
		                                .pageable_copies = r->range.pageable_copies,
		                                .sets = r->range.sets,
		                                .allocs = r->range.allocs,
		                                .copy_bytes = tf_range_bytes(r),
		                                .launch_ticks = tf_range_launch_ticks(r)};
		steps_add_counts(&range->counts, &row.counts);
		range->counted++;
	}
	if (!range->count || ticks < range->min_ticks)
		range->min_ticks = ticks;
	if (ticks > range->max_ticks)
		range->max_ticks = ticks;
	range->count++;
	range->ticks += ticks;
	if (!range->hist && index < RANGE_HISTS)
		range->hist = map->alloc(map, sizeof(struct tf_hist));
	struct tf_hist *hist = tf_at(map, range->hist, sizeof(*hist));
	if (hist)
		hist_add(hist, ticks);
	if (range->level < TF_STEP_LEVELS)
		steps_row(map, &row, &range->rows, &range->stride);
}
