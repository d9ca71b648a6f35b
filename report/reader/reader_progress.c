/* SPDX-License-Identifier: Apache-2.0 */
#include "report/reader/reader_progress.h"

#include <sys/mman.h>
#include <unistd.h>

#include "report/base/progress.h"
#include "shim/core/drain/drain.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* since Linux 5.14 */
#endif

#define PARTS      200u
#define PART_LEAST (1u << 20)

static void read_part(uint8_t *from, uint64_t bytes, uint64_t page)
{
	if (!madvise(from, bytes, MADV_POPULATE_READ))
		return;
	for (uint64_t at = 0; at < bytes; at += page)
		(void)*(volatile uint8_t *)(from + at);
}

void reader_read_ahead(const struct recording *r)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE),
	               most = r->file_bytes / PARTS > PART_LEAST ? r->file_bytes / PARTS
	                                                         : PART_LEAST,
	               part = (most + page - 1) / page * page;

	if (tf_header(&r->map)->seal.state != TF_SEAL_WHOLE)
		return;
	for (uint64_t at = 0; at < r->file_bytes; at += part) {
		uint64_t bytes = r->file_bytes - at < part ? r->file_bytes - at : part;
		read_part(r->map.base + at, bytes, page);
		progress_share(at + bytes, r->file_bytes);
	}
}

/* Of a chain of rings, as far as it makes sense. */
static uint64_t in_rings(const struct recording *r, uint64_t at)
{
	uint64_t sum = 0;

	for (unsigned n = 0; at && n < TF_RINGS_MOST; n++) {
		const struct tf_ring *ring = tf_at(&r->map, at, sizeof(*ring));
		uint64_t left = ring ? ring->head - ring->tail : 0;
		if (!ring || left > ring->capacity || left > r->map.size / sizeof(struct tf_record))
			break;
		sum += left;
		at = ring->next != at ? ring->next : 0;
	}
	return sum;
}

static void taken(void *watcher, uint64_t records)
{
	struct reader_left *left = watcher;

	left->done += records;
	progress_share(left->done, left->all);
}

void reader_watch(const struct recording *r, struct reader_left *left, struct drain *drain)
{
	*left = (struct reader_left){.all = in_rings(r, tf_header(&r->map)->activity_ring)};
	for (uint32_t i = 0; i < r->threads; i++) {
		const struct tf_thread *t = recording_thread(r, i);
		if (t)
			left->all += in_rings(r, t->ring_first);
	}
	drain->taken = taken;
	drain->watcher = left;
}
