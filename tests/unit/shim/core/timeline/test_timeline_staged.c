/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of pageable memory that the driver stages: when the GPU was with them, by their calls. */
#include <math.h>

#include "tests/unit/shim/core/timeline/timeline_fixture.h"

#define MIB (1u << 20)

static void tell(void)
{
	struct tf_environment *e = made_environment(&made, 1);

	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_GEN_MAX, 5, WINDOW - 1000);
	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_WIDTH, 16, WINDOW - 1000);
}

static void told(void)
{
	tell();
	timeline_advance(timeline, WINDOW);
}

static void copy(enum spy_direction direction, bool async, uint64_t bytes, uint64_t from,
                 uint64_t to)
{
	feed(0, a_copy(direction, SPY_MEM_PAGEABLE, async, bytes), from, to);
}

static struct tf_work *class_of(enum spy_direction direction, uint64_t bytes)
{
	struct tf_record r = a_copy(direction, SPY_MEM_PAGEABLE, true, bytes);
	struct tf_work key;

	work_key(&key, TF_WORK_COPY, &r);
	return work_find(&made.map, &key);
}

static void assert_about(double is, double wanted, double off)
{
	if (fabs(is - wanted) > off)
		fail_msg("%g is not %g", is, wanted);
}

/* It starts with its call; what the host empties of the buffers afterwards is idle time. */
static void test_to_the_host(void **state)
{
	told();
	copy(SPY_DIR_DTOH, true, 4 * MIB, 100000, 520000);
	call(OTHER, 0, 600000, 600100);
	finish();
	assert_about((double)total()->busy, 276000, 6000);
	assert_int_equal(on_device(0)->work_unknown, 0);
	assert_int_equal(total()->busy, total()->copies);
	assert_about((double)total()->idle[TF_IDLE_COPY], 420000 - 276000, 6000);
	assert_about(class_of(SPY_DIR_DTOH, 4 * MIB)->staged_ns, 420000, 1);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 0);
}

/* What its call waited for the kernel ahead of it is none of the copy's. */
static void test_behind_a_kernel(void **state)
{
	told();
	launch(1, 9000, 10000); /* ends 61.8 us after the window's start */
	copy(SPY_DIR_DTOH, true, 4 * MIB, 11000, 61800 + 420000);
	call(OTHER, 0, 600000, 600100);
	finish();
	assert_about((double)total()->copies, 276000, 6000);
	assert_int_equal(total()->busy, total()->copies + 50000); /* they do not overlap */
	assert_about((double)split(0)[TF_HOST_SYNC_USEFUL], 61800 - 11000, 1);
	assert_int_equal(thread_at(0)->implicit_syncs, 1);
	assert_about(class_of(SPY_DIR_DTOH, 4 * MIB)->staged_ns, 420000, 1);
}

/* The first piece is staged before the GPU has anything to do; when the call returns the last one
 * is on its way, and the kernel behind it waits for that. */
static void test_to_the_device(void **state)
{
	told();
	copy(SPY_DIR_HTOD, true, 4 * MIB, 100000, 420000);
	launch(0, 420500, 421000);
	call(OTHER, 0, 600000, 600100);
	finish();
	assert_about((double)total()->copies, 254000, 10000);
	assert_about((double)total()->idle[TF_IDLE_COPY], 80000, 3000);
	assert_int_equal(total()->busy, total()->copies + 10000);
	/* 1 MiB takes 21.5 us; then from the engine to the kernel */
	assert_about((double)kernel_at(0)->queue_ticks,
	             420000 + 21500 + GAP + CUDA_FROM_ENGINE_NS - 421000, 200);
}

/* Up to a piece it is sent as the call returns. */
static void test_one_piece(void **state)
{
	told();
	copy(SPY_DIR_HTOD, false, MIB, 100000, 174000);
	copy(SPY_DIR_DTOH, false, 8, 300000, 309000);
	call(OTHER, 0, 600000, 600100);
	finish();
	assert_about((double)total()->busy, 21670 + 1500, 100);
	assert_about((double)total()->idle[TF_IDLE_COPY], 74000 + 9000 - 1500, 200);
}

/* An asynchronous copy that finds a free buffer waits for nothing, and goes behind the kernel. */
static void test_staged_behind_a_kernel(void **state)
{
	told();
	launch(1, 9000, 10000); /* ends 61.8 us after the window's start */
	copy(SPY_DIR_HTOD, true, MIB / 2, 11000, 40000);
	copy(SPY_DIR_HTOD, true, MIB / 2, 41000, 60000);
	call(OTHER, 0, 600000, 600100);
	finish();
	assert_about((double)total()->copies, 2 * 12000, 1000);
	assert_int_equal(total()->busy, total()->copies + 50000); /* they do not overlap */
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 0);
	assert_int_equal(thread_at(0)->implicit_syncs, 0);
}

/* Of 1.75 MiB the first piece is staged while the kernel runs, and all of it is when that ends: it
 * then takes as long as its bytes do. */
