/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/shim/core/timeline/exact_fixture.h"

static void test_exact_times(void **state)
{
	launch(0, 10000, 11000);
	launch(0, 12000, 13000);
	call(SYNC, 0, 14000, 60000);
	activity(0, 10000, TF_WORK_KERNEL, 12000, 22000);
	activity(0, 12000, TF_WORK_KERNEL, 23000, 57000);
	finish();
	assert_int_equal(total()->busy, 44000);
	assert_int_equal(total()->idle[TF_IDLE_DEPENDENCY], 1000);
	assert_int_equal(total()->idle[TF_IDLE_SYNC], 3000);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 57000 - 14000);
	assert_int_equal(split(0)[TF_HOST_SYNC_WASTED], 3000);
	assert_int_equal(kernel_at(0)->queue_count, 2);
	assert_int_equal(kernel_at(0)->queue_ticks, 1000 + 10000);
	struct tf_work key;
	struct tf_record r = a_kernel(0);
	work_key(&key, TF_WORK_KERNEL, &r);
	const struct tf_work *w = work_known(&made.map, &key);
	assert_int_equal(w->exact_count, 2);
	assert_true(w->exact_ns == 44000);
	struct estimate_costs costs;
	estimate_costs(&made.map, &costs);
	assert_true(estimate_ns(&costs, w) == 22000);
	const struct tf_stream *s = tf_entry(&made.map, &header()->streams, 0, sizeof(*s));
	assert_int_equal(s->kernels, 2);
	assert_int_equal(s->kernel_ticks, 44000);
}

/* What came out must not depend on when the activities are delivered. */
static void test_activities_come_late(void **state)
{
	launch(0, 10000, 11000);
	call(SYNC, 0, 14000, 60000);
	advance(70000);
	assert_int_equal(header()->timeline_upto, 0);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 0);
	launch(0, 80000, 81000);
	advance(1000000000);
	activity(0, 10000, TF_WORK_KERNEL, 20000, 50000);
	activity(0, 80000, TF_WORK_KERNEL, 90000, 95000);
	advance(1100000000);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 36000);
	call(OTHER, 0, 1200000000, 1200001000);
	finish();
	assert_int_equal(total()->busy, 35000);
	assert_int_equal(on_device(0)->work, 2);
}

/*
 * The collector comes round while the last activities are still to come: the queue is as full as it
 * was at the time of each launch, not as it is by then.
 */
static void test_queue_full_while_calls_wait(void **state)
{
	static uint64_t entry[1 << 12], done[1 << 12];
	uint64_t at = 10000, full = 0;
	int told = 0;

	for (int i = 0; i < 3000; i++) {
		uint64_t to = at + 3000;
		if (i >= 1022 && done[i - 1022] > to) {
			full += done[i - 1022] - to;
			to = done[i - 1022];
		}
		entry[i] = at;
		done[i] = (i ? done[i - 1] : to + 1000) + 50000;
		launch(0, at, to);
		at = to;
		for (; done[told] < at; told++)
			activity(0, entry[told], TF_WORK_KERNEL, done[told] - 50000, done[told]);
		if (i % 20 == 0)
			advance(at);
	}
	for (; told < 3000; told++)
		activity(0, entry[told], TF_WORK_KERNEL, done[told] - 50000, done[told]);
	call(SYNC, 0, at, done[2999] + 1000);
	finish();
	assert_near((double)split(0)[TF_HOST_BACK_PRESSURE], (double)full, 0.01);
	assert_int_equal(split(0)[TF_HOST_CONTENTION], 0);
}

/* A collector that is late takes CUPTI's records of many calls before those of the calls: nothing
 * is counted twice. */
static void test_many_activities_before_their_calls(void **state)
{
	for (uint64_t i = 0; i < 1000; i++)
		activity(0, 10000 * (i + 1), TF_WORK_KERNEL, 10000 * (i + 1) + 2000,
		         10000 * (i + 1) + 9000);
	advance(10000);
	for (uint64_t i = 0; i < 1000; i++)
		launch(0, 10000 * (i + 1), 10000 * (i + 1) + 1000);
	call(SYNC, 0, 10012000, 10020000);
	finish();
	assert_int_equal(total()->busy, 1000 * 7000);
	assert_int_equal(on_device(0)->work, 1000);
}

/* A blocking call's work is over before the call returns. */
static void test_activity_before_its_call(void **state)
{
	struct tf_record copy = a_copy(SPY_DIR_DTOH, SPY_MEM_PINNED, false, 1 << 20);

	activity(0, 10000, TF_WORK_COPY, 12000, 32000);
	advance(33000);
	assert_null(on_device(0));
	feed(0, copy, 10000, 34000);
	advance(50000);
	call(OTHER, 0, 60000, 61000);
	finish();
	assert_int_equal(total()->copies, 20000);
	assert_int_equal(total()->idle[TF_IDLE_UNKNOWN], 0);
	assert_int_equal(total()->idle[TF_IDLE_COPY], 2000 + 2000);
}

