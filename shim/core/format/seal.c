/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/format/seal.h"

#include <sys/mman.h>

#define UNIT 64u /* bytes: everything in a recording begins at a multiple of it */

/* ---- digests ---- */

#define LANES 4
#define PRIME 0x9e3779b97f4a7c15u
#define STIR  0xc2b2ae3d27d4eb4fu

/* Four chains, so that one multiplication need not wait for another. A chain tells words apart by
 * their place. */
struct digest {
	uint64_t lane[LANES];
};

static inline uint64_t digest_word(uint64_t lane, uint64_t word)
{
	uint64_t x = (lane ^ word) * PRIME;

	return x << 29 | x >> 35;
}

static inline void digest_words(struct digest *d, const uint64_t *words, uint64_t count)
{
	uint64_t a = d->lane[0], b = d->lane[1], c = d->lane[2], e = d->lane[3];

	for (; count >= LANES; count -= LANES, words += LANES) {
		a = digest_word(a, words[0]);
		b = digest_word(b, words[1]);
		c = digest_word(c, words[2]);
		e = digest_word(e, words[3]);
	}
	*d = (struct digest){{a, b, c, e}};
	for (unsigned k = 0; k < count; k++)
		d->lane[k % LANES] = digest_word(d->lane[k % LANES], words[k]);
}

static struct digest digest_begin(uint64_t bytes)
{
	return (struct digest){{bytes, bytes + 1, bytes + 2, bytes + 3}};
}

static uint64_t digest_end(const struct digest *d)
{
	uint64_t sum = 0;

	for (unsigned k = 0; k < LANES; k++) {
		sum = (sum ^ d->lane[k]) * STIR;
		sum ^= sum >> 31;
	}
	return sum;
}

uint64_t seal_bytes(const void *from, uint64_t bytes)
{
	struct digest d = digest_begin(bytes);

	digest_words(&d, from, bytes / 8);
	return digest_end(&d);
}

/* ---- kept records ---- */

/* The bytes of a store's page, 0 = the store makes no sense. */
static uint64_t page_bytes(const struct tf_store *s)
{
	return s->page_records <= 1u << 24 && s->pages_max <= TF_STORE_PAGES
	               ? s->page_records * sizeof(struct tf_record)
	               : 0;
}

/* The page that holds the record stored last; `*full`: it has no room for another. */
static uint64_t last_page(const struct tf_store *s, bool *full)
{
	/* Each read once: a recording that is cut while it is written becomes zeros. */
	const uint64_t written = __atomic_load_n(&s->written, __ATOMIC_RELAXED),
	               records = __atomic_load_n(&s->page_records, __ATOMIC_RELAXED),
	               pages = __atomic_load_n(&s->pages_max, __ATOMIC_RELAXED);

	*full = written && records && pages && pages <= TF_STORE_PAGES && written % records == 0;
	return written && records && pages ? (written - 1) % (records * pages) / records : 0;
}

static void digest_page(const struct tf_map *map, struct tf_store *s, uint64_t page)
{
	const void *p = tf_at(map, s->pages[page], page_bytes(s));

	if (p)
		s->digests[page] = seal_bytes(p, page_bytes(s));
}

void seal_full_page(const struct tf_map *map, struct tf_store *s)
{
	bool full;
	uint64_t page = last_page(s, &full);

	if (full && page_bytes(s))
		digest_page(map, s, page);
}

/* ---- what is left out ---- */

/* A bit for each unit of a recording that is not digested as it stands. */
struct left_out {
	uint64_t *bits;
	uint64_t units;
	uint64_t bytes; /* that were left out so far */
	bool twice;     /* these are more than there are: something is led to again and again */
};

