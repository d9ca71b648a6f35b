/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "report/reader/reader_layout.h"

#define RING_MOST (1u << 26)

/* What the drain has not taken, as a thread writes it. */
static bool is_record(const struct recording *r, const struct tf_record *x, uint32_t thread)
{
	if (x->call >= TF_CALL_LEAST)
		return true;
	return x->call < r->calls && x->thread == thread && x->start && x->end >= x->start;
}

static void check_records(struct reader_layout *l, const struct tf_ring *r, uint32_t thread)
{
	uint64_t wrong = 0;

	for (uint64_t i = r->tail; i != r->head; i++)
		wrong += !is_record(l->recording, &r->slots[i & (r->capacity - 1)], thread);
	l->wrong[RECORDS] += wrong;
}

void layout_rings(struct reader_layout *l, uint64_t at, uint32_t thread)
{
	for (unsigned n = 0; at; n++) {
		const struct tf_ring *r = tf_at(l->map, at, sizeof(*r));
		uint64_t capacity = r ? r->capacity : 0;
		if (!capacity || capacity & (capacity - 1) || capacity > RING_MOST ||
		    n == TF_RINGS_MOST || r->head - r->tail > capacity) {
			l->wrong[RING]++;
			return;
		}
		uint64_t bytes = sizeof(*r) + capacity * sizeof(struct tf_record);
		if (!layout_place(l, RING, at, bytes) || !layout_may_walk(l, RING, bytes))
			return;
		if (thread != NO_THREAD)
			check_records(l, r, thread);
		at = r->next;
	}
}

/* Counts of calls that the table of calls does not have. */
static bool counts_beyond(const struct recording *r, const struct tf_thread *t)
{
	uint64_t room = (tf_header(&r->map)->thread_bytes - sizeof(*t)) / sizeof(t->calls[0]);

	for (uint64_t i = r->calls; i < room; i++)
		if (t->calls[i].calls)
			return true;
	return false;
}

void layout_thread(struct reader_layout *l, uint64_t at, uint32_t index)
{
	uint64_t bytes = tf_header(l->map)->thread_bytes;
	const struct tf_thread *t = at ? layout_place(l, THREAD, at, bytes) : NULL;

	if (!t) {
		l->missing[THREAD] += !at;
		return;
	}
	if (!layout_may_walk(l, THREAD, bytes))
		return;
	/* One that is in no table has done nothing yet. */
	l->missing[THREAD] += index == l->recording->threads && t->first_call;
	l->missing[RING] += !t->ring_first;
	l->wrong[THREAD] += !t->tid;
	l->wrong[THREAD] += counts_beyond(l->recording, t);
	layout_rings(l, t->ring_first, index);
	for (uint32_t i = 0; i < TF_KERNEL_DIRS; i++)
		if (t->kernel_pages[i])
			layout_place(l, KERNEL_PAGE, (uint64_t)t->kernel_pages[i] * LAYOUT_UNIT,
			             TF_KERNEL_PAGE * sizeof(struct tf_kernel_stat));
}