/* Of a graph each node counts as busy; the gaps between them do not. */
static void test_graph_nodes(void **state)
{
	struct tf_record r = {.call = GRAPH};
	struct tf_work key;

	r.graph.graph = made_graph(&made, 0x77, 1);
	r.graph.handle = 0x77;
	feed(0, r, 10000, 11000);
	for (uint64_t i = 0; i < 3; i++) {
		node(10000, 20000 + i * 10000, 28000 + i * 10000);
		advance(60000 + i); /* more may come */
	}
	call(SYNC, 0, 12000, 50000);
	advance(70000);
	finish();
	assert_int_equal(total()->busy, 24000);
	work_key(&key, TF_WORK_GRAPH, &r);
	const struct tf_work *w = work_known(&made.map, &key);
	assert_int_equal(w->exact_count, 1);
	assert_true(w->exact_ns == 28000);
	assert_int_equal(kernel_at(0)->queue_count, 0);
}

static void test_unknown_cause(void **state)
{
	launch(0, 10000, 11000);
	activity(0, 10000, TF_WORK_KERNEL, 20000, 30000);
	activity(0, UINT64_MAX, TF_WORK_KERNEL, 50000, 60000);
	call(OTHER, 0, 90000, 100000);
	finish();
	assert_int_equal(total()->busy, 20000);
	assert_int_equal(total()->idle[TF_IDLE_UNKNOWN], 20000);
}

/* An activity that never comes holds things up for some seconds; then the estimate stands for it.
 */
static void test_lost_activities(void **state)
{
	launch(0, 10000, 11000);
	for (int i = 0; i < 5; i++) {
		advance(1000000000ull * (unsigned)i);
		assert_int_equal(split(0)[TF_HOST_LAUNCH], i < 4 ? 0 : 1000);
	}
	call(OTHER, 0, 5000000000ull, 5000001000ull);
	finish();
	assert_int_equal(total()->busy, 10000); /* its class is known from pairs */
}

/* Calls of a kind that never has activities are not waited for any more. */
static void test_calls_without_activities(void **state)
{
	uint64_t at = 10000;

	for (int i = 0; i < 40; i++, at += 100000)
		launch(4, at, at + 1000);
	advance(at + 4000000000ull);
	launch(4, at + 4000000000ull, at + 4000001000ull);
	advance(at + 4000100000ull);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 41 * 1000);
	finish();
	assert_int_equal(on_device(0)->work, 41 - 1); /* the last one starts after the window */
	assert_int_equal(on_device(0)->work_unknown, 41 - 1);
}

/* Another tool took CUPTI: what came after is estimated, from the exact times before. */
static void test_partial(void **state)
{
	launch(5, 10000, 11000);
	activity(0, 10000, TF_WORK_KERNEL, 20000, 27000);
	advance(100000);
	header()->gpu_partial = WINDOW + 150000;
	launch(5, 200000, 201000);
	advance(300000);
	call(OTHER, 0, 400000, 410000);
	finish();
	assert_int_equal(total()->busy, 14000);
	assert_int_equal(on_device(0)->work_unknown, 0);
}

/* More calls wait than there is room for: the oldest are settled by estimate. */
static void test_too_many_wait(void **state)
{
	uint64_t at = 10000;

	for (int i = 0; i < 300000; i++, at += 20000)
		launch(0, at, at + 1000);
	assert_true(split(0)[TF_HOST_LAUNCH] > 100000000);
	call(OTHER, 0, at, at + 1000);
	finish();
	assert_int_equal(on_device(0)->work, 300000);
	assert_near((double)total()->busy, 300000.0 * 10000, 0.001);
}

static void test_more_activities_than_fit(void **state)
{
	for (uint64_t i = 0; i < 200000; i++)
		activity(0, UINT64_MAX, TF_WORK_KERNEL, 10000 + i * 100, 10050 + i * 100);
	call(OTHER, 0, 40000000, 40000100);
	finish();
	assert_int_equal(on_device(0)->work, 200000);
	assert_int_equal(total()->busy, 200000 * 50);
}

/* Of a graph that begins with a function of the host's CUPTI does not tell the device. */
static void test_a_graph_without_a_device(void **state)
{
	struct tf_record r = {.call = GRAPH},
	                 a = {.call = TF_CALL_ACTIVITY, .thread = TF_WORK_GRAPH};

	r.graph.graph = 1;
	feed(0, r, 10000, 11000);
	call(SYNC, 0, 12000, 60000);
	a.start = WINDOW + 20000;
	a.end = WINDOW + 50000;
	a.stream = TF_CAUSE(0, WINDOW + 10000);
	a.activity.device = TF_DEVICE_OF_CALL;
	timeline_activity(timeline, &a);
	finish();
	assert_int_equal(total()->busy, 30000);
	assert_int_equal(header()->timeline_unknown, 0);
}

