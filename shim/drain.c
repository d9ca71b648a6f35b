#include "shim/drain.h"
#include "shim/hist.h"

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

static void slice_add(struct tf_slice *to, const struct tf_slice *from)
{
	for (int c = 0; c < SPY_CLASS_COUNT; c++) {
		to->calls[c] += from->calls[c];
		to->self_ticks[c] += from->self_ticks[c];
	}
}

static void slices_halve(struct tf_slices *s, uint64_t width)
{
	for (uint32_t i = 0; i < TF_SLICES / 2; i++) {
		struct tf_slice both = s->slice[2 * i];
		slice_add(&both, &s->slice[2 * i + 1]);
		s->slice[i] = both;
	}
	memset(&s->slice[TF_SLICES / 2], 0, sizeof(s->slice[0]) * (TF_SLICES / 2));
	s->width = width;
	s->used = (s->used + 1) / 2;
}

/* The slice of a time; a writer's widths are powers of two, which spares a division a record. */
static inline uint64_t slice_of(uint64_t ticks, uint64_t width)
{
	return width & (width - 1) ? ticks / width : ticks >> __builtin_ctzll(width);
}

/* Spreads `ticks` of class c evenly over [start, end). What lies before the origin falls into the
 * first slice. */
static void slices_feed(struct tf_slices *s, uint32_t c, uint64_t start, uint64_t end,
                        uint64_t ticks)
{
	uint64_t origin = s->origin, width = s->width;

	if (!width)
		return;
	start = start > origin ? start - origin : 0;
	end = end > origin ? end - origin : 0;
	while (slice_of(end, width) >= TF_SLICES) {
		if (width > UINT64_MAX / 4 / TF_SLICES)
			return;
		slices_halve(s, width *= 2);
	}
	uint64_t first = slice_of(start, width), last = slice_of(end, width);
	if (last + 1 > s->used)
		s->used = last + 1;
	s->slice[last].calls[c]++;
	if (first >= last) {
		s->slice[last].self_ticks[c] += ticks;
		return;
	}
	uint64_t given = 0;
	for (uint64_t i = first; i < last; i++) {
		uint64_t until = (i + 1) * width;
		uint64_t upto =
		        (uint64_t)((double)ticks * (double)(until - start) / (double)(end - start));
		s->slice[i].self_ticks[c] += upto > given ? upto - given : 0;
		given = upto > given ? upto : given;
	}
	s->slice[last].self_ticks[c] += ticks > given ? ticks - given : 0;
}

/* ---- launches and graphs ---- */

static uint32_t shape_hash(const struct tf_shape *key)
{
	uint64_t h = 0x9e3779b97f4a7c15u;
	const uint64_t words[3] = {
	        (uint64_t)key->kernel << 32 | key->grid_x,
	        (uint64_t)key->grid_y << 48 | (uint64_t)key->grid_z << 32 |
	                (uint64_t)key->block_x << 16 | key->block_y,
	        (uint64_t)key->block_z << 56 | (uint64_t)key->cluster_x << 48 |
	                (uint64_t)key->cluster_y << 40 | (uint64_t)key->cluster_z << 32 |
	                key->shared_bytes,
	};
	for (int i = 0; i < 3; i++) {
		h ^= words[i];
		h *= 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

static bool shape_same(const struct tf_shape *a, const struct tf_shape *b)
{
	return !memcmp(a, b, offsetof(struct tf_shape, launches));
}

static void feed_shape(struct drain *d, const struct tf_record *r, struct tf_kernel *kernel)
{
	struct tf_shape *shapes =
	        tf_at(d->map, tf_header(d->map)->shapes, TF_SHAPES * sizeof(*shapes));
	struct tf_shape key = {
	        .kernel = r->launch.kernel,
	        .grid_x = r->launch.grid_x,
	        .grid_y = r->launch.grid_y,
	        .grid_z = r->launch.grid_z,
	        .block_x = r->launch.block_x,
	        .block_y = r->launch.block_y,
	        .block_z = r->launch.block_z,
	        .cluster_x = r->launch.cluster_x,
	        .cluster_y = r->launch.cluster_y,
	        .cluster_z = r->launch.cluster_z,
	        .shared_bytes = r->launch.shared_bytes,
	};
	if (!shapes)
		return;
	uint32_t at = shape_hash(&key) % TF_SHAPES;
	for (uint32_t probe = 0; probe < 64; probe++, at = (at + 1) % TF_SHAPES) {
		struct tf_shape *s = &shapes[at];
		if (!s->launches) {
			*s = key;
			kernel->shapes++;
		} else if (!shape_same(s, &key)) {
			continue;
		}
		s->launches++;
		s->sum_ticks += r->end - r->start;
		return;
	}
	trouble(d, SPY_TROUBLE_SHAPES_FULL);
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
	feed_shape(d, r, kernel);
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
	struct tf_slices *slices = tf_at(d->map, h->slices, sizeof(*slices));
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
	if (slices) {
		uint64_t self = ticks;
		if (!(r->flags & TF_NESTED)) {
			self -= thread->nested_ticks < ticks ? thread->nested_ticks : ticks;
			thread->nested_ticks = 0;
		}
		slices_feed(slices, class, r->start, r->end, self);
	}
	if (class == SPY_CLASS_LAUNCH)
		feed_launch(d, r);
	else if (class == SPY_CLASS_GRAPH_LAUNCH || class == SPY_CLASS_GRAPH)
		feed_graph(d, r, class);
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
