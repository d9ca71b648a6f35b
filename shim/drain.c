#include "shim/drain.h"
#include "shim/hist.h"
#include "shim/slices.h"
#include "shim/works.h"

#define KERNEL_HISTS 4096u /* kernels with a histogram of their own: bounds what they cost */
#define RINGS_MOST   64    /* rings a thread's chain may have: each is larger than the one before */

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

/* Counts a piece of work in its class. */
static void feed_work(struct drain *d, const struct tf_record *r, enum tf_work_kind kind)
{
	struct tf_work key;

	work_key(&key, kind, r);
	struct tf_work *w = work_find(d->map, &key);
	if (!w) {
		trouble(d, SPY_TROUBLE_WORKS_FULL);
		return;
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
}

static void feed_launch(struct drain *d, const struct tf_record *r)
{
	struct tf_header *h = tf_header(d->map);
	uint32_t index = r->launch.kernel;
	struct tf_kernel *kernel = tf_entry(d->map, &h->kernels, index, sizeof(*kernel));

	if (!kernel || r->result || (r->flags & (TF_CAPTURED | TF_NO_ARGS)))
		return;
	if (index < KERNEL_HISTS) {
		struct tf_hist *hist = hist_of(d, &kernel->hist);
		if (hist)
			hist_add(hist, r->end - r->start);
	}
	feed_work(d, r, TF_WORK_KERNEL);
}

static void feed_graph(struct drain *d, const struct tf_record *r, uint8_t class)
{
	struct tf_header *h = tf_header(d->map);
	struct tf_graph *graph = tf_entry(d->map, &h->graphs, r->graph.graph, sizeof(*graph));

	if (!graph || r->result || !r->graph.handle || (r->flags & (TF_CAPTURED | TF_NO_ARGS)))
		return;
	if (class == SPY_CLASS_GRAPH_LAUNCH) {
		graph->launches++;
		graph->sum_ticks += r->end - r->start;
		feed_work(d, r, TF_WORK_GRAPH);
	} else if (!(r->flags & TF_NESTED)) {
		graph->updates++;
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

/* ---- one record, one thread, all threads ---- */

static void feed(struct drain *d, struct tf_thread *thread, const struct tf_record *r)
{
	struct tf_header *h = tf_header(d->map);
	struct tf_call *call = tf_entry(d->map, &h->calls, r->call, sizeof(*call));
	uint8_t class = call ? call->class : SPY_CLASS_COUNT;
	uint64_t ticks = r->end - r->start;

	if (class >= SPY_CLASS_COUNT || r->end < r->start)
		return;
	if (r->flags & TF_NESTED) {
		thread->nested_ticks += ticks;
	} else {
		struct tf_hist *hist = hist_of(d, &call->hist);
		if (hist)
			hist_add(hist, ticks);
	}
	uint64_t self = ticks;
	if (!(r->flags & TF_NESTED)) {
		self -= thread->nested_ticks < ticks ? thread->nested_ticks : ticks;
		thread->nested_ticks = 0;
	}
	feed_slices(d, class, r, self);
	if (class == SPY_CLASS_LAUNCH)
		feed_launch(d, r);
	else if (class == SPY_CLASS_GRAPH_LAUNCH || class == SPY_CLASS_GRAPH)
		feed_graph(d, r, class);
	else if ((class == SPY_CLASS_COPY || class == SPY_CLASS_SET) && !r->result &&
	         !(r->flags & (TF_CAPTURED | TF_NO_ARGS)))
		feed_work(d, r, work_kind(class));
	keep(d, r);
}

static struct tf_ring *ring_at(struct drain *d, uint64_t offset, uint64_t *records)
{
	struct tf_ring *ring = tf_at(d->map, offset, sizeof(*ring));
	uint64_t capacity = *records = ring ? ring->capacity : 0;

	if (!capacity || capacity & (capacity - 1) || capacity > (1u << 26) ||
	    !tf_at(d->map, offset, sizeof(*ring) + capacity * sizeof(struct tf_record)))
		return NULL;
	return ring;
}

uint64_t drain_thread(struct drain *d, uint32_t index, uint64_t most)
{
	struct tf_header *h = tf_header(d->map);
	const uint64_t *offset = tf_entry(d->map, &h->threads, index, sizeof(*offset));
	struct tf_thread *thread = offset ? tf_at(d->map, *offset, sizeof(*thread)) : NULL;
	uint64_t taken = 0;

	if (!thread)
		return 0;
	if (!thread->ring_drain)
		thread->ring_drain = thread->ring_first;
	for (int rings = 0; rings < RINGS_MOST; rings++) {
		uint64_t at = thread->ring_drain, capacity;
		struct tf_ring *ring = ring_at(d, at, &capacity);
		if (!ring)
			break;
		uint64_t tail = ring->tail;
		/* Acquire: first the successor, then the head, so that a head seen with a successor
		 * is final. */
		uint64_t next = __atomic_load_n(&ring->next, __ATOMIC_ACQUIRE);
		/* Acquire: records below the head are complete. Pairs with the release in
		 * ring_push(). */
		uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
		if (head - tail > capacity)
			break;
		while (tail != head && taken < most) {
			struct tf_record r = ring->slots[tail & (capacity - 1)];
			feed(d, thread, &r);
			tail++;
			taken++;
			/* Release: the record was read before its slot is given back. Pairs with
			 * ring_full(). */
			__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
		}
		if (tail != head || !next || next == at)
			break;
		thread->ring_drain = next;
	}
	return taken;
}

uint64_t drain_all(struct drain *d)
{
	struct tf_header *h = tf_header(d->map);
	uint32_t threads = tf_count(&h->threads);
	uint64_t taken = 0;

	for (uint32_t i = 0; i < threads; i++)
		taken += drain_thread(d, i, UINT64_MAX);
	return taken;
}
