/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records that are kept: all of them in pages one after the other, or the last ones in pages
 * that are gone round over. For the drain.
 */
#ifndef SPY_DRAIN_KEEP_H
#define SPY_DRAIN_KEEP_H

#include "shim/core/format/trace_map.h"

#define DRAIN_KEEP_AHEAD 8 /* slots fetched ahead, in the page or behind it */

/* The page being filled. */
struct drain_page {
	struct tf_store *store;
	struct tf_record *slot;
	uint64_t room; /* records, from `slot` on */
};

static inline void drain_put(struct tf_store *s, struct tf_record *slot, const struct tf_record *r)
{
	*slot = *r;
	/* Release: the record is complete before it is counted. Pairs with the reporter's load. */
	__atomic_store_n(&s->written, s->written + 1, __ATOMIC_RELEASE);
}

/* The page is full, or there is none. */
void drain_keep_elsewhere(struct tf_map *map, struct drain_page *page, const struct tf_record *r);

static inline void drain_keep(struct tf_map *map, struct drain_page *page,
                              const struct tf_record *r)
{
	if (!page->room) {
		drain_keep_elsewhere(map, page, r);
		return;
	}
	page->room--;
	/* It goes round over more memory than caches hold. */
	__builtin_prefetch(page->slot + DRAIN_KEEP_AHEAD, 1);
	drain_put(page->store, page->slot++, r);
}

/* Fetches the place of the record that is kept `n` records later. */
static inline void drain_keep_soon(const struct drain_page *page, unsigned n)
{
	if (n < page->room)
		__builtin_prefetch(page->slot + n, 1);
}

/* Several. */
static inline void drain_keep_all(struct tf_map *map, struct drain_page *page,
                                  const struct tf_record *r, unsigned n)
{
	if (page->room < n) {
		for (unsigned i = 0; i < n; i++)
			drain_keep(map, page, &r[i]);
		return;
	}
	page->room -= n;
	memcpy(page->slot, r, n * sizeof(*r));
	page->slot += n;
	__atomic_store_n(&page->store->written, page->store->written + n, __ATOMIC_RELEASE);
}

#endif
