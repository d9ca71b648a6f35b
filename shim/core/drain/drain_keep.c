/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/drain/drain_keep.h"

#include "shim/core/format/seal.h"

/* Records of a store's page, read once: a recording that is cut while it is written becomes zeros;
 * 0 = the store makes no sense. */
static uint64_t page_records(const struct tf_store *s)
{
	uint64_t records = __atomic_load_n(&s->page_records, __ATOMIC_RELAXED);

	return records <= 1u << 24 ? records : 0;
}

/* The place of record `n` in a store, its page of `records` made if it may be; NULL when there is
 * none. */
static struct tf_record *store_slot(struct tf_map *map, struct tf_store *s, uint64_t records,
                                    uint64_t n)
{
	if (!records || n / records >= TF_STORE_PAGES || n / records >= s->pages_max)
		return NULL;
	uint64_t *page = &s->pages[n / records];
	if (!*page)
		*page = map->alloc(map, records * sizeof(struct tf_record));
	return tf_at(map, *page + n % records * sizeof(struct tf_record), sizeof(struct tf_record));
}

/* Record `n` of a store goes to `slot`: those after it to what follows in its page. */
static void go_on_behind(struct tf_map *map, struct drain_page *page, struct tf_store *s,
                         struct tf_record *slot, uint64_t records, uint64_t n)
{
	uint64_t at = n % records;

	page->store = s;
	page->slot = slot + 1;
	page->room =
	        tf_at(map, s->pages[n / records], records * sizeof(*slot)) ? records - 1 - at : 0;
}

void drain_keep_elsewhere(struct tf_map *map, struct drain_page *page, const struct tf_record *r)
{
	struct tf_header *h = tf_header(map);
	struct tf_store *all = h->store ? tf_at(map, h->store, sizeof(*all)) : NULL;
	struct tf_store *recent = tf_at(map, h->keep, sizeof(*recent));
	struct tf_record *slot = NULL;

	uint64_t records = all ? page_records(all) : 0, n = all ? all->written : 0;
	if (all && (slot = store_slot(map, all, records, n))) {
		seal_full_page(map, all);
		go_on_behind(map, page, all, slot, records, n);
		drain_put(all, slot, r);
		return;
	}
	records = recent ? page_records(recent) : 0;
	const uint64_t most = recent ? __atomic_load_n(&recent->pages_max, __ATOMIC_RELAXED) : 0;
	if (!records || !most || most > TF_STORE_PAGES)
		return;
	n = recent->written % (records * most);
	seal_full_page(map, recent);
	slot = store_slot(map, recent, records, n);
	if (!slot && recent->written) {
		/* No room for another page: go round over the pages there are. */
		uint64_t pages = 0;
		while (pages < recent->pages_max && pages < TF_STORE_PAGES && recent->pages[pages])
			pages++;
		recent->pages_max = pages;
		recent->written = n = 0;
		slot = store_slot(map, recent, records, 0);
	}
	if (!slot)
		return;
	go_on_behind(map, page, recent, slot, records, n);
	drain_put(recent, slot, r);
}