static void test_two_pieces_behind_a_kernel(void **state)
{
	told();
	launch(1, 9000, 10000); /* ends 61.8 us after the window's start */
	copy(SPY_DIR_HTOD, true, 7 * MIB / 4, 11000, 61000);
	call(OTHER, 0, 600000, 600100);
	finish();
	assert_about((double)total()->copies, 2 * 2700 + 33180, 1000);
	assert_int_equal(total()->busy, total()->copies + 50000); /* they do not overlap */
}

/* It needs more buffers than there are and waits for the kernel, but fills the first one meanwhile:
 * that much of the wait is the copy's own. */
static void test_first_piece_behind_a_kernel(void **state)
{
	told();
	launch(1, 9000, 10000); /* ends 61.8 us after the window's start */
	copy(SPY_DIR_HTOD, true, 4 * MIB, 11000, 11000 + 320000);
	call(OTHER, 0, 600000, 600100);
	finish();
	assert_about((double)total()->copies, 254000, 10000);
	assert_about(class_of(SPY_DIR_HTOD, 4 * MIB)->staged_ns, 320000, 2000);
	assert_about((double)split(0)[TF_HOST_SYNC_USEFUL], 0, 2000);
}

/* A first call that was as long as the work ahead, of which nothing was known yet, does not stand
 * for the later ones: 20 us each behind a kernel. */
static void test_first_call_behind_unknown_work(void **state)
{
	told();
	copy(SPY_DIR_DTOH, true, 65536, 100000, 400000);
	for (uint64_t i = 1; i < 13; i++) {
		launch(1, i * 1000000 - 2000, i * 1000000 - 1000); /* 50 us */
		copy(SPY_DIR_DTOH, true, 65536, i * 1000000, i * 1000000 + 50800 + 20000);
	}
	call(OTHER, 0, 20000000, 20000100);
	finish();
	/* the first of them are held to be longer */
	assert_about(class_of(SPY_DIR_DTOH, 65536)->staged_ns, 300000 + 12 * 20000, 6 * 50000);
	assert_true(split(0)[TF_HOST_SYNC_USEFUL] > 8 * 45000);
}

/* The host's memory is slow, and nothing is known of a kernel of long before: it did not last until
 * then. Right behind it the call may have waited for it. */
static void test_a_slow_call_long_after_unknown_work(void **state)
{
	told();
	launch(2, 9000, 10000);
	copy(SPY_DIR_HTOD, true, 4 * MIB, 25000000, 26500000);
	call(OTHER, 0, 30000000, 30000100);
	finish();
	assert_true(total()->busy < 1700000);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 0);
}

static void test_a_slow_call_behind_unknown_work(void **state)
{
	told();
	launch(2, 9000, 10000);
	copy(SPY_DIR_HTOD, true, 4 * MIB, 30000, 1530000);
	call(OTHER, 0, 30000000, 30000100);
	finish();
	assert_true(split(0)[TF_HOST_SYNC_USEFUL] > 900000);
}

/* The third one waits for the first one's buffer. */
static void test_no_free_buffer(void **state)
{
	const uint64_t start = 10000 + START, end = start + 50000,
	               buffer = end + GAP + (uint64_t)CUDA_TO_ENGINE_NS + 7200;

	told();
	launch(1, 9000, 10000);
	copy(SPY_DIR_HTOD, true, MIB / 4, 11000, 28000);
	copy(SPY_DIR_HTOD, true, MIB / 4, 29000, 46000);
	copy(SPY_DIR_HTOD, true, MIB / 4, 47000, buffer + 17000);
	call(OTHER, 0, 600000, 600100);
	finish();
	assert_about((double)split(0)[TF_HOST_SYNC_USEFUL], (double)buffer - 47000, 2500);
	assert_int_equal(thread_at(0)->implicit_syncs, 1);
}

/* Its class's calls say what it takes itself, so the wait ends where the kernel's estimate is too
 * long. */
static void test_a_kernel_shorter_than_estimated(void **state)
{
	told();
	for (uint64_t i = 0; i < 50; i++)
		copy(SPY_DIR_DTOH, false, 65536, i * 100000, i * 100000 + 20000);
	launch(1, 6000000, 6001000);
	copy(SPY_DIR_DTOH, false, 65536, 6001500, 6031500); /* the kernel took 10 us, not 50 */
	call(OTHER, 0, 7000000, 7000100);
	finish();
	assert_about((double)total()->copies, 51 * 2690, 51 * 50);
	assert_about((double)split(0)[TF_HOST_SYNC_USEFUL], 10000, 6000);
}

/* ... and goes on where it is far too short. */
static void test_a_kernel_longer_than_estimated(void **state)
{
	told();
	for (uint64_t i = 0; i < 50; i++)
		copy(SPY_DIR_DTOH, false, 65536, i * 100000, i * 100000 + 20000);
	launch(1, 6000000, 6001000);
	copy(SPY_DIR_DTOH, false, 65536, 6001500, 6101500); /* it took 80 us */
	call(OTHER, 0, 7000000, 7000100);
	finish();
	assert_about((double)split(0)[TF_HOST_SYNC_USEFUL], 80000, 5000);
	assert_about((double)total()->busy, 51 * 2690 + 80000, 5000);
}

