#include "tests/unit/drain_fixture.h"

/* ---- rings ---- */

static void test_order_and_release(void **state)
{
	struct tf_ring *ring = ring_at(thread->ring_first);

	for (uint64_t i = 0; i < 10; i++)
		push(ring, a_sync(2000 + i * 10, i));
	assert_int_equal(drain_thread(&drain, 0, 3), 3);
	assert_int_equal(ring->tail, 3); /* given back one by one */
	assert_int_equal(drain_thread(&drain, 0, 0), 0);
	assert_int_equal(drain_thread(&drain, 0, UINT64_MAX), 7);
	assert_int_equal(ring->tail, 10);
	assert_int_equal(drain_thread(&drain, 0, UINT64_MAX), 0);
	assert_int_equal(kept()->written, 10);
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(stored(kept(), i)->start, 2000 + i * 10);
	assert_int_equal(hist_count(sync), 10);
	assert_int_equal(drain_thread(&drain, 1, UINT64_MAX), 0); /* no such thread */
	assert_int_equal(drain_thread(&drain, UINT32_MAX, UINT64_MAX), 0);
}

/* Rings follow each other as the thread outgrew them. */
static void test_chain(void **state)
{
	uint64_t offsets[4] = { thread->ring_first, new_ring(128), new_ring(256), new_ring(512) }, n = 0;

	for (int r = 0; r < 4; r++) {
		struct tf_ring *ring = ring_at(offsets[r]);
		for (uint64_t i = 0; i < (r < 3 ? ring->capacity : 100); i++, n++)
			push(ring, a_sync(2000 + n, 1));
		if (r < 3)
			ring->next = offsets[r + 1];
	}
	assert_int_equal(drain_thread(&drain, 0, 70), 70); /* 64 of the first, 6 of the second */
	assert_int_equal(thread->ring_drain, offsets[1]);
	assert_int_equal(ring_at(offsets[1])->tail, 6);
	assert_int_equal(drain_thread(&drain, 0, UINT64_MAX), 64 + 128 + 256 + 100 - 70);
	assert_int_equal(thread->ring_drain, offsets[3]);
	push(ring_at(offsets[3]), a_sync(9000, 1));
	assert_int_equal(drain_all(&drain), 1);
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
		taken += drain_thread(&drain, 0, pushed % 2 ? 5 : 40);
	}
	taken += drain_thread(&drain, 0, UINT64_MAX);
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
	assert_int_equal(drain_all(&drain), 20 * 21 / 2);
	assert_int_equal(drain_all(&drain), 0);
	assert_int_equal(hist_count(sync), 20 * 21 / 2);
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
		cmocka_unit_test_setup_teardown(test_chain, start, end),
		cmocka_unit_test_setup_teardown(test_counters_wrap, start, end),
		cmocka_unit_test_setup_teardown(test_all_threads, start, end),
		cmocka_unit_test_setup_teardown(test_keep_goes_round, start, end),
		cmocka_unit_test_setup_teardown(test_keep_without_room, start, end),
		cmocka_unit_test_setup_teardown(test_store_then_keep, start, end),
	};

	return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}
