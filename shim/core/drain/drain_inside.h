/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What feeding records keeps from one to the next, and what every call feeds: small enough to be
 * part of its callers. For drain_feed.c, drain_work.c and drain_plain.c.
 */
#ifndef SPY_DRAIN_INSIDE_H
#define SPY_DRAIN_INSIDE_H

#include "shim/core/drain/drain.h"
#include "shim/core/drain/drain_keep.h"
#include "shim/core/drain/drain_samples.h"
#include "shim/core/format/histogram.h"
#include "shim/core/steps/steps.h"
#include "shim/core/work/slices.h"

#define DRAIN_BATCH DRAIN_TWICE_MOST
#define CALLS       65536u
#define LAUNCHES    512u /* classes of launches of which it is remembered where they stand */
#define LAUNCH_KEY  3    /* words of a record that name a launch's class */

/* Where the figures of a call stand; NULL = not looked for yet, or not there. */
struct feed_call {
	struct tf_call *call;
	struct tf_hist *hist;
};

/* The same of a class of launches. */
struct feed_launch {
	uint64_t key[LAUNCH_KEY];
	struct tf_work *work; /* NULL = a free place */
	struct tf_hist *hist; /* NULL = its kernel has none */
	struct steps_symbols symbols;
};

/* Launches that go the short way together, copied from their ring. */
struct feed_batch {
	struct tf_record records[DRAIN_BATCH];
	const struct steps_symbols *symbols[DRAIN_BATCH];
	struct tf_work *works[DRAIN_BATCH];
};

/*
 * What the records before found, so that the next one need not look for it: most are like one of
 * the last. Offsets of the recording were checked when they were followed, and what they lead to
 * stays where it is.
 */
struct feed {
	struct tf_slices *slices; /* of the recording; looked for in each round */
	struct slice_cursor slice;
	struct drain_page page; /* looked for in each round */
	/* The call, flags and result of launches that go the short way: drain_plain.c; all ones =
	 * of none yet. */
	uint64_t plain;
	struct tf_hist *plain_hist;
	struct feed_launch *launch; /* the last one; NULL = none yet */
	struct feed_batch batch;
	struct feed_launch launches[LAUNCHES];
	struct drain_samples samples;
	struct feed_call calls[CALLS]; /* by call id; only what is used counts */
};

/* ---- drain_feed.c ---- */

/* A histogram of the recording, made if need be; NULL where there is no room. */
struct tf_hist *feed_hist(struct drain *d, uint64_t *offset);

/* The slow way of feed_slices(). */
void feed_slices_far(struct drain *d, uint32_t c, const struct tf_record *r, uint64_t ticks);

/* One call and its time of class c. */
static inline void feed_slices(struct drain *d, uint32_t c, const struct tf_record *r,
                               uint64_t ticks)
{
	const struct slice_cursor *at = &d->feed->slice;
	struct tf_slices *s = d->feed->slices;

	if (!s || !slice_holds(s, at, r->start, r->end)) {
		feed_slices_far(d, c, r, ticks);
		return;
	}
	struct tf_slice *slice = &s->slice[at->index];
	slice->calls[c]++;
	slice->self_ticks[c] += ticks;
}

/* ---- drain_work.c ---- */

/* The start of the first call that gave work: a thread's record may come behind another's that
 * began later. */
static inline void feed_first(struct drain *d, uint64_t start)
{
	struct tf_header *h = tf_header(d->map);

	if (!h->first_work || start < h->first_work)
		h->first_work = start;
}

/* Whether the class of a launch stands there. */
static inline bool feed_is_launch(const struct feed_launch *l, const struct tf_record *r)
{
	return l->work && l->key[0] == r->arg[0] && l->key[1] == r->arg[1] &&
	       l->key[2] == r->arg[2];
}

/* Where the class of a launch is remembered, or will be: most are like the one before. */
static inline struct feed_launch *feed_launch_place(struct feed *f, const struct tf_record *r)
{
	if (f->launch && feed_is_launch(f->launch, r))
		return f->launch;
	uint64_t h = r->arg[0] * 0x9e3779b97f4a7c15u ^ r->arg[1] * 0xc2b2ae3d27d4eb4fu ^
	             r->arg[2] * 0xff51afd7ed558ccdu;
	return f->launch = &f->launches[h >> 32 & (LAUNCHES - 1)];
}

/* What a call gave to the GPU counts in its class, which is returned. `bucket`: of the call's time
 * in histograms. */
struct tf_work *feed_work_of(struct drain *d, const struct tf_record *r, uint8_t cls,
                             uint32_t bucket);

/* ---- drain_plain.c ---- */

/* A record's call, flags and result. */
static inline uint64_t feed_kind(const struct tf_record *r)
{
	uint64_t kind;

	_Static_assert(offsetof(struct tf_record, stream) - offsetof(struct tf_record, call) == 8,
	               "one word");
	memcpy(&kind, &r->call, sizeof(kind));
	return kind & ~(0xffffull << 16); /* whichever its thread */
}

/* Launches like this one go the short way from now on. `hist`: of its call; NULL = it has none. */
void feed_note_plain(struct feed *f, const struct tf_record *r, uint8_t cls, struct tf_hist *hist);

#endif
