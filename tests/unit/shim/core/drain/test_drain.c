/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/shim/core/drain_fixture.h"

/* ---- rings ---- */

static void test_order_and_release(void **state)
{
	struct tf_ring *ring = ring_at(thread->ring_first);

	for (uint64_t i = 0; i < 10; i++)
		push(ring, a_sync(2000 + i * 10, i));
	assert_int_equal(drain_all(&drain, 2022), 3); /* what ended later stays */
	assert_int_equal(ring->tail, 3);
	assert_int_equal(drain_all(&drain, 2022), 0);
	assert_int_equal(drain_all(&drain, UINT64_MAX), 7);
	assert_int_equal(ring->tail, 10);
	assert_int_equal(drain_all(&drain, UINT64_MAX), 0);
	assert_int_equal(kept()->written, 10);
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(stored(kept(), i)->start, 2000 + i * 10);
	assert_int_equal(hist_count(sync), 10);
}

static void count_taken(void *watcher, uint64_t records)
{
	*(uint64_t *)watcher += records;
}

/* Who waits is told in the middle of a long ring, by 64 records. */
static void test_who_waits_is_told(void **state)
{
	struct tf_ring *ring = ring_at(thread->ring_first);
	uint64_t told = 0;

	ring->next = new_ring(512);
	ring = ring_at(ring->next);
	for (uint64_t i = 0; i < 200; i++)
		push(ring, a_sync(2000 + i, 1));
	drain.taken = count_taken;
	drain.watcher = &told;
	uint64_t taken = drain_all(&drain, UINT64_MAX);
	drain.taken = NULL; /* the next test's drain is this one */
	assert_int_equal(taken, 200);
	assert_int_equal(told, 192);
}

/* Rings follow each other as the thread outgrew them. */
static void test_chain(void **state)
{
	uint64_t offsets[4] = {thread->ring_first, new_ring(128), new_ring(256), new_ring(512)},
	         n = 0;

	for (int r = 0; r < 4; r++) {
		struct tf_ring *ring = ring_at(offsets[r]);
		for (uint64_t i = 0; i < (r < 3 ? ring->capacity : 100); i++, n++)
			push(ring, a_sync(2000 + n, 1));
		if (r < 3)
			ring->next = offsets[r + 1];
	}
	assert_int_equal(drain_all(&drain, 2070), 70); /* 64 of the first, 6 of the second */
	assert_int_equal(thread->ring_drain, offsets[1]);
	assert_int_equal(ring_at(offsets[1])->tail, 6);
	assert_int_equal(drain_all(&drain, UINT64_MAX), 64 + 128 + 256 + 100 - 70);
	assert_int_equal(thread->ring_drain, offsets[3]);
	push(ring_at(offsets[3]), a_sync(9000, 1));
	assert_int_equal(drain_all(&drain, UINT64_MAX), 1);
	assert_int_equal(hist_count(sync), n + 1);
}

/* The counters run free through 2^64, in the middle of a ring and at its end. */
static void test_counters_wrap(void **state)
{
	struct tf_ring *ring = ring_at(thread->ring_first);
	uint64_t taken = 0, pushed = 0;

	ring->head = ring->tail = UINT64_MAX - 99;
	while (pushed < 300) {
		for (int i = 0; i < 37 && ring->head - ring->tail < ring->capacity; i++, pushed++)
			push(ring, a_sync(2000 + pushed, 1));
		taken += drain_all(&drain, 2000 + taken + (pushed % 2 ? 5 : 40));
	}
	taken += drain_all(&drain, UINT64_MAX);
	assert_int_equal(taken, pushed);
	assert_int_equal(ring->tail, ring->head);
	assert_int_equal(ring->head, UINT64_MAX - 99 + pushed);
	for (uint64_t n = pushed - 256; n < pushed; n++)
		assert_int_equal(stored(kept(), n)->start, 2000 + n);
}

static void test_all_threads(void **state)
{
	for (int i = 0; i < 20; i++) {
		struct tf_thread *t = made_thread(&made, 200 + (uint64_t)i, "more", 64);
		for (int n = 0; n <= i; n++)
			push(ring_at(t->ring_first), a_sync(2000, 1));
	}
	assert_int_equal(drain_all(&drain, UINT64_MAX), 20 * 21 / 2);
	assert_int_equal(drain_all(&drain, UINT64_MAX), 0);
	assert_int_equal(hist_count(sync), 20 * 21 / 2);
}

static uint64_t kept_end(uint64_t n)
{
	return stored(kept(), n)->end;
}

