/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way of launches that succeeded and are of a class met lately, which most records are:
 * several of a thread at a time, each figure's turn after the other, so that what a figure needs is
 * looked for once. What drain_feed() does with them one by one.
 */
#include "shim/core/drain/drain_feed.h"

#include "shim/core/drain/drain_inside.h"
#include "shim/core/timeline/timeline.h"

#define AHEAD 16 /* records fetched ahead: they come from another processor's cache */

void feed_note_plain(struct feed *f, const struct tf_record *r, uint8_t cls, struct tf_hist *hist)
{
	if (cls != SPY_CLASS_LAUNCH || r->result || !hist ||
	    r->flags & ~(TF_PTDS | TF_STALLED)) /* samples are counted */
		return;
	f->plain = feed_kind(r);
	f->plain_hist = hist;
}

/* Where it is counted when calls were made: the slice of time looked at last. */
struct now {
	struct tf_slice *slice; /* NULL = it is not known */
	uint64_t from, to;
};

static struct now find_slice(const struct feed *f)
{
	const struct slice_cursor *at = &f->slice;

	if (!f->slices || slices_width(f->slices) != at->width)
		return (struct now){0};
	return (struct now){&f->slices->slice[at->index], at->from, at->to};
}

/*
 * Copies launches from their ring as long as they go the short way, counts them, and notes their
 * classes; how many.
 */
static unsigned count_launches(struct drain *d, struct feed *f, const struct drain_run *run,
                               uint64_t limit)
{
	const uint64_t at = run->first & run->mask, plain = f->plain;
	const struct tf_record *from = &run->slots[at];
	struct tf_hist *hist = f->plain_hist;
	struct feed_launch *place = f->launch;
	struct now now = find_slice(f);
	/* What is not written yet is left to who writes it. */
	const uint64_t ahead = run->ready > AHEAD ? run->ready - AHEAD : 0;
	uint64_t first = UINT64_MAX, most = run->mask + 1 - at;
	unsigned n = 0;

	most = most < run->count ? most : run->count;
	most = most < DRAIN_BATCH ? most : DRAIN_BATCH;
	for (; n < most; n++) {
		struct tf_record *r = &f->batch.records[n];
		drain_keep_soon(&f->page, n);
		if (n && from[n].end > limit) /* most of the time when threads take turns */
			break;
		/* The copy is checked: the ring of a hostile recording may change meanwhile. */
		*r = from[n];
		if (n < ahead)
			__builtin_prefetch(&run->slots[(run->first + n + AHEAD) & run->mask]);
		if (feed_kind(r) != plain || r->end < r->start)
			break;
		if (!place || !feed_is_launch(place, r)) {
			place = feed_launch_place(f, r);
			if (!feed_is_launch(place, r))
				break;
		}
		const uint64_t ticks = r->end - r->start;
		const uint32_t bucket = hist_bucket(ticks);
		hist_add_to(hist, bucket);
		if (now.slice && r->start >= now.from && r->end < now.to) {
			now.slice->calls[SPY_CLASS_LAUNCH]++;
			now.slice->self_ticks[SPY_CLASS_LAUNCH] += ticks;
		} else {
			feed_slices(d, SPY_CLASS_LAUNCH, r, ticks);
			now = find_slice(f);
		}
		first = r->start < first ? r->start : first;
		place->work->count++;
		place->work->ticks += ticks;
		if (place->hist)
			hist_add_to(place->hist, bucket);
		f->batch.works[n] = place->work;
		f->batch.symbols[n] = &place->symbols;
	}
	f->launch = place;
	if (n)
		feed_first(d, first);
	return n;
}

unsigned drain_feed_launches(struct drain *d, const struct tf_thread *thread, uint32_t index,
                             const struct drain_run *run, uint64_t limit)
{
	struct feed *f = d->feed;
	unsigned n = f->plain_hist && !thread->nested_ticks ? count_launches(d, f, run, limit) : 0;

	if (!n)
		return 0;
	steps_launches(d->steps, d->map, index, f->batch.records, f->batch.symbols, n);
	if (d->timeline)
		timeline_launches(d->timeline, index, f->batch.records, f->batch.works, n);
	drain_keep_all(d->map, &f->page, f->batch.records, n);
	return n;
}
