/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/drain/drain_feed.h"

#include <sys/mman.h>
#include "shim/core/drain/drain_keep.h"
#include "shim/core/drain/drain_samples.h"
#include "shim/core/drain/drain_sites.h"
#include "shim/core/format/histogram.h"
#include "shim/core/work/slices.h"
#include "shim/core/steps/steps.h"
#include "shim/core/timeline/timeline.h"
#include "shim/core/work/work_class.h"

#define KERNEL_HISTS 4096u /* kernels with a histogram of their own: bounds what they cost */

#define CALLS      65536u
#define LAUNCHES   512u /* classes of launches of which it is remembered where they stand */
#define LAUNCH_KEY 3    /* words of a record that name a launch's class */

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
	/* The call, thread, flags and result of launches that go the short way; all ones = of none
	 * yet. */
	uint64_t plain;
	struct tf_hist *plain_hist;
	struct feed_launch *launch; /* the last one; NULL = none yet */
	struct feed_launch launches[LAUNCHES];
	struct drain_samples samples;
	struct feed_call calls[CALLS]; /* by call id; only what is used counts */
};

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

static void count_anomaly(struct drain *d, enum spy_anomaly what)
{
	tf_header(d->map)->anomaly[what]++;
}

static struct tf_hist *hist_of(struct drain *d, uint64_t *offset)
{
	if (!*offset)
		*offset = d->map->alloc(d->map, sizeof(struct tf_hist));
	return tf_at(d->map, *offset, sizeof(struct tf_hist));
}

/* ---- time slices ---- */

static void __attribute__((noinline))
feed_slices_far(struct drain *d, uint32_t c, const struct tf_record *r, uint64_t ticks)
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

/* ---- launches and graphs ---- */

/* The start of the first call that gave work: a thread's record may come behind another's that
 * began later. */
static inline void note_first(struct drain *d, uint64_t start)
{
	struct tf_header *h = tf_header(d->map);

	if (!h->first_work || start < h->first_work)
		h->first_work = start;
}

/* Counts a piece of work in its class; NULL when that found no place. */
static struct tf_work *feed_work(struct drain *d, const struct tf_record *r, enum tf_work_kind kind)
{
	bool nothing = kind == TF_WORK_COPY && r->copy.direction == SPY_DIR_HTOH;
	struct tf_work key;

	if (!nothing)
		note_first(d, r->start);
	work_key(&key, kind, r);
	struct tf_work *w = work_find(d->map, &key);
	if (!w) {
		count_anomaly(d, SPY_ANOMALY_WORKS_FULL);
		return NULL;
	}
	if (kind == TF_WORK_KERNEL && !w->count) {
		struct tf_kernel *kernel =
		        tf_entry(d->map, &tf_header(d->map)->kernels, key.id, sizeof(*kernel));
		if (kernel)
			kernel->shapes++;
	}
	w->count++;
	w->ticks += r->end - r->start;
	if (kind == TF_WORK_COPY || kind == TF_WORK_SET)
		w->bytes += r->copy.bytes;
	return w;
}

static inline bool is_launch(const struct feed_launch *l, const struct tf_record *r)
{
	return l->work && l->key[0] == r->arg[0] && l->key[1] == r->arg[1] &&
	       l->key[2] == r->arg[2];
}

/* Where the class of a launch is remembered, or will be: most are like the one before. */
static inline struct feed_launch *launch_place(struct feed *f, const struct tf_record *r)
{
	if (f->launch && is_launch(f->launch, r))
		return f->launch;
	uint64_t h = r->arg[0] * 0x9e3779b97f4a7c15u ^ r->arg[1] * 0xc2b2ae3d27d4eb4fu ^
	             r->arg[2] * 0xff51afd7ed558ccdu;
	return f->launch = &f->launches[h >> 32 & (LAUNCHES - 1)];
}

/* One whose class stands at no place yet. */
static struct tf_work *__attribute__((noinline))
feed_new_launch(struct drain *d, const struct tf_record *r, uint32_t bucket,
                struct feed_launch *place)
{
	struct tf_header *h = tf_header(d->map);
	uint32_t index = r->launch.kernel;

	struct tf_kernel *kernel = tf_entry(d->map, &h->kernels, index, sizeof(*kernel));
	if (!kernel)
		return NULL;
	struct tf_hist *hist = index < KERNEL_HISTS ? hist_of(d, &kernel->hist) : NULL;
	if (hist)
		hist_add_to(hist, bucket);
	struct tf_work *work = feed_work(d, r, TF_WORK_KERNEL);
	if (work && (hist || index >= KERNEL_HISTS)) {
		memcpy(place->key, r->arg, sizeof(place->key));
		place->work = work;
		place->hist = hist;
	}
	return work;
}

/* Launches of what a graph holds, whatever its number. */
static void count_nodes(struct drain *d, const struct tf_record *r)
{
	struct tf_table *nodes = tf_at(d->map, tf_header(d->map)->graph_nodes, sizeof(*nodes));
	struct tf_graph_nodes *all =
	        nodes && r->graph.nodes ? tf_entry(d->map, nodes, r->graph.nodes - 1, sizeof(*all))
	                                : NULL;

	if (all && all->kind == TF_NODES_ALL)
		all->launches++;
}

