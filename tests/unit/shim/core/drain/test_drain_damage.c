/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/shim/core/drain_fixture.h"

/* ---- damage ---- */

static void assert_yields(uint64_t records)
{
	assert_int_equal(drain_all(&drain, UINT64_MAX), records);
	assert_int_equal(hist_count(sync), records);
}

static void one_record(void)
{
	push(ring_at(thread->ring_first), a_sync(2000, 1));
}

static void test_damaged_rings(void **state)
{
	struct tf_ring *ring = ring_at(thread->ring_first);
	const uint64_t capacities[] = {0, 3, 63, 65, 1 << 27, UINT64_MAX, 1ull << 63, 1 << 26};

	one_record();
	for (unsigned i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
		ring->capacity = capacities[i];
		assert_yields(0);
	}
	ring->capacity = 64;
	ring->head = 66; /* more than fit */
	assert_yields(0);
	ring->head = 0;
	ring->tail = 1; /* taken before it was written */
	assert_yields(0);
	ring->tail = 0;
	const uint64_t offsets[] = {
	        4, 8 + 1, UINT64_MAX, UINT64_MAX - 63, made.map.size, made.map.size - 64};
	for (unsigned i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		thread->ring_drain = offsets[i];
		assert_yields(0);
	}
}

static void test_chains_without_end(void **state)
{
	struct tf_ring *ring = ring_at(thread->ring_first);
	uint64_t other = new_ring(64);

	one_record();
	ring->next = thread->ring_first; /* itself */
	assert_yields(1);
	ring->next = other; /* round and round */
	ring_at(other)->next = thread->ring_first;
	push(ring_at(other), a_sync(2000, 1));
	assert_int_equal(drain_all(&drain, UINT64_MAX), 1);
	ring->next = 12345; /* nowhere */
	thread->ring_drain = thread->ring_first;
	assert_int_equal(drain_all(&drain, UINT64_MAX), 0);
}

static void test_damaged_records(void **state)
{
	struct tf_record r = a_sync(2000, 10);

	r.end = 1999; /* ends before it starts */
	feed(r);
	r = a_sync(2000, 10);
	r.call = 9; /* no such call */
	feed(r);
	r.call = TF_CALL_OWN - 1;
	feed(r);
	r.call = TF_CALL_OWN;
	r.start = r.end + 1;
	feed(r);
	r.start = 2000;
	r.call = TF_CALL_ACTIVITY; /* stands in a ring of its own only */
	feed(r);
	struct tf_call *c = tf_entry(&made.map, &made_header(&made)->calls, alloc, sizeof(*c));
	c->cls = SPY_CLASS_COUNT;
	r.call = alloc;
	feed(r);
	c->cls = 255;
	feed(r);
	assert_int_equal(kept()->written, 0);
	assert_int_equal(sum_calls(SPY_CLASS_SYNC), 0);
	feed(a_sync(0, UINT64_MAX)); /* all of time: counted, and no endless loop */
	assert_int_equal(hist_count(sync), 1);
}

/* All ones: like the launch that is remembered, before there was any. */
static void test_record_of_ones(void **state)
{
	struct tf_record r;

	memset(&r, 0xff, sizeof(r));
	r.start = 1000;
	r.end = 2000;
	feed(r);
	feed(a_sync(2000, 10));
	assert_int_equal(hist_count(sync), 1);
}

static void test_damaged_areas(void **state)
{
	struct tf_header *h = made_header(&made);
	struct tf_call *c = tf_entry(&made.map, &h->calls, sync, sizeof(*c));
	uint64_t keep = h->keep;

	slices()->width = 0;
	feed(a_sync(2000, 10));
	slices()->width = UINT64_MAX / 2;
	feed(a_sync(2000, UINT64_MAX - 5000));
	h->slices = h->works = UINT64_MAX - 7;
	feed(a_sync(2000, 10));
	feed(a_launch(0, 1));
	c->hist = made.map.size - 64;
	feed(a_sync(2000, 10));
	kept()->page_records = 1ull << 24; /* times pages_max this is 2^64, or 0 */
	kept()->pages_max = 1ull << 40;
	feed(a_sync(2000, 10));
	kept()->pages_max = UINT64_MAX;
	feed(a_sync(2000, 10));
	kept()->page_records = UINT64_MAX;
	feed(a_sync(2000, 10));
	kept()->page_records = 0;
	feed(a_sync(2000, 10));
	kept()->page_records = 64;
	kept()->pages_max = TF_STORE_PAGES;
	kept()->pages[0] = made.map.size - 32;
	kept()->written = 0;
	feed(a_sync(2000, 10));
	assert_int_equal(kept()->written, 0);
	kept()->written = UINT64_MAX;
	feed(a_sync(2000, 10));
	h->store = keep;
	feed(a_sync(2000, 10));
	h->store = h->keep = 8;
	feed(a_sync(2000, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_damaged_rings, start, end),
	        cmocka_unit_test_setup_teardown(test_chains_without_end, start, end),
	        cmocka_unit_test_setup_teardown(test_damaged_records, start, end),
	        cmocka_unit_test_setup_teardown(test_damaged_areas, start, end),
	        cmocka_unit_test_setup_teardown(test_record_of_ones, start, end),
	};

	return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}