/* Calls of many threads in the order in which they returned. */
static void test_merged_by_end(void **state)
{
	struct tf_ring *rings[300];
	uint64_t n = 0, at = 5000;

	for (int i = 0; i < 300; i++)
		rings[i] = ring_at(
		        made_thread(&made, 200 + (uint64_t)i, "one of many", 4)->ring_first);
	kept()->page_records = 1024;
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 300; i++, n++)
			push(rings[(i * 7919 + round * 31) % 300], a_sync(at + n * 3, 1 + n % 2));
	assert_int_equal(drain_all(&drain, at + 3 * 450), 450);
	assert_int_equal(drain_all(&drain, UINT64_MAX), 450);
	for (uint64_t i = 1; i < n; i++)
		assert_true(kept_end(i - 1) <= kept_end(i));
}

/* What a thread published late comes as it comes, and holds nobody up. */
static void test_late_records(void **state)
{
	struct tf_ring *one = ring_at(thread->ring_first),
	               *two = ring_at(made_thread(&made, 200, "late", 64)->ring_first);

	push(one, a_sync(3000, 10));
	push(one, a_sync(3020, 10));
	assert_int_equal(drain_all(&drain, 4000), 2);
	push(two, a_sync(2500, 10));
	push(two, a_sync(3500, 10));
	push(one, a_sync(3200, 10));
	assert_int_equal(drain_all(&drain, 4000), 3);
	const uint64_t ends[] = {3010, 3030, 2510, 3210, 3510};
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(kept_end(i), ends[i]);
}

/* A nested record stays where it stands, ahead of its caller, though another thread's lies between
 * them in time. */
static void test_nested_with_its_caller(void **state)
{
	struct tf_ring *one = ring_at(thread->ring_first),
	               *two = ring_at(made_thread(&made, 200, "two", 64)->ring_first);
	struct tf_record nested = a_sync(3010, 10);

	nested.flags = TF_NESTED;
	push(one, nested);
	push(one, a_sync(3000, 100));
	push(two, a_sync(3030, 10));
	assert_int_equal(drain_all(&drain, UINT64_MAX), 3);
	const uint64_t ends[] = {3020, 3040, 3100};
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(kept_end(i), ends[i]);
	assert_int_equal(thread->nested_ticks, 0);
	assert_int_equal(sum_ticks(SPY_CLASS_SYNC), 10 + 90 + 10);
}

/* ---- kept records ---- */

static void test_keep_goes_round(void **state)
{
	uint64_t most = kept()->page_records * kept()->pages_max;

	for (uint64_t n = 0; n < 3 * most + 17; n++)
		feed(a_sync(2000 + n, 1));
	assert_int_equal(kept()->written, 3 * most + 17);
	for (uint64_t n = 2 * most + 17; n < 3 * most + 17; n++)
		assert_int_equal(stored(kept(), n)->start, 2000 + n);
}

/* With no room for another page it goes round over the pages that it has. */
static void test_keep_without_room(void **state)
{
	feed(a_sync(1500, 1)); /* its histogram and first page */
	for (uint64_t n = 1; n < kept()->page_records + 1; n++)
		feed(a_sync(1500 + n, 1));
	no_room = true;
	for (uint64_t n = 0; n < 1000; n++)
		feed(a_sync(5000 + n, 1));
	assert_int_equal(kept()->pages_max, 2);
	for (uint64_t n = 0; n < 2 * kept()->page_records; n++) {
		uint64_t at = kept()->written - 1 - n;
		assert_int_equal(stored(kept(), at)->start, 5999 - n);
	}
}

static void test_store_then_keep(void **state)
{
	struct tf_header *h = made_header(&made);

	h->store = real_alloc(&made.map, sizeof(struct tf_store));
	struct tf_store *all = tf_at(&made.map, h->store, sizeof(*all));
	all->page_records = 32;
	all->pages_max = 3;
	for (uint64_t n = 0; n < 150; n++)
		feed(a_sync(2000 + n, 1));
	assert_int_equal(all->written, 96);
	assert_int_equal(kept()->written, 54);
	for (uint64_t n = 0; n < 96; n++)
		assert_int_equal(stored(all, n)->start, 2000 + n);
	for (uint64_t n = 0; n < 54; n++)
		assert_int_equal(stored(kept(), n)->start, 2096 + n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_order_and_release, start, end),
	        cmocka_unit_test_setup_teardown(test_who_waits_is_told, start, end),
	        cmocka_unit_test_setup_teardown(test_chain, start, end),
	        cmocka_unit_test_setup_teardown(test_counters_wrap, start, end),
	        cmocka_unit_test_setup_teardown(test_all_threads, start, end),
	        cmocka_unit_test_setup_teardown(test_merged_by_end, start, end),
	        cmocka_unit_test_setup_teardown(test_late_records, start, end),
	        cmocka_unit_test_setup_teardown(test_nested_with_its_caller, start, end),
	        cmocka_unit_test_setup_teardown(test_keep_goes_round, start, end),
	        cmocka_unit_test_setup_teardown(test_keep_without_room, start, end),
	        cmocka_unit_test_setup_teardown(test_store_then_keep, start, end),
	};

	return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}
