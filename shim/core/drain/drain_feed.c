/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/drain/drain_feed.h"

#include <sys/mman.h>
#include "shim/core/drain/drain_keep.h"
#include "shim/core/drain/drain_sites.h"
#include "shim/core/gpu_time/estimate_pinned.h"
#include "shim/core/format/histogram.h"
#include "shim/core/work/slices.h"
#include "shim/core/steps/steps.h"
#include "shim/core/timeline/timeline.h"
#include "shim/core/work/work_class.h"

#define KERNEL_HISTS 4096u /* kernels with a histogram of their own: bounds what they cost */
#define PAIR_MOST_NS 1e15  /* beyond it a pair is damaged */

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
	struct feed_launch launches[LAUNCHES];
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

/* One call and its time of class c. */
static void feed_slices(struct drain *d, uint32_t c, const struct tf_record *r, uint64_t ticks)
{
	struct slice_cursor *at = &d->feed->slice;
	struct tf_slices *s = d->feed->slices;

	if (s && slice_holds(s, at, r->start, r->end)) {
		s->slice[at->index].calls[c]++;
		s->slice[at->index].self_ticks[c] += ticks;
		return;
	}
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

/* ---- launches and graphs ---- */

/* Counts a piece of work in its class; NULL when that found no place. */
static struct tf_work *feed_work(struct drain *d, const struct tf_record *r, enum tf_work_kind kind)
{
	struct tf_header *h = tf_header(d->map);
	bool nothing = kind == TF_WORK_COPY && r->copy.direction == SPY_DIR_HTOH;
	struct tf_work key;

	if (!nothing && (!h->first_work || r->start < h->first_work))
		h->first_work = r->start;
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

static struct feed_launch *launch_place(struct feed *f, const struct tf_record *r)
{
	uint64_t h =
	        (r->arg[0] ^ r->arg[1] * 0x9e3779b97f4a7c15u ^ r->arg[2] * 0xc2b2ae3d27d4eb4fu) *
	        0xff51afd7ed558ccdu;

	return &f->launches[h >> 32 & (LAUNCHES - 1)];
}

static bool is_launch(const struct feed_launch *l, const struct tf_record *r)
{
	return l->work && l->key[0] == r->arg[0] && l->key[1] == r->arg[1] &&
	       l->key[2] == r->arg[2];
}

/* `bucket`: of the call's time in histograms. */
static struct tf_work *feed_launch(struct drain *d, const struct tf_record *r, uint32_t bucket)
{
	struct tf_header *h = tf_header(d->map);
	struct feed_launch *place = launch_place(d->feed, r);
	uint32_t index = r->launch.kernel;

	if (r->result || (r->flags & (TF_CAPTURED | TF_NO_ARGS)))
		return NULL;
	if (is_launch(place, r)) {
		place->work->count++;
		place->work->ticks += r->end - r->start;
		if (place->hist)
			hist_add_to(place->hist, bucket);
		return place->work;
	}
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

static void count_graph(struct tf_graph *g, const struct tf_record *r)
{
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
		if (graph)
			count_graph(graph, r);
		return graph || r->graph.content ? feed_work(d, r, TF_WORK_GRAPH) : NULL;
	}
	if (graph && !tf_is_part(r))
		graph->updates++;
	return NULL;
}

/* Of a call that gave work to the GPU: counts it in its class, which is returned. */
static struct tf_work *feed_gpu(struct drain *d, const struct tf_record *r, uint8_t cls,
                                uint32_t bucket)
{
	switch (cls) {
	case SPY_CLASS_LAUNCH:
		return feed_launch(d, r, bucket);
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

/* ---- what is no call ---- */

/* The class of a pseudo record's work; NULL where the record is damaged. */
static struct tf_work *class_of(struct drain *d, const struct tf_record *r, unsigned kind)
{
	struct tf_work key;

	if (kind == TF_WORK_NONE || kind >= TF_WORK_KINDS)
		return NULL;
	work_key(&key, (enum tf_work_kind)kind, r);
	return work_find(d->map, &key);
}

static void add_pair(struct tf_pairs *p, double ns)
{
	uint32_t least = ns < (double)UINT32_MAX ? (uint32_t)ns : UINT32_MAX;

	if (p->count == UINT32_MAX)
		return;
	if (!p->count || least < p->least_ns)
		p->least_ns = least;
	p->count++;
	p->sum_ns += ns;
	p->sum_squares += ns * ns;
}

static void feed_sample(struct drain *d, const struct tf_record *r)
{
	double ns = (double)r->end;
	struct tf_work *w = r->result >= 0 && r->result < TF_PAIRS && ns < PAIR_MOST_NS
	                            ? class_of(d, r, r->thread)
	                            : NULL;

	if (!w)
		return;
	add_pair(&w->pairs[r->result], estimate_pair_ns(w, r->copy.bytes, ns));
	if (d->timeline)
		timeline_sample(d->timeline, w);
}

static void feed_facts(struct drain *d, const struct tf_record *r)
{
	struct tf_work *w = class_of(d, r, TF_WORK_KERNEL);

	if (!w)
		return;
	w->registers = (uint16_t)r->start;
	w->blocks_per_sm = (uint16_t)(r->start >> 16);
	w->warps_per_sm = (uint16_t)(r->start >> 32);
	w->static_shared = (uint16_t)(r->start >> 48);
}

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
	drain_keep(d->map, &d->feed->page, r);
}

/* ---- one record ---- */

static void feed_call(struct drain *d, struct tf_thread *thread, uint32_t index,
                      const struct tf_record *r)
{
	struct feed_call *call = &d->feed->calls[r->call];

	if (r->call == TF_CALL_RANGE) {
		steps_range(d->map, index, r);
		drain_keep(d->map, &d->feed->page, r);
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
		feed_sample(d, r);
	else if (r->call == TF_CALL_FACTS)
		feed_facts(d, r);
	else
		return; /* activities stand in a ring of their own */
	drain_keep(d->map, &d->feed->page, r);
}