/*
 * CUPTI gives one of three alike copies an end, or a start, 15 ms off, while kernels of its stream
 * run: it takes what the others do. What speaks against it may come one round after it.
 */
static void copies_one_of_which(uint64_t bytes, enum spy_memory memory, uint64_t from, uint64_t to,
                                uint64_t other_stream)
{
	struct tf_record copy =
	        a_copy(memory == SPY_MEM_DEVICE ? SPY_DIR_DTOD : SPY_DIR_HTOD, memory, true, bytes);
	const uint64_t second = 20 * MS;

	for (uint64_t at = 10 * MS; at <= 30 * MS; at += 10 * MS) {
		feed(0, copy, at, at + 1000);
		launch_on(0, other_stream, 0, at + 2000, at + 3000);
	}
	call(SYNC, 0, 40 * MS, 41 * MS);
	for (uint64_t at = 10 * MS; at <= 30 * MS; at += 10 * MS) {
		activity(0, at, TF_WORK_COPY, at == second ? from : at + 3000,
		         at == second ? to : at + 4000);
		advance(42 * MS + at / 10);
		activity(0, at + 2000, TF_WORK_KERNEL, at + 5000, at + 8000);
	}
	for (uint64_t now = 50; now < 60; now++)
		advance(now * MS);
	finish();
}

static const struct tf_work *class_of_copies(uint64_t bytes)
{
	struct tf_record copy = a_copy(SPY_DIR_DTOD, SPY_MEM_DEVICE, true, bytes);
	struct tf_work key;

	work_key(&key, TF_WORK_COPY, &copy);
	return work_known(&made.map, &key);
}

/* 15 ms are little for so many bytes: what else the stream does tells. */
#define MANY_BYTES (1 << 20)

/* Of copies that exclude each other the slow one is not believed, though the others come first. */
static void test_untrue_among_long_ones(void **state)
{
	struct tf_record copy = a_copy(SPY_DIR_DTOD, SPY_MEM_DEVICE, true, 1 << 30);

	for (uint64_t i = 0; i < 4; i++)
		feed(0, copy, (10 + 2 * i) * MS, (10 + 2 * i) * MS + 1000);
	for (uint64_t i = 0; i < 4; i++)
		activity(0, (10 + 2 * i) * MS, TF_WORK_COPY, (i == 2 ? 9 : 10 + 2 * i) * MS + 5000,
		         (12 + 2 * i) * MS + 5000);
	for (uint64_t now = 50; now < 60; now++)
		advance(now * MS);
	finish();
	const struct tf_work *w = class_of_copies(1 << 30);
	assert_int_equal(w->exact_count, 3);
	assert_true(w->exact_ns == 6e6);
	assert_int_equal(header()->timeline_unknown, 1);
}

/* Two records of one copy go together. */
static void test_untrue_in_pieces(void **state)
{
	struct tf_record copy = a_copy(SPY_DIR_DTOD, SPY_MEM_DEVICE, true, 65536);

	feed(0, copy, 10 * MS, 10 * MS + 1000);
	launch(0, 11 * MS, 11 * MS + 1000);
	feed(0, copy, 12 * MS, 12 * MS + 1000);
	call(SYNC, 0, 30 * MS, 31 * MS);
	activity(0, 10 * MS, TF_WORK_COPY, 10 * MS + 3000, 10 * MS + 4000);
	activity(0, 10 * MS, TF_WORK_COPY, 10 * MS + 4000, 25 * MS);
	activity(0, 11 * MS, TF_WORK_KERNEL, 11 * MS + 3000, 11 * MS + 6000);
	activity(0, 12 * MS, TF_WORK_COPY, 12 * MS + 3000, 12 * MS + 4000);
	for (uint64_t now = 50; now < 60; now++)
		advance(now * MS);
	finish();
	assert_int_equal(total()->busy, 1000 + 3000 + 1000);
	assert_int_equal(on_device(0)->work, 3);
}

/* What overlaps by less than the clocks can tell is true. */
static void test_clocks_grain(void **state)
{
	struct tf_record copy = a_copy(SPY_DIR_DTOD, SPY_MEM_DEVICE, true, 1 << 30);

	launch(0, 10 * MS, 10 * MS + 1000);
	feed(0, copy, 11 * MS, 11 * MS + 1000);
	call(SYNC, 0, 13 * MS, 15 * MS);
	activity(0, 10 * MS, TF_WORK_KERNEL, 12 * MS, 12 * MS + 1500);
	activity(0, 11 * MS, TF_WORK_COPY, 12 * MS + 1100, 14 * MS);
	for (uint64_t now = 50; now < 60; now++)
		advance(now * MS);
	finish();
	assert_int_equal(class_of_copies(1 << 30)->exact_count, 1);
	assert_int_equal(total()->busy, 2 * MS);
}

