#include "shim/drain_feed.h"
#include "shim/hist.h"
#include "shim/slices.h"
#include "shim/steps.h"
#include "shim/timeline.h"
#include "shim/works.h"

#define KERNEL_HISTS 4096u /* kernels with a histogram of their own: bounds what they cost */
#define PAIR_MOST_NS 1e15  /* beyond it a pair is damaged */

static void trouble(struct drain *d, enum spy_trouble what)
{
	tf_header(d->map)->trouble[what]++;
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
	struct tf_slices *s = slices_upto(d->map, r->end);

	if (!s)
		return;
	uint64_t since = r->end > s->origin ? r->end - s->origin : 0;
	s->slice[slice_of(since, s->width)].calls[c]++;
	slices_spread(s, s->slice, sizeof(s->slice[0]),
	              offsetof(struct tf_slice, self_ticks) + c * sizeof(uint64_t), r->start,
	              r->end, ticks);
}

/* ---- launches and graphs ---- */

/* Counts a piece of work in its class; NULL when that found no place. */
static struct tf_work *feed_work(struct drain *d, const struct tf_record *r, enum tf_work_kind kind)
{
	struct tf_work key;

	work_key(&key, kind, r);
	struct tf_work *w = work_find(d->map, &key);
	if (!w) {
		trouble(d, SPY_TROUBLE_WORKS_FULL);
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

static struct tf_work *feed_launch(struct drain *d, const struct tf_record *r)
{
	struct tf_header *h = tf_header(d->map);
	uint32_t index = r->launch.kernel;
	struct tf_kernel *kernel = tf_entry(d->map, &h->kernels, index, sizeof(*kernel));

	if (!kernel || r->result || (r->flags & (TF_CAPTURED | TF_NO_ARGS)))
		return NULL;
	if (index < KERNEL_HISTS) {
		struct tf_hist *hist = hist_of(d, &kernel->hist);
		if (hist)
			hist_add(hist, r->end - r->start);
	}
	return feed_work(d, r, TF_WORK_KERNEL);
}

static struct tf_work *feed_graph(struct drain *d, const struct tf_record *r, uint8_t class)
{
	struct tf_header *h = tf_header(d->map);
	struct tf_graph *graph = tf_entry(d->map, &h->graphs, r->graph.graph, sizeof(*graph));

	if (!graph || r->result || !r->graph.handle || (r->flags & (TF_CAPTURED | TF_NO_ARGS)))
		return NULL;
	if (class == SPY_CLASS_GRAPH_LAUNCH) {
		graph->launches++;
		graph->sum_ticks += r->end - r->start;
		return feed_work(d, r, TF_WORK_GRAPH);
	}
	if (!(r->flags & TF_NESTED))
		graph->updates++;
	return NULL;
}

/* Of a call that gave work to the GPU: counts it in its class, which is returned. */
static struct tf_work *feed_gpu(struct drain *d, const struct tf_record *r, uint8_t class)
{
	switch (class) {
	case SPY_CLASS_LAUNCH:
		return feed_launch(d, r);
	case SPY_CLASS_GRAPH_LAUNCH:
	case SPY_CLASS_GRAPH:
		return feed_graph(d, r, class);
	case SPY_CLASS_COPY:
	case SPY_CLASS_SET:
		if (!r->result && !(r->flags & (TF_CAPTURED | TF_NO_ARGS)))
			return feed_work(d, r, work_kind(class));
		return NULL;
	default:
		return NULL;
	}
}

/* ---- kept records ---- */

/* The place of record `n` in a store, its page made if it may be; NULL when there is none. */
static struct tf_record *store_slot(struct drain *d, struct tf_store *s, uint64_t n)
{
	uint64_t records = s->page_records;

	if (!records || records > (1u << 24) || n / records >= TF_STORE_PAGES ||
	    n / records >= s->pages_max)
		return NULL;
	uint64_t *page = &s->pages[n / records];
	if (!*page)
		*page = d->map->alloc(d->map, records * sizeof(struct tf_record));
	return tf_at(d->map, *page + n % records * sizeof(struct tf_record),
	             sizeof(struct tf_record));
}

static void keep(struct drain *d, const struct tf_record *r)
{
	struct tf_header *h = tf_header(d->map);
	struct tf_store *all = h->store ? tf_at(d->map, h->store, sizeof(*all)) : NULL;
	struct tf_store *recent = tf_at(d->map, h->keep, sizeof(*recent));
	struct tf_record *slot = NULL;

	if (all && (slot = store_slot(d, all, all->written))) {
		*slot = *r;
		/* Release: the record is complete before it is counted. Pairs with the reporter's
		 * load. */
		__atomic_store_n(&all->written, all->written + 1, __ATOMIC_RELEASE);
		return;
	}
	if (!recent || !recent->page_records || !recent->pages_max ||
	    recent->page_records > (1u << 24) || recent->pages_max > TF_STORE_PAGES)
		return;
	slot = store_slot(d, recent, recent->written % (recent->page_records * recent->pages_max));
	if (!slot && recent->written) {
		/* No room for another page: go round over the pages there are. */
		uint64_t pages = 0;
		while (pages < recent->pages_max && pages < TF_STORE_PAGES && recent->pages[pages])
			pages++;
		recent->pages_max = pages;
		recent->written = 0;
		slot = store_slot(d, recent, 0);
	}
	if (!slot)
		return;
	*slot = *r;
	__atomic_store_n(&recent->written, recent->written + 1, __ATOMIC_RELEASE);
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

static void feed_sample(struct drain *d, const struct tf_record *r)
{
	double ns = (double)r->end;
	struct tf_work *w = r->result >= 0 && r->result < TF_PAIRS && ns < PAIR_MOST_NS
	                            ? class_of(d, r, r->thread)
	                            : NULL;

	if (!w)
		return;
	struct tf_pairs *pairs = &w->pairs[r->result];
	pairs->count++;
	pairs->sum_ns += ns;
	pairs->sum_squares += ns * ns;
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
	keep(d, r);
}

/* ---- one record ---- */

static void feed_call(struct drain *d, struct tf_thread *thread, uint32_t index,
                      const struct tf_record *r)
{
	struct tf_call *call = tf_entry(d->map, &tf_header(d->map)->calls, r->call, sizeof(*call));
	uint8_t class = call ? call->class : SPY_CLASS_COUNT;
	uint64_t ticks = r->end - r->start, self = ticks;

	if (r->call == TF_CALL_RANGE) {
		steps_range(d->map, index, r);
		keep(d, r);
		return;
	}
	if (class >= SPY_CLASS_COUNT || r->end < r->start)
		return;
	steps_call(d->steps, d->map, index, r, class);
	if (r->flags & TF_NESTED) {
		thread->nested_ticks += ticks;
	} else {
		struct tf_hist *hist = hist_of(d, &call->hist);
		if (hist)
			hist_add(hist, ticks);
		self -= thread->nested_ticks < ticks ? thread->nested_ticks : ticks;
		thread->nested_ticks = 0;
	}
	feed_slices(d, class, r, self);
	struct tf_work *work = feed_gpu(d, r, class);
	if (d->timeline)
		timeline_call(d->timeline, index, r, class, work);
	keep(d, r);
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
	keep(d, r);
}