/* No link, no pinned copies: only what the call tells by itself is said. */
static void test_without_a_bus(void **state)
{
	copy(SPY_DIR_DTOH, true, 4 * MIB, 100000, 520000);
	copy(SPY_DIR_DTOH, true, 8, 600000, 610000);
	finish();
	assert_int_equal(on_device(0)->work, 2);
	assert_int_equal(on_device(0)->work_unknown, 1);
	assert_about((double)(total()->busy - on_device(0)->guessed_ticks), 262500, 100);
}

/* NVML answered late; from then on it is known. */
static void test_a_link_told_late(void **state)
{
	copy(SPY_DIR_DTOH, true, 8, 100000, 110000);
	timeline_advance(timeline, WINDOW + 110000);
	assert_int_equal(on_device(0)->work_unknown, 1);
	told();
	copy(SPY_DIR_DTOH, true, 8, 600000, 610000);
	finish();
	assert_int_equal(on_device(0)->work_unknown, 1);
	assert_int_equal(on_device(0)->work, 2);
}

/* NVML answered while a round was under way: its copies, of a thread that ran on meanwhile, are
 * known as well. */
static void test_a_link_told_amid_a_round(void **state)
{
	timeline_advance(timeline, WINDOW);
	tell();
	for (uint64_t i = 0; i < 40; i++)
		copy(SPY_DIR_DTOH, true, 96 << 10, 100000 + i * 65000, 115000 + i * 65000);
	finish();
	assert_int_equal(on_device(0)->work, 40);
	assert_int_equal(on_device(0)->work_unknown, 0);
	assert_int_equal(on_device(0)->guessed_ticks, 0);
}

/* A class's samples of pinned copies tell the bus as well. */
static void test_pinned_copies_tell_the_bus(void **state)
{
	struct tf_record pinned = a_copy(SPY_DIR_HTOD, SPY_MEM_PINNED, true, 8 * MIB);
	struct tf_work *w =
	        lasts(pinned, TF_WORK_COPY, ESTIMATE_ENGINE_NS + ESTIMATE_IN_NS + 8 * MIB / 25.0);

	w->count = 1;
	w->bytes = 8 * MIB;
	timeline_sample(timeline, w);
	timeline_advance(timeline, WINDOW);
	copy(SPY_DIR_HTOD, true, MIB, 100000, 174000);
	call(OTHER, 0, 600000, 600100);
	finish();
	assert_about((double)total()->busy, ESTIMATE_STAGED_IN_NS + MIB / 25.0, 10);
}

/* CUPTI says when each was. */
static void test_exact(void **state)
{
	struct tf_record a = {.call = TF_CALL_ACTIVITY, .thread = TF_WORK_COPY};

	told();
	copy(SPY_DIR_DTOH, true, 4 * MIB, 100000, 520000);
	a.start = WINDOW + 110000;
	a.end = WINDOW + 210000;
	a.stream = TF_CAUSE(0, WINDOW + 100000);
	timeline_activity(timeline, &a);
	call(OTHER, 0, 600000, 600100);
	finish();
	assert_int_equal(total()->busy, 100000);
	assert_true(class_of(SPY_DIR_DTOH, 4 * MIB)->staged_ns == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_to_the_host, start, end),
	        cmocka_unit_test_setup_teardown(test_behind_a_kernel, start, end),
	        cmocka_unit_test_setup_teardown(test_to_the_device, start, end),
	        cmocka_unit_test_setup_teardown(test_staged_behind_a_kernel, start, end),
	        cmocka_unit_test_setup_teardown(test_two_pieces_behind_a_kernel, start, end),
	        cmocka_unit_test_setup_teardown(test_first_piece_behind_a_kernel, start, end),
	        cmocka_unit_test_setup_teardown(test_first_call_behind_unknown_work, start, end),
	        cmocka_unit_test_setup_teardown(test_a_slow_call_long_after_unknown_work, start,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_a_slow_call_behind_unknown_work, start, end),
	        cmocka_unit_test_setup_teardown(test_no_free_buffer, start, end),
	        cmocka_unit_test_setup_teardown(test_one_piece, start, end),
	        cmocka_unit_test_setup_teardown(test_a_kernel_shorter_than_estimated, start, end),
	        cmocka_unit_test_setup_teardown(test_a_kernel_longer_than_estimated, start, end),
	        cmocka_unit_test_setup_teardown(test_without_a_bus, start, end),
	        cmocka_unit_test_setup_teardown(test_a_link_told_late, start, end),
	        cmocka_unit_test_setup_teardown(test_a_link_told_amid_a_round, start, end),
	        cmocka_unit_test_setup_teardown(test_pinned_copies_tell_the_bus, start, end),
	        cmocka_unit_test_setup_teardown(test_exact, start_exact, end),
	};

	return cmocka_run_group_tests_name("timeline_staged", tests, NULL, NULL);
}