static void test_untrue_end(void **state)
{
	copies_one_of_which(MANY_BYTES, SPY_MEM_DEVICE, 20 * MS + 3000, 35 * MS, 0);
	assert_int_equal(total()->busy, 3 * (1000 + 3000));
	assert_int_equal(class_of_copies(MANY_BYTES)->exact_count, 2);
	assert_int_equal(header()->timeline_unknown, 1);
}

static void test_untrue_start(void **state)
{
	copies_one_of_which(MANY_BYTES, SPY_MEM_DEVICE, 5 * MS, 20 * MS + 4000, 0);
	assert_int_equal(total()->busy, 3 * (1000 + 3000));
	assert_int_equal(class_of_copies(MANY_BYTES)->exact_count, 2);
	assert_int_equal(header()->timeline_unknown, 1);
}

/* Long ones that nothing speaks against. */
static void test_long_copy(void **state)
{
	/* The kernels are another stream's. */
	copies_one_of_which(MANY_BYTES, SPY_MEM_DEVICE, 20 * MS + 3000, 29 * MS, 0x1000);
	assert_int_equal(total()->busy, 9 * MS - 3000 + 2 * (1000 + 3000));
	assert_int_equal(class_of_copies(MANY_BYTES)->exact_count, 3);
	assert_int_equal(header()->timeline_unknown, 0);
}

/* Nothing else is of its stream, but 12 bytes do not take 9 ms. */
static void test_untrue_for_so_few_bytes(void **state)
{
	copies_one_of_which(12, SPY_MEM_DEVICE, 20 * MS + 3000, 29 * MS, 0x1000);
	assert_int_equal(total()->busy, 3 * (1000 + 3000));
	assert_int_equal(class_of_copies(12)->exact_count, 2);
	assert_true(class_of_copies(12)->exact_ns == 2000);
	assert_int_equal(header()->timeline_unknown, 1);
}

/* Unless the host has a part in the copy, which may be kept from it. */
static void test_few_bytes_that_are_staged(void **state)
{
	copies_one_of_which(12, SPY_MEM_PAGEABLE, 20 * MS + 3000, 29 * MS, 0x1000);
	assert_int_equal(header()->timeline_unknown, 0);
}

static void test_damaged_activities(void **state)
{
	struct tf_record r = {.call = TF_CALL_ACTIVITY,
	                      .thread = TF_WORK_KERNEL,
	                      .start = WINDOW + 10,
	                      .end = WINDOW + 5};

	timeline_activity(timeline, &r);
	r.end = UINT64_MAX;
	timeline_activity(timeline, &r);
	r.end = WINDOW + 20;
	r.activity.device = 16;
	timeline_activity(timeline, &r);
	r.activity.device = 0;
	r.thread = TF_WORK_NULL;
	timeline_activity(timeline, &r);
	assert_int_equal(header()->timeline_unknown, 4);
	r.thread = TF_WORK_KERNEL;
	r.activity.kernel = UINT32_MAX;
	timeline_activity(timeline, &r);
	finish();
}

static void test_anything(void **state)
{
	uint64_t at = 1000, x = 88172645463325252ull;

	for (int i = 0; i < 50000; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		uint64_t from = at + x % 3000, to = from + (x >> 20) % 5000;
		if (x >> 60 == 0) {
			call(SYNC, 0, from, to);
		} else {
			launch_on(0, (x >> 33) % 3 * 0x1000, (x >> 40) % 8, from, to);
			if (x >> 61)
				activity(0, from, TF_WORK_KERNEL + (x >> 50) % 4,
				         from + (x >> 30) % 100000,
				         from + (x >> 30) % 100000 + (x >> 10) % 20000);
		}
		at = to;
		if (i % 500 == 0)
			advance(at);
	}
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_exact_times, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_activities_come_late, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_queue_full_while_calls_wait, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_activity_before_its_call, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_many_activities_before_their_calls,
	                                        start_exact, end),
	        cmocka_unit_test_setup_teardown(test_graph_nodes, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_unknown_cause, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_lost_activities, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_calls_without_activities, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_partial, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_too_many_wait, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_more_activities_than_fit, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_a_graph_without_a_device, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_untrue_among_long_ones, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_untrue_in_pieces, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_clocks_grain, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_untrue_end, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_untrue_for_so_few_bytes, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_few_bytes_that_are_staged, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_untrue_start, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_long_copy, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_damaged_activities, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_anything, start_exact, end),
	};

	return cmocka_run_group_tests_name("timeline_exact", tests, NULL, NULL);
}
