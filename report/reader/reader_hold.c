/* SPDX-License-Identifier: Apache-2.0 */
#include "report/reader/reader_hold.h"

#include <unistd.h>

/* As far as it is in the file; what lies apart from it is ours. */
static void hold(const struct tf_map *map, uint64_t offset, uint64_t bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (offset >= map->size || bytes > map->size - offset)
		return;
	for (uint64_t at = offset / page * page; at < offset + bytes; at += page) {
		uint8_t *byte = map->base + at, value = __atomic_load_n(byte, __ATOMIC_RELAXED);
		/* A plain store could put back what its process has changed since the load. */
		while (!__atomic_compare_exchange_n(byte, &value, value, false, __ATOMIC_RELAXED,
		                                    __ATOMIC_RELAXED))
			;
	}
}

void reader_hold_header(const struct tf_map *map)
{
	uint64_t bytes = sizeof(struct tf_header);

	/* First what says whether anything is put elsewhere: counts in the header may be older. */
	if (map->size >= bytes)
		hold(map, tf_header(map)->slices, sizeof(struct tf_slices));
	hold(map, 0, bytes < map->size ? bytes : map->size);
}

static void hold_table(const struct tf_map *map, const struct tf_table *table)
{
	for (uint32_t first = 0, i = 0; first < table->count && i < TF_TABLE_PAGES; i++) {
		uint32_t left = table->count - first,
		         here = left < table->page_entries ? left : table->page_entries;
		hold(map, table->pages[i], (uint64_t)here * table->entry_bytes);
		first += here;
	}
}

/* The distributions that the entries of a table lead to, by the offset in their byte `field`. */
static void hold_hists(const struct tf_map *map, const struct tf_table *table, uint64_t field)
{
	for (uint32_t i = 0; i < table->count; i++) {
		const uint8_t *e = tf_entry(map, table, i, table->entry_bytes);
		const uint64_t hist = e ? *(const uint64_t *)(e + field) : 0;
		if (hist)
			hold(map, hist, sizeof(struct tf_hist));
	}
}

static void hold_threads(const struct tf_map *map)
{
	const struct tf_header *h = tf_header(map);

	for (uint32_t i = 0; i < h->threads.count; i++) {
		const uint64_t *at = tf_entry(map, &h->threads, i, sizeof(*at));
		const struct tf_thread *t = at && *at ? tf_at(map, *at, h->thread_bytes) : NULL;
		if (!t)
			continue;
		hold(map, *at, h->thread_bytes);
		for (uint32_t k = 0; k < TF_KERNEL_DIRS; k++)
			if (t->kernel_pages[k])
				hold(map, (uint64_t)t->kernel_pages[k] * 64,
				     TF_KERNEL_PAGE * sizeof(struct tf_kernel_stat));
	}
}

void reader_hold(const struct tf_map *map)
{
	const struct tf_header *h = tf_header(map);
	const struct tf_table *const tables[] = {&h->steps,   &h->clocks,  &h->calls,
	                                         &h->kernels, &h->graphs,  &h->ranges,
	                                         &h->loops,   &h->streams, &h->gaps};

	for (uint32_t i = 0; i < TF_DEVICES_TIMED; i++)
		if (h->devices_time[i])
			hold(map, h->devices_time[i], sizeof(struct tf_device_time));
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		hold_table(map, tables[i]);
	hold(map, h->works, TF_WORKS * sizeof(struct tf_work));
	hold_threads(map);
	hold_hists(map, &h->calls, offsetof(struct tf_call, hist));
	hold_hists(map, &h->kernels, offsetof(struct tf_kernel, hist));
	hold_hists(map, &h->kernels, offsetof(struct tf_kernel, queue_hist));
	hold_hists(map, &h->ranges, offsetof(struct tf_nvtx_range, hist));
	hold_hists(map, &h->loops, offsetof(struct tf_loop, hist));
	if (h->sites) {
		const struct tf_sites *area = tf_at(map, h->sites, sizeof(*area));
		hold(map, h->sites, sizeof(*area));
		if (area)
			hold_table(map, &area->sites);
	}
}

bool reader_is_held(const struct tf_map *map, int fd)
{
	const uint64_t at = tf_header(map)->slices;
	const struct tf_slices *held = tf_at(map, at, sizeof(*held));
	uint64_t now;

	if (!held)
		return true;
	return held->rearranged % 2 == 0 &&
	       pread(fd, &now, sizeof(now), (off_t)(at + offsetof(struct tf_slices, rearranged))) ==
	               sizeof(now) &&
	       now == held->rearranged;
}
