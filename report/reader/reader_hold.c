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

static void hold_hist(const struct tf_map *map, uint64_t offset)
{
	if (offset)
		hold(map, offset, sizeof(struct tf_hist));
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

/* What the entries of tables lead to. */
static void hold_distributions(const struct tf_map *map)
{
	const struct tf_header *h = tf_header(map);

	for (uint32_t i = 0; i < h->calls.count; i++) {
		const struct tf_call *c = tf_entry(map, &h->calls, i, sizeof(*c));
		hold_hist(map, c ? c->hist : 0);
	}
	for (uint32_t i = 0; i < h->kernels.count; i++) {
		const struct tf_kernel *k = tf_entry(map, &h->kernels, i, sizeof(*k));
		hold_hist(map, k ? k->hist : 0);
		hold_hist(map, k ? k->queue_hist : 0);
	}
	for (uint32_t i = 0; i < h->ranges.count; i++) {
		const struct tf_nvtx_range *n = tf_entry(map, &h->ranges, i, sizeof(*n));
		hold_hist(map, n ? n->hist : 0);
	}
	for (uint32_t i = 0; i < h->loops.count; i++) {
		const struct tf_loop *loop = tf_entry(map, &h->loops, i, sizeof(*loop));
		hold_hist(map, loop ? loop->hist : 0);
	}
}

void reader_hold(const struct tf_map *map)
{
	const struct tf_header *h = tf_header(map);
	const struct tf_table *const tables[] = {&h->steps,   &h->clocks,  &h->calls,
	                                         &h->kernels, &h->graphs,  &h->ranges,
	                                         &h->loops,   &h->streams, &h->gaps};

	/* First what says whether anything is rearranged. */
	hold(map, h->slices, sizeof(struct tf_slices));
	for (uint32_t i = 0; i < TF_DEVICES_TIMED; i++)
		if (h->devices_time[i])
			hold(map, h->devices_time[i], sizeof(struct tf_device_time));
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		hold_table(map, tables[i]);
	hold(map, h->works, TF_WORKS * sizeof(struct tf_work));
	hold_threads(map);
	hold_distributions(map);
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