/* One that gave work. `bucket`: of the call's time in histograms. */
static inline struct tf_work *feed_launch(struct drain *d, const struct tf_record *r,
                                          uint32_t bucket)
{
	struct feed_launch *place = launch_place(d->feed, r);
	if (!is_launch(place, r))
		return feed_new_launch(d, r, bucket, place);
	note_first(d, r->start);
	place->work->count++;
	place->work->ticks += r->end - r->start;
	if (place->hist)
		hist_add_to(place->hist, bucket);
	return place->work;
}

static void count_graph(struct tf_graph *g, const struct tf_record *r)
{
	if (g->nodes != r->graph.nodes)
		g->nodes |= TF_GRAPH_OTHER_NODES;
	if (!g->launches)
		g->content = r->graph.content;
	else if (g->content != r->graph.content)
		g->content = TF_GRAPH_SEVERAL;
	g->launches++;
	g->sum_ticks += r->end - r->start;
}

/* One that found no place in the table is of a class all the same if its content is known. */
static struct tf_work *feed_graph(struct drain *d, const struct tf_record *r, uint8_t cls)
{
	struct tf_header *h = tf_header(d->map);
	struct tf_graph *graph = tf_entry(d->map, &h->graphs, r->graph.graph, sizeof(*graph));

	if (r->result || !r->graph.handle || (r->flags & (TF_CAPTURED | TF_NO_ARGS)))
		return NULL;
	if (cls == SPY_CLASS_GRAPH_LAUNCH) {
		count_nodes(d, r);
		if (graph)
			count_graph(graph, r);
		return graph || r->graph.content ? feed_work(d, r, TF_WORK_GRAPH) : NULL;
	}
	if (graph && !tf_is_part(r))
		graph->updates++;
	return NULL;
}

/* Of a call that gave work to the GPU: counts it in its class, which is returned. */
static struct tf_work *feed_work_of(struct drain *d, const struct tf_record *r, uint8_t cls,
                                    uint32_t bucket)
{
	switch (cls) {
	case SPY_CLASS_LAUNCH:
		return r->result || (r->flags & (TF_CAPTURED | TF_NO_ARGS))
		               ? NULL
		               : feed_launch(d, r, bucket);
	case SPY_CLASS_GRAPH_LAUNCH:
	case SPY_CLASS_GRAPH:
		return feed_graph(d, r, cls);
	case SPY_CLASS_COPY:
	case SPY_CLASS_SET:
		if (!r->result && !(r->flags & (TF_CAPTURED | TF_NO_ARGS)))
			return feed_work(d, r, work_kind(cls));
		return NULL;
	default:
		return NULL;
	}
}

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

/* A record's call, thread, flags and result. */
static inline uint64_t kind_of_call(const struct tf_record *r)
{
	uint64_t kind;

	_Static_assert(offsetof(struct tf_record, stream) - offsetof(struct tf_record, call) == 8,
	               "one word");
	memcpy(&kind, &r->call, sizeof(kind));
	return kind;
}

/* Launches like this one go the short way from now on. */
static void note_plain(struct feed *f, const struct tf_record *r, uint8_t cls, struct tf_hist *hist)
{
	if (cls != SPY_CLASS_LAUNCH || r->result || !hist ||
	    r->flags & ~(TF_PTDS | TF_STALLED)) /* samples are counted */
		return;
	f->plain = kind_of_call(r);
	f->plain_hist = hist;
}

/* What feed_call() does with a launch that is like one before, with nothing nested in it. */
static inline void feed_plain(struct drain *d, uint32_t index, const struct tf_record *r)
{
	const uint64_t ticks = r->end - r->start;
	const uint32_t bucket = hist_bucket(ticks);

	steps_call(d->steps, d->map, index, r, SPY_CLASS_LAUNCH);
	hist_add_to(d->feed->plain_hist, bucket);
	feed_slices(d, SPY_CLASS_LAUNCH, r, ticks);
	struct tf_work *work = feed_launch(d, r, bucket);
	if (d->timeline)
		timeline_launch(d->timeline, index, r, work);
	drain_keep(d->map, &d->feed->page, r);
}

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
		call->hist = hist_of(d, &call->call->hist);
	if (!tf_is_part(r) && call->hist)
		hist_add_to(call->hist, bucket);
	if (r->flags & TF_NESTED) {
		thread->nested_ticks += ticks;
	} else {
		self -= thread->nested_ticks < ticks ? thread->nested_ticks : ticks;
		thread->nested_ticks = 0;
	}
	note_plain(d->feed, r, cls, call->hist);
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
	/* A record of all ones is like the launch that there was not yet. */
	if (kind_of_call(r) == d->feed->plain && d->feed->plain_hist && !thread->nested_ticks &&
	    r->end >= r->start) {
		feed_plain(d, index, r);
		return;
	}
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
