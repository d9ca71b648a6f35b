/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording in memory and the only way to follow an offset in it: every step is checked against
 * the mapped size, so that the same code walks the shim's own file and a hostile one. Shared by the
 * shim, the drain and the reporter.
 */
#ifndef SPY_TRACE_MAP_H
#define SPY_TRACE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "shim/core/format/trace_format.h"

struct tf_map {
	uint8_t *base;
	uint64_t size; /* bytes of the file that may be touched; may grow */
	/* The same of memory that is not the file's, at offsets that it cannot come to have while
	 * it is read: the reporter's. Equal: there is none. */
	uint64_t own_from, own_until;
	/* Hands out `bytes` zeroed bytes at a multiple of 64; 0 = no room. */
	uint64_t (*alloc)(struct tf_map *map, uint64_t bytes);
};

static inline struct tf_header *tf_header(const struct tf_map *map)
{
	return (struct tf_header *)map->base;
}

/* `bytes` bytes at `offset`, or NULL where they are not all in one of the two, or where the offset
 * is none. */
static inline void *tf_at(const struct tf_map *map, uint64_t offset, uint64_t bytes)
{
	uint64_t size = __atomic_load_n(&map->size, __ATOMIC_RELAXED);

	if (offset == 0 || offset % 8)
		return NULL;
	if ((offset <= size && bytes <= size - offset) ||
	    (offset >= map->own_from && offset <= map->own_until &&
	     bytes <= map->own_until - offset))
		return map->base + offset;
	return NULL;
}

/* All bytes that may be touched: nothing in a recording can be more. */
static inline uint64_t tf_bytes(const struct tf_map *map)
{
	return __atomic_load_n(&map->size, __ATOMIC_RELAXED) + map->own_until - map->own_from;
}

/* Entries of a table that may be read. Acquire: pairs with tf_append(); entries below the count are
 * complete. */
static inline uint32_t tf_count(const struct tf_table *table)
{
	uint32_t count = __atomic_load_n(&table->count, __ATOMIC_ACQUIRE);
	uint32_t page = table->page_entries;

	if (page > UINT32_MAX / TF_TABLE_PAGES)
		page = 0;
	return count < page * TF_TABLE_PAGES ? count : page * TF_TABLE_PAGES;
}

/* Entry `index` of a table whose entries the caller knows to be `bytes` long; NULL where there is
 * none. */
static inline void *tf_entry(const struct tf_map *map, const struct tf_table *table, uint32_t index,
                             uint32_t bytes)
{
	/* Read once: a recording that is cut while it is written becomes zeros. */
	const uint32_t page = __atomic_load_n(&table->page_entries, __ATOMIC_RELAXED);

	if (!page || table->entry_bytes != bytes || index / page >= TF_TABLE_PAGES)
		return NULL;
	uint64_t offset = __atomic_load_n(&table->pages[index / page], __ATOMIC_ACQUIRE);
	if (!offset)
		return NULL;
	return tf_at(map, offset + (uint64_t)(index % page) * bytes, bytes);
}

/*
 * Room for the next entry, zeroed, not yet counted; NULL when the table or the file is full. One
 * writer at a time. Fill it, then publish it with tf_publish().
 */
static inline void *tf_append(struct tf_map *map, struct tf_table *table)
{
	const uint32_t index = table->count,
	               entries = __atomic_load_n(&table->page_entries, __ATOMIC_RELAXED);

	if (!entries || index >= table->max)
		return NULL;
	const uint32_t page = index / entries;
	if (page >= TF_TABLE_PAGES)
		return NULL;
	if (!table->pages[page]) {
		uint64_t offset = map->alloc(map, (uint64_t)entries * table->entry_bytes);
		if (!offset)
			return NULL;
		/* Release: the page is zeroed before it can be reached. Pairs with tf_entry(). */
		__atomic_store_n(&table->pages[page], offset, __ATOMIC_RELEASE);
	}
	return tf_entry(map, table, index, table->entry_bytes);
}

static inline void tf_publish(struct tf_table *table)
{
	/* Release: the entry is complete before the count covers it. Pairs with tf_count(). */
	__atomic_store_n(&table->count, table->count + 1, __ATOMIC_RELEASE);
}

/* The string at `offset`, NUL-terminated within its length; NULL where it is damaged. `*bytes` may
 * be NULL. */
static inline const char *tf_text(const struct tf_map *map, uint64_t offset, uint32_t *bytes)
{
	const struct tf_string *s = tf_at(map, offset, sizeof(*s));
	uint32_t n = s ? s->bytes : 0;

	if (!s || n > TF_STRING_MAX || !tf_at(map, offset, sizeof(*s) + (uint64_t)n + 1) ||
	    s->text[n])
		return NULL;
	if (bytes)
		*bytes = n;
	return s->text;
}

#endif
