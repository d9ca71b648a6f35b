/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short way of launches that succeeded and are of a class met lately, which most records are:
 * several of a thread at a time, each figure's turn after the other, so that what a figure needs is
 * looked for once. What drain_feed() does with them one by one.
 */
#include "shim/core/drain/drain_feed.h"

#include "shim/core/drain/drain_inside.h"
#include "shim/core/timeline/timeline.h"

#define AHEAD 8 /* records fetched ahead: they come from another processor's cache */

void feed_note_plain(struct feed *f, const struct tf_record *r, uint8_t cls, struct tf_hist *hist)
{
	if (cls != SPY_CLASS_LAUNCH || r->result || !hist ||
	    r->flags & ~(TF_PTDS | TF_STALLED)) /* samples are counted */
		return;
	f->plain = feed_kind(r);
	f->plain_hist = hist;
}

/* The record's own figures. False where it is none of those that go the short way: nothing was
 * counted then. */
static inline bool count_one(struct drain *d, struct feed *f, unsigned n)
{
	const struct tf_record *r = &f->batch.records[n];

	if (feed_kind(r) != f->plain || r->end < r->start)
		return false;
	struct feed_launch *place = feed_launch_place(f, r);
	if (!feed_is_launch(place, r))
		return false;
	const uint64_t ticks = r->end - r->start;
	const uint32_t bucket = hist_bucket(ticks);
	hist_add_to(f->plain_hist, bucket);
	feed_slices(d, SPY_CLASS_LAUNCH, r, ticks);
	feed_first(d, r->start);
	place->work->count++;
	place->work->ticks += ticks;
	if (place->hist)
		hist_add_to(place->hist, bucket);
	f->batch.works[n] = place->work;
	f->batch.symbols[n] = &place->symbols;
	return true;
}

unsigned drain_feed_launches(struct drain *d, const struct tf_thread *thread, uint32_t index,
                             const struct drain_run *run, uint64_t limit)
{
	struct feed *f = d->feed;
	unsigned n = 0, most = run->count < DRAIN_BATCH ? (unsigned)run->count : DRAIN_BATCH;

	if (!f->plain_hist || thread->nested_ticks)
		return 0;
	for (; n < most; n++) {
		const struct tf_record *from = &run->slots[(run->first + n) & run->mask];
		/* The copy is checked: the ring of a hostile recording may change meanwhile. */
		f->batch.records[n] = *from;
		if (run->count - n > AHEAD)
			__builtin_prefetch(&run->slots[(run->first + n + AHEAD) & run->mask]);
		if ((n && f->batch.records[n].end > limit) || !count_one(d, f, n))
			break;
	}
	if (!n)
		return 0;
	steps_launches(d->steps, d->map, index, f->batch.records, f->batch.symbols, n);
	if (d->timeline)
		timeline_launches(d->timeline, index, f->batch.records, f->batch.works, n);
	drain_keep_all(d->map, &f->page, f->batch.records, n);
	return n;
}
