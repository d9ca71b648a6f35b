/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/drain/drain_feed.h"

#include <sys/mman.h>
#include "shim/core/drain/drain_inside.h"
#include "shim/core/drain/drain_sites.h"
#include "shim/core/timeline/timeline.h"

bool drain_feed_begin(struct drain *d)
{
	if (!d->feed) {
		void *p = mmap(NULL, sizeof(*d->feed), PROT_READ | PROT_WRITE,
		               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return false;
		d->feed = p;
		d->feed->plain = UINT64_MAX;
	}
	d->feed->slices = tf_at(d->map, tf_header(d->map)->slices, sizeof(*d->feed->slices));
	d->feed->page.room = 0;
	return true;
}

void drain_feed_end(struct drain *d)
{
	if (d->feed)
		munmap(d->feed, sizeof(*d->feed));
	d->feed = NULL;
}

struct tf_hist *feed_hist(struct drain *d, uint64_t *offset)
{
	if (!*offset)
		*offset = d->map->alloc(d->map, sizeof(struct tf_hist));
	return tf_at(d->map, *offset, sizeof(struct tf_hist));
}

void feed_slices_far(struct drain *d, uint32_t c, const struct tf_record *r, uint64_t ticks)
{
	struct slice_cursor *at = &d->feed->slice;
	struct tf_slices *s;

	s = slices_until(d->map, r->end);
	if (!s)
		return;
	slices_spread(s, s->slice, sizeof(s->slice[0]),
	              offsetof(struct tf_slice, self_ticks) + c * sizeof(uint64_t), r->start,
	              r->end, ticks);
	slice_move(s, at, r->end);
	if (at->width)
		s->slice[at->index].calls[c]++;
}

/* ---- work ---- */

static struct tf_work *feed_gpu(struct drain *d, const struct tf_record *r, uint8_t cls,
                                uint32_t bucket)
{
	struct tf_work *w = feed_work_of(d, r, cls, bucket);

	if (w && r->flags & TF_SAMPLED)
		samples_tried(d, w);
	return w;
}

/* ---- what is no call ---- */

void drain_feed_activity(struct drain *d, const struct tf_record *r)
{
	if (r->call != TF_CALL_ACTIVITY)
		return;
	if (d->timeline)
		timeline_activity(d->timeline, r);
	drain_keep(d->map, &d->feed->page, r);
}

static void feed_own(struct drain *d, uint32_t index, const struct tf_record *r)
{
	if (r->end < r->start)
		return;
	if (d->timeline)
		timeline_call(d->timeline, index, r, TIMELINE_OWN, NULL);
	steps_own(d->steps, index, r);
	drain_keep(d->map, &d->feed->page, r);
}

/* ---- one record ---- */

static void __attribute__((noinline))
feed_call(struct drain *d, struct tf_thread *thread, uint32_t index, const struct tf_record *r)
{
	struct feed_call *call = &d->feed->calls[r->call];

	if (r->call == TF_CALL_RANGE) {
		struct tf_record kept = *r;
		kept.result = (int16_t)(index < INT16_MAX ? index + 1 : 0);
		steps_range(d->map, index, r);
		drain_keep(d->map, &d->feed->page, &kept);
		return;
	}
	if (r->call == TF_CALL_OWN) {
		feed_own(d, index, r);
		return;
	}
	if (!call->call)
		call->call =
		        tf_entry(d->map, &tf_header(d->map)->calls, r->call, sizeof(*call->call));
	if (!call->call)
		return;
	uint8_t cls = call->call->cls;
	uint64_t ticks = r->end - r->start, self = ticks;
	uint32_t bucket = hist_bucket(ticks);
	if (cls >= SPY_CLASS_COUNT || r->end < r->start)
		return;
	steps_call(d->steps, d->map, index, r, cls);
	if (!tf_is_part(r) && !call->hist)
		call->hist = feed_hist(d, &call->call->hist);
	if (!tf_is_part(r) && call->hist)
		hist_add_to(call->hist, bucket);
	if (r->flags & TF_NESTED) {
		thread->nested_ticks += ticks;
	} else {
		self -= thread->nested_ticks < ticks ? thread->nested_ticks : ticks;
		thread->nested_ticks = 0;
	}
	feed_note_plain(d->feed, r, cls, call->hist);
	feed_slices(d, cls, r, self);
	struct tf_work *work = feed_gpu(d, r, cls, bucket);
	if (r->flags & TF_SITE)
		drain_site(d->map, r, cls, work);
	if (d->timeline)
		timeline_call(d->timeline, index, r, cls, work);
	drain_keep(d->map, &d->feed->page, r);
}

void drain_feed(struct drain *d, struct tf_thread *thread, uint32_t index,
                const struct tf_record *r)
{
	if (drain_is_call(r)) {
		feed_call(d, thread, index, r);
		return;
	}
	if (r->call == TF_CALL_SAMPLE)
		samples_feed(d, &d->feed->samples, r);
	else if (r->call == TF_CALL_FACTS)
		samples_facts(d, r);
	else
		return; /* activities stand in a ring of their own */
	drain_keep(d->map, &d->feed->page, r);
}
