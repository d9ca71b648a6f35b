/* SPDX-License-Identifier: Apache-2.0 */
/* Small recordings that lead to the same place again and again: what they take is bounded by their
 * size. Without that each of these runs for hours. */
#include <stdlib.h>
#include <string.h>

#include "report/model/events/events_internal.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

#define THREADS      65536u
#define RING_RECORDS (1u << 16)

/* As many threads as there can be, all of them one; its ring is full, and its own successor. */
static void make_threads(struct made *m, enum tf_state state)
{
	made_start(m, 64u << 20, 8, MADE_AREAS);
	struct tf_header *h = made_header(m);
	h->threads.page_entries = THREADS / TF_TABLE_PAGES;
	h->threads.max = THREADS;
	made_call(m, "cuCtxSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	made_clock(m, 1000, 1000000, 2000000);
	struct tf_thread *t = made_thread(m, 100, "one of many", RING_RECORDS);
	struct tf_ring *ring = tf_at(&m->map, t->ring_first, sizeof(*ring));
	ring->next = t->ring_first;
	ring->head = RING_RECORDS;
	for (uint64_t i = 0; i < RING_RECORDS; i++)
		ring->slots[i] = (struct tf_record){.start = 3000000 + i, .end = 3000001 + i};
	uint64_t *first = tf_entry(&m->map, &h->threads, 0, sizeof(*first)), one = *first;
	for (uint32_t i = 0; i < h->threads.page_entries; i++)
		first[i] = one;
	for (uint32_t i = 1; i < TF_TABLE_PAGES; i++)
		h->threads.pages[i] = h->threads.pages[0];
	h->threads.count = THREADS;
	h->file_end = made_bytes(m);
	h->state = state;
	if (state == TF_STATE_CLOSED) {
		h->closed = 4000000;
		h->seal.state = TF_SEAL_WHOLE;
	}
}

static void check_damaged(const struct made *m)
{
	char error[READER_ERROR_BYTES];
	struct warnings warnings = {0};
	struct recording r;

	assert_int_equal(recording_from_memory(&r, m->map.base, made_bytes(m), &warnings, error),
	                 0);
	assert_true(r.damage.count > 0);
	recording_close(&r);
	warnings_free(&warnings);
}

static void test_one_thread_many_times(void **state)
{
	struct made made;

	make_threads(&made, TF_STATE_OPEN);
	check_damaged(&made);
	made_free(&made);
	make_threads(&made, TF_STATE_CLOSED);
	check_damaged(&made);
	made_free(&made);
}

/* ---- kept records ---- */

static void count_call(void *to, const struct events_call *c)
{
	++*(uint64_t *)to;
}

static void count_work(void *to, const struct events_work *w)
{
}

static void tell(const struct made *m)
{
	char error[READER_ERROR_BYTES];
	struct warnings warnings = {0};
	struct events_figures figures;
	struct recording r;
	uint64_t calls = 0;
	const struct events_to to = {&calls, count_call, count_work, NULL};

	assert_int_equal(recording_from_memory(&r, m->map.base, made_bytes(m), &warnings, error),
	                 0);
	const uint64_t most = tf_bytes(&r.map) / sizeof(struct tf_record);
	struct events *e = events_of(&r, 0);
	events_tell(e, &to, &figures);
	assert_true(figures.records <= most);
	events_close(e);
	recording_close(&r);
	warnings_free(&warnings);
}

/* A directory of pages that stand nowhere, or all in one place. */
static void test_pages_without_end(void **state)
{
	struct made made;

	for (int same = 0; same < 2; same++) {
		made_sample(&made, MADE_AREAS);
		struct tf_store *keep = tf_at(&made.map, made_header(&made)->keep, sizeof(*keep));
		keep->page_records = same ? 4096 : 1u << 24;
		keep->pages_max = TF_STORE_PAGES;
		keep->written = 1ull << 60;
		const uint64_t page =
		        same ? made.map.alloc(&made.map, 4096 * sizeof(struct tf_record)) : 0;
		struct tf_record *r = page ? tf_at(&made.map, page, 4096 * sizeof(*r)) : NULL;
		for (uint32_t i = 0; r && i < 4096; i++)
			r[i] = (struct tf_record){.start = 3000000, .end = 3000001};
		for (uint32_t i = 0; i < TF_STORE_PAGES; i++)
			keep->pages[i] = page;
		tell(&made);
		made_free(&made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_one_thread_many_times),
	        cmocka_unit_test(test_pages_without_end),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
