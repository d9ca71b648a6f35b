/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/events/events_store.h"

#define PAGE_MOST (1u << 24) /* records */

/* A ring that found no room for more pages goes round over fewer, and counts from 0 again. */
static bool holds(const struct events_store *s, const struct tf_store *store, uint64_t page,
                  uint64_t place)
{
	uint64_t offset = store->pages[place / page];
	const struct tf_record *r =
	        offset && offset < 1ull << 62 ? tf_at(s->map, offset, page * sizeof(*r)) : NULL;

	return r && (r[place % page].start || r[place % page].end);
}

static void add(struct events_store *s, uint64_t offset, bool ring)
{
	const struct tf_store *store = offset ? tf_at(s->map, offset, sizeof(*store)) : NULL;
	uint64_t page = store ? store->page_records : 0, pages = store ? store->pages_max : 0;

	if (!page || page > PAGE_MOST)
		return;
	uint64_t room = page * (pages < TF_STORE_PAGES ? pages : TF_STORE_PAGES);
	/* Acquire: records below it are complete. Pairs with the drain's store. */
	uint64_t written = __atomic_load_n(&store->written, __ATOMIC_ACQUIRE);
	if (!room || !written)
		return;
	bool round =
	        ring && (written > room || (written < room && holds(s, store, page, room - 1)));
	if (!ring && written > room)
		written = room;
	s->part[s->parts].store = store;
	s->part[s->parts].page = page;
	s->part[s->parts].room = room;
	s->part[s->parts].count = round || written > room ? room : written;
	/* No more than the recording has room for: pages may stand twice, or nowhere. */
	if (s->part[s->parts].count > tf_bytes(s->map) / sizeof(struct tf_record)) {
		s->part[s->parts].count = tf_bytes(s->map) / sizeof(struct tf_record);
		s->whole = false;
	}
	s->part[s->parts].first = round ? written % room : 0;
	s->parts++;
	s->whole &= !round;
}

void events_store_open(struct events_store *s, const struct tf_map *map)
{
	const struct tf_header *h = tf_header(map);

	*s = (struct events_store){.map = map, .whole = true};
	add(s, h->store, false);
	add(s, h->keep, true);
	events_store_rewind(s);
}

void events_store_rewind(struct events_store *s)
{
	s->at = 0;
	s->next = 0;
	s->page_of = NULL;
}

bool events_store_latest(struct events_store *s, uint64_t records)
{
	uint64_t behind = 0;

	events_store_rewind(s);
	for (s->at = s->parts; s->at > 0; s->at--) {
		const uint64_t count = s->part[s->at - 1].count;
		if (count > records - behind) {
			s->next = count - (records - behind);
			s->at--;
			return true;
		}
		behind += count;
	}
	return false;
}

/* The record at a place of a part; NULL where nothing ever stood. */
static const struct tf_record *record_at(struct events_store *s, uint64_t place)
{
	uint64_t page = s->part[s->at].page, number = place / page;

	if (!s->page_of || s->page_number != number) {
		uint64_t offset = s->part[s->at].store->pages[number];
		s->page_of = offset && offset < 1ull << 62
		                     ? tf_at(s->map, offset, page * sizeof(*s->page_of))
		                     : NULL;
		s->page_number = number;
	}
	return s->page_of ? &s->page_of[place % page] : NULL;
}

bool events_store_next(struct events_store *s, struct tf_record *to)
{
	while (s->at < s->parts) {
		if (s->next == s->part[s->at].count) {
			s->at++;
			s->next = 0;
			s->page_of = NULL;
			continue;
		}
		uint64_t place = (s->part[s->at].first + s->next++) % s->part[s->at].room;
		const struct tf_record *r = record_at(s, place);
		if (r && (r->start || r->end)) {
			*to = *r;
			return true;
		}
	}
	return false;
}