static bool left_out_begin(struct left_out *l, uint64_t bytes)
{
	l->bytes = 0;
	l->twice = false;
	l->units = (bytes + UNIT - 1) / UNIT;
	l->bits = mmap(NULL, l->units / 8 + 8, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return l->bits != MAP_FAILED;
}

static void left_out_end(struct left_out *l)
{
	munmap(l->bits, l->units / 8 + 8);
}

/* `bytes` bytes at `offset`, which lie inside the map. */
static void leave_out(struct left_out *l, uint64_t offset, uint64_t bytes)
{
	uint64_t end = (offset + bytes + UNIT - 1) / UNIT;

	l->twice |= bytes > l->units * UNIT - l->bytes;
	if (l->twice)
		return;
	l->bytes += bytes;
	for (uint64_t i = offset / UNIT; i < end && i < l->units; i++)
		if (i % 64 == 0 && end - i >= 64) {
			l->bits[i / 64] = ~0ull;
			i += 63;
		} else {
			l->bits[i / 64] |= 1ull << i % 64;
		}
}

/* Records that the drain has not taken, and where the ring's ends are. */
static void digest_ring(struct digest *d, const struct tf_ring *r)
{
	uint64_t ends[] = {r->capacity, r->next, r->head, r->tail};

	digest_words(d, ends, 4);
	for (uint64_t i = r->tail; i != r->head; i++)
		digest_words(d, (const uint64_t *)&r->slots[i & (r->capacity - 1)],
		             sizeof(struct tf_record) / 8);
}

/* A chain of rings; false where it leads out of the map. `digest`: also its contents. */
static bool do_rings(struct digest *d, const struct tf_map *map, struct left_out *l, uint64_t at,
                     bool digest)
{
	for (unsigned n = 0; at; n++) {
		const struct tf_ring *r = tf_at(map, at, sizeof(*r));
		uint64_t capacity = r ? r->capacity : 0;
		if (!capacity || capacity & (capacity - 1) || capacity > 1u << 26 ||
		    n == TF_RINGS_MOST || r->head - r->tail > capacity ||
		    !tf_at(map, at, sizeof(*r) + capacity * sizeof(struct tf_record)))
			return false;
		leave_out(l, at, sizeof(*r) + capacity * sizeof(struct tf_record));
		if (l->twice)
			return false;
		if (digest)
			digest_ring(d, r);
		at = r->next;
	}
	return true;
}

static bool do_thread(struct digest *d, const struct tf_map *map, struct left_out *l,
                      uint64_t offset)
{
	const struct tf_header *h = tf_header(map);
	const struct tf_thread *th = tf_at(map, offset, h->thread_bytes);
	const uint64_t *line = (const uint64_t *)th;

	if (!th || !do_rings(d, map, l, th->ring_first, !th->unsealed))
		return false;
	/* `in_call`, `depth` and `in_start` are the first two words. */
	leave_out(l, offset, th->unsealed ? h->thread_bytes : UNIT);
	if (!th->unsealed) {
		digest_words(d, line + 2, UNIT / 8 - 2);
		return true;
	}
	for (unsigned i = 0; i < TF_KERNEL_DIRS && !l->twice; i++) {
		uint64_t page = (uint64_t)th->kernel_pages[i] * 64,
		         bytes = TF_KERNEL_PAGE * sizeof(struct tf_kernel_stat);
		if (page && !tf_at(map, page, bytes))
			return false;
		if (page)
			leave_out(l, page, bytes);
	}
	return true;
}

static bool do_threads(struct digest *d, const struct tf_map *map, struct left_out *l)
{
	const struct tf_table *threads = &tf_header(map)->threads;

	for (uint32_t i = 0; i < tf_count(threads); i++) {
		const uint64_t *at = tf_entry(map, threads, i, sizeof(*at));
		if (!at || !do_thread(d, map, l, *at) || l->twice)
			return false;
	}
	return true;
}

/* The pages have digests of their own in the store's directory. */
static bool do_store(const struct tf_map *map, struct left_out *l, uint64_t offset)
{
	const struct tf_store *s = tf_at(map, offset, sizeof(*s));

	if (!offset)
		return true;
	for (uint64_t i = 0; s && i < TF_STORE_PAGES; i++) {
		if (!s->pages[i])
			continue;
		if (!page_bytes(s) || !tf_at(map, s->pages[i], page_bytes(s)))
			return false;
		leave_out(l, s->pages[i], page_bytes(s));
	}
	return s && !l->twice;
}

/* ---- the digest of it all ---- */

static void digest_units(struct digest *d, const struct tf_map *map, const struct left_out *l)
{
	const uint64_t *words = (const uint64_t *)map->base;

	for (uint64_t i = 0; i < l->units; i++) {
		if (i % 64 == 0 && !l->bits[i / 64] && l->units - i >= 64) {
			digest_words(d, words + i * (UNIT / 8), 64 * (UNIT / 8));
			i += 63;
		} else if (!(l->bits[i / 64] >> i % 64 & 1)) {
			digest_words(d, words + i * (UNIT / 8), UNIT / 8);
		}
	}
}

/* False: its tables lead out of the map, or there is no memory. */
static bool digest_all(const struct tf_map *map, uint64_t *digest)
{
	const struct tf_header *h = tf_header(map);
	struct digest d = digest_begin(h->alloc_end);
	struct left_out l;

	if (h->alloc_end < sizeof(*h) || h->alloc_end > map->size || h->alloc_end % UNIT ||
	    h->thread_bytes < sizeof(struct tf_thread) || !left_out_begin(&l, h->alloc_end))
		return false;
	leave_out(&l, offsetof(struct tf_header, seal), sizeof(h->seal));
	bool whole = do_threads(&d, map, &l) && do_rings(&d, map, &l, h->activity_ring, true) &&
	             do_store(map, &l, h->keep) && do_store(map, &l, h->store);
	if (whole)
		digest_units(&d, map, &l);
	left_out_end(&l);
	*digest = digest_end(&d);
	return whole;
}

/* ---- making it ---- */

static void mark_threads(const struct tf_map *map, const struct tf_thread *self)
{
	struct tf_header *h = tf_header(map);

	for (uint32_t i = 0; i < tf_count(&h->threads); i++) {
		const uint64_t *at = tf_entry(map, &h->threads, i, sizeof(*at));
		struct tf_thread *th = at ? tf_at(map, *at, h->thread_bytes) : NULL;
		/* Acquire: of one that is in no call, all of its last one is there. */
		if (th)
			th->unsealed =
			        th != self && __atomic_load_n(&th->in_call, __ATOMIC_ACQUIRE) != 0;
	}
}

/* Full pages have theirs. */
static void digest_last_page(const struct tf_map *map, uint64_t offset)
{
	struct tf_store *s = offset ? tf_at(map, offset, sizeof(*s)) : NULL;
	bool full;

	if (s && s->written && s->pages_max && page_bytes(s))
		digest_page(map, s, last_page(s, &full));
}

void seal_begin(const struct tf_map *map)
{
	/* Sequentially consistent: who records from here on sees it, and breaks it. */
	__atomic_store_n(&tf_header(map)->seal.state, TF_SEAL_MAKING, __ATOMIC_SEQ_CST);
}

bool seal_make(const struct tf_map *map, const struct tf_thread *self)
{
	struct tf_header *h = tf_header(map);
	uint64_t expected = TF_SEAL_MAKING;

	mark_threads(map, self);
	digest_last_page(map, h->keep);
	digest_last_page(map, h->store);
	if (!digest_all(map, &h->seal.digest))
		return false;
	return __atomic_compare_exchange_n(&h->seal.state, &expected, TF_SEAL_WHOLE, false,
	                                   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static void digest_pages(const struct tf_map *map, uint64_t offset)
{
	struct tf_store *s = offset ? tf_at(map, offset, sizeof(*s)) : NULL;

	for (uint64_t i = 0; s && page_bytes(s) && i < TF_STORE_PAGES; i++)
		if (s->pages[i])
			digest_page(map, s, i);
}

bool seal_copy(const struct tf_map *copy)
{
	struct tf_header *h = tf_header(copy);

	h->seal.state = TF_SEAL_BROKEN;
	for (uint32_t i = 0; i < tf_count(&h->threads); i++) {
		const uint64_t *at = tf_entry(copy, &h->threads, i, sizeof(*at));
		struct tf_thread *th = at ? tf_at(copy, *at, h->thread_bytes) : NULL;
		if (th)
			th->unsealed = 0;
	}
	digest_pages(copy, h->keep);
	digest_pages(copy, h->store);
	if (!digest_all(copy, &h->seal.digest))
		return false;
	h->seal.state = TF_SEAL_WHOLE;
	return true;
}

void seal_break(const struct tf_map *map)
{
	__atomic_store_n(&tf_header(map)->seal.state, TF_SEAL_BROKEN, __ATOMIC_SEQ_CST);
}

/* ---- reading it ---- */

static bool pages_hold(const struct tf_map *map, uint64_t offset)
{
	const struct tf_store *s = offset ? tf_at(map, offset, sizeof(*s)) : NULL;

	for (uint64_t i = 0; s && i < TF_STORE_PAGES; i++)
		if (s->pages[i] && seal_bytes(tf_at(map, s->pages[i], page_bytes(s)),
		                              page_bytes(s)) != s->digests[i])
			return false;
	return true;
}

enum seal_finding seal_check(const struct tf_map *map)
{
	const struct tf_header *h = tf_header(map);
	uint64_t digest;

	if (map->size < sizeof(*h))
		return SEAL_DAMAGED;
	switch (h->seal.state) {
	case 0:
		return h->state == TF_STATE_OPEN && !h->closed ? SEAL_NONE : SEAL_DAMAGED;
	case TF_SEAL_MAKING:
	case TF_SEAL_BROKEN:
		return SEAL_NONE;
	case TF_SEAL_WHOLE:
		return digest_all(map, &digest) && digest == h->seal.digest &&
		                       pages_hold(map, h->keep) && pages_hold(map, h->store)
		               ? SEAL_HOLDS
		               : SEAL_DAMAGED;
	default:
		return SEAL_DAMAGED;
	}
}
