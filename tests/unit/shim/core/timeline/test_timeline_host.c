/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/shim/core/timeline/timeline_fixture.h"

static uint64_t host(enum tf_host state)
{
	return header()->host_ticks[state];
}

/* ---- whose time it is ---- */

static void test_a_thread_divides(void **state)
{
	launch(0, 1000, 4000);
	call(FREE, 0, 30000, 31000);
	call(MODULE, 0, 31000, 33000);
	call(CREATE, 0x1000, 40000, 41000);
	call(OTHER, 0, 41500, 42000);
	launch(0, 50000, 53000);
	finish();
	const uint64_t *s = split(0);
	assert_int_equal(s[TF_HOST_LAUNCH], 6000);
	assert_int_equal(s[TF_HOST_ALLOC], 1000);
	assert_int_equal(s[TF_HOST_MODULE], 2000);
	assert_int_equal(s[TF_HOST_OTHER], 1500);
	assert_int_equal(s[TF_HOST_OUTSIDE], 0); /* the reporter's to say */
	assert_int_equal(host(TF_HOST_OTHER), 1500);
	assert_int_equal(host(TF_HOST_OUTSIDE), 53000 - 6000 - 1000 - 2000 - 1500);
}

/* At each instant the merged host is the thread that issues the next work. */
static void test_two_threads(void **state)
{
	launch_on(0, 0, 0, 10000, 13000);
	launch_on(1, 0, 0, 18000, 20000);
	feed(0, (struct tf_record){.call = FREE}, 14000,
	     29000); /* the other one issued meanwhile, up to 20000 */
	launch_on(0, 0, 0, 30000, 33000);
	feed(1, (struct tf_record){.call = MODULE}, 21000, 90000); /* issues nothing more */
	finish();
	assert_int_equal(host(TF_HOST_LAUNCH), 3000 + 2000 + 3000);
	assert_int_equal(host(TF_HOST_ALLOC), 9000);
	assert_int_equal(host(TF_HOST_MODULE), 0);
	assert_int_equal(host(TF_HOST_OUTSIDE), 90000 - 8000 - 9000);
	assert_int_equal(split(0)[TF_HOST_ALLOC], 15000);
	/* loading waits for the kernels, the last of which ends 46.3 us after the window's start */
	assert_int_equal(split(1)[TF_HOST_SYNC_USEFUL], 46300 - 21000);
	assert_int_equal(split(1)[TF_HOST_MODULE], 90000 - 46300);
}

static void own(uint32_t thread, uint64_t from, uint64_t to)
{
	struct tf_record r = {.call = TF_CALL_OWN,
	                      .thread = (uint16_t)thread,
	                      .start = WINDOW + from,
	                      .end = WINDOW + to};

	timeline_call(timeline, thread, &r, TIMELINE_OWN, NULL);
}

/* What was ours is neither the call's time nor the program's outside CUDA, of the host as of the
 * GPU's idle time. */
static void test_own_time(void **state)
{
	launch(0, 1000, 4000); /* runs up to 4000 + START + 10000 */
	own(0, 30000, 70000);
	own(0, 70000, 80000); /* of the same call */
	launch(0, 80000, 83000);
	own(1, 85000, 89000); /* on nobody's way */
	launch_on(1, 0, 0, 89000, 90000);
	launch(0, 100000, 101000);
	finish();
	assert_int_equal(split(0)[TF_HOST_OWN], 50000);
	assert_int_equal(split(1)[TF_HOST_OWN], 4000);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 7000);
	assert_int_equal(host(TF_HOST_OWN), 54000);
	assert_int_equal(host(TF_HOST_OUTSIDE), 101000 - 54000 - 8000);
	assert_int_equal(total()->idle[TF_IDLE_OWN], 50000);
	assert_int_equal(total()->idle[TF_IDLE_OUTSIDE], 1000 + 30000 - 14000 - START);
}

/* It leaves alone what calls nested in the call to come took. */
static void test_own_time_and_nested_calls(void **state)
{
	struct tf_record nested = {.call = MODULE, .flags = TF_NESTED};

	own(0, 1000, 5000);
	feed(0, nested, 6000, 8000);
	own(0, 5000, 5500);
	launch(0, 5500, 10000);
	finish();
	assert_int_equal(split(0)[TF_HOST_OWN], 4500);
	assert_int_equal(split(0)[TF_HOST_MODULE], 2000);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 2500);
}

static void test_before_the_window(void **state)
{
	struct tf_record r = {.call = MODULE, .start = WINDOW - 5000, .end = WINDOW + 1000};

	timeline_call(timeline, 0, &r, SPY_CLASS_MODULE, NULL);
	launch(0, 2000, 3000);
	finish();
	assert_int_equal(split(0)[TF_HOST_MODULE], 1000);
	assert_int_equal(host(TF_HOST_MODULE), 1000);
}

static void test_nested_calls(void **state)
{
	struct tf_record nested = {.call = MODULE, .flags = TF_NESTED};

	launch(0, 10000, 13000);
	feed(0, nested, 20500, 28000);
	nested.call = SYNC;
	feed(0, nested, 28000, 28500);
	launch(0, 20000, 29000);
	finish();
	/* loading waits for the kernel, until 24.8 us after the window's start */
	assert_int_equal(split(0)[TF_HOST_MODULE], 28000 - 24800);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL] + split(0)[TF_HOST_SYNC_WASTED],
	                 500 + 24800 - 20500);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 4000);
	assert_int_equal(host(TF_HOST_LAUNCH), 4000);
	assert_int_equal(host(TF_HOST_MODULE), 28000 - 24800);
}

/* More nested calls than are told apart: their time stays out of the caller's. */
static void test_many_nested_calls(void **state)
{
	for (uint64_t i = 0; i < 50; i++)
		feed(0, (struct tf_record){.call = FREE, .flags = TF_NESTED}, 20000 + i * 100,
		     20100 + i * 100);
	launch(0, 19000, 26000);
	finish();
	assert_int_equal(split(0)[TF_HOST_ALLOC], 5000);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 2000);
}

/* ---- launches ---- */

static void test_first_launch_loads(void **state)
{
	struct tf_record r = a_kernel(0);

	launch(0, 10000, 13000);
	r.flags = TF_FIRST;
	feed(0, r, 20000, 60000);
	finish();
	assert_int_equal(split(0)[TF_HOST_MODULE], 37000);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 6000);
	assert_int_equal(split(0)[TF_HOST_CONTENTION], 0);
	assert_int_equal(thread_at(0)->first_ticks, 40000);
}

static void test_contention(void **state)
{
	uint64_t at = 10000;

	for (int i = 0; i < 100; i++, at += 20000)
		launch(0, at, at + 3000);
	feed(1, (struct tf_record){.call = OTHER}, at + 1000, at + 70000);
	launch(0, at, at + 80000);
	finish();
	assert_int_equal(split(0)[TF_HOST_CONTENTION], 77000);
	assert_int_equal(split(0)[TF_HOST_BACK_PRESSURE], 0);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 100 * 3000 + 3000);
}

/* No other thread called meanwhile: nobody held it up. */
static void test_no_contention_with_itself(void **state)
{
	uint64_t at = 10000;

	for (int i = 0; i < 100; i++, at += 20000)
		launch(0, at, at + 3000);
	launch_on(1, 0x1000, 0, at - 5000, at - 1000);
	launch(0, at, at + 80000);
	finish();
	assert_int_equal(split(0)[TF_HOST_CONTENTION], 0);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 100 * 3000 + 80000);
}

static void a_kernel_of_10_us(uint64_t from, uint64_t to)
{
	launch(0, from, to);
}

static struct tf_record a_graph(void)
{
	struct tf_record r = {.call = GRAPH};

	r.graph.graph = 1;
	r.graph.handle = 0x77;
	return r;
}

static void a_graph_of_10_us(uint64_t from, uint64_t to)
{
	lasts(a_graph(), TF_WORK_GRAPH, 10000);
	feed(0, a_graph(), from, to);
}

/*
 * Launches every 3 us, with `events` records of an event behind each, of kernels or graphs of `gpu`
 * ns, which are believed to take 10 us; the driver's queue of `room` blocks.
 */
static uint64_t fill_queue_of(void (*give)(uint64_t, uint64_t), int room, uint64_t gpu,
                              int launches, int events)
{
	static uint64_t ends[1 << 14];
	uint64_t at = 10000, blocked = 0;

	for (int i = 0; i < launches; i++) {
		uint64_t to = at + 3000;
		if (i >= room && ends[i - room] + 3000 > to) {
			blocked += ends[i - room] + 3000 - to;
			to = ends[i - room] + 3000;
		}
		uint64_t start = to + START;
		if (i && ends[i - 1] + GAP > start)
			start = ends[i - 1] + GAP;
		ends[i] = start + gpu;
		give(at, to);
		at = to;
		for (int k = 0; k < events; k++, at += 200)
			on_event(RECORD, 0xe1, 0, at, at + 200);
		if (i % 300 == 0)
			timeline_advance(timeline, WINDOW + at);
	}
	call(SYNC, 0, at, ends[launches - 1] + RETURN);
	finish();
	return blocked;
}

static uint64_t fill_queue_with(int room, uint64_t gpu, int launches, int events)
{
	return fill_queue_of(a_kernel_of_10_us, room, gpu, launches, events);
}

static uint64_t fill_queue(uint64_t gpu, int launches)
{
	return fill_queue_with(1022, gpu, launches, 0);
}

static void test_queue_full(void **state)
{
	uint64_t blocked = fill_queue(10000, 6000);

	assert_near((double)split(0)[TF_HOST_BACK_PRESSURE], (double)blocked, 0.01);
	assert_int_equal(split(0)[TF_HOST_CONTENTION], 0);
	assert_near((double)split(0)[TF_HOST_LAUNCH], 6000 * 3000, 0.01);
	assert_near((double)total()->busy, 6000 * 10000, 0.01);
}

/* A graph's launch takes one place, however many kernels it has. */
static void test_queue_full_of_graphs(void **state)
{
	uint64_t blocked = fill_queue_of(a_graph_of_10_us, 1022, 10000, 6000, 0);

	assert_near((double)split(0)[TF_HOST_BACK_PRESSURE], (double)blocked, 0.01);
	assert_near((double)split(0)[TF_HOST_LAUNCH], 6000 * 3000, 0.01);
	assert_near((double)total()->busy, 6000 * 10000, 0.01);
}

/* Some hundred graphs are queued: the launch that takes long has places enough. */
static void test_a_graph_behind_some_is_not_held_up(void **state)
{
	uint64_t at = 10000;

	lasts(a_graph(), TF_WORK_GRAPH, 50000);
	for (int i = 0; i < 300; i++, at += 3000)
		feed(0, a_graph(), at, at + 3000);
	feed(0, a_graph(), at, at + 60000);
	call(SYNC, 0, at + 60000, 10000 + 3000 + START + 301 * 50000 + 300 * GAP + RETURN);
	finish();
	assert_int_equal(split(0)[TF_HOST_BACK_PRESSURE], 0);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 300 * 3000 + 60000);
	assert_int_equal(total()->busy, 301 * 50000);
}

/* The kernels take twice as long as is believed: the queue tells. */
static void test_queue_full_of_longer_work(void **state)
{
	uint64_t blocked = fill_queue(20000, 6000);

	assert_near((double)split(0)[TF_HOST_BACK_PRESSURE], (double)blocked, 0.03);
	assert_near((double)total()->busy, 6000 * 20000, 0.04);
}

/* A small copy heads the queue, which others (the sampler) fill too: not the copy lasted so long.
 */
static void test_queue_full_behind_a_copy(void **state)
{
	feed(0, a_copy(SPY_DIR_HTOD, SPY_MEM_PINNED, true, 4096), 5000, 8000);
	uint64_t blocked = fill_queue_with(940, 40000, 6000, 0);
	assert_true(total()->copies < 20000);
	assert_near((double)split(0)[TF_HOST_BACK_PRESSURE], (double)blocked, 0.01);
	assert_near((double)total()->busy, 6000 * 40000, 0.04);
}

/* 50 kernels that a wait showed ended, 50 ms without any, and then as many as fill the queue, with
 * some of the sampler's: none of the first lasted until there was room again. */
static void test_queue_full_since_a_wait(void **state)
{
	const uint64_t again = 50000000;
	uint64_t at = 10000;

	for (int i = 0; i < 50; i++, at += 3000)
		launch(0, at, at + 3000);
	call(SYNC, 0, at, 10000 + 3000 + START + 50 * 10000 + 49 * GAP + RETURN);
	at = again;
	for (int i = 0; i < 1000; i++, at += 3000)
		launch(1, at, at + 3000);
	launch(1, at, at + 100000);
	call(SYNC, 0, at + 100000, again + 3000 + START + 1001 * 50000 + 1000 * GAP + RETURN);
	finish();
	assert_true(split(0)[TF_HOST_BACK_PRESSURE] > 90000);
	assert_near((double)total()->busy, 50 * 10000 + 1001 * 50000, 0.03);
}

/* Half as long: what is believed to be in the queue cannot be. */
static void test_queue_full_of_shorter_work(void **state)
{
	uint64_t blocked = fill_queue(5000, 6000);

	assert_near((double)split(0)[TF_HOST_BACK_PRESSURE] + (double)split(0)[TF_HOST_CONTENTION],
	            (double)blocked, 0.05);
	assert_near((double)split(0)[TF_HOST_LAUNCH], 6000 * 3000, 0.05);
	assert_near((double)(total()->busy + total()->idle[TF_IDLE_DEPENDENCY]), 6000 * 5750, 0.05);
}

/* Events are no entries: three behind each launch leave room for as many launches, and wait for
 * none. */
static void test_events_do_not_fill_the_queue(void **state)
{
	uint64_t blocked = fill_queue_with(1022, 10000, 6000, 3);

	assert_near((double)split(0)[TF_HOST_BACK_PRESSURE], (double)blocked, 0.01);
	assert_near((double)split(0)[TF_HOST_LAUNCH], 6000 * 3000, 0.01);
	assert_near((double)total()->busy, 6000 * 10000, 0.01);
}

/* As many launches as the queue holds, three events behind each: nothing of it is full. */
static void test_a_launch_among_events_is_not_held_up(void **state)
{
	uint64_t at = 10000;

	for (int i = 0; i < 700; i++) {
		launch(1, at, at + 3000);
		at += 3000;
		for (int k = 0; k < 3; k++, at += 200)
			on_event(RECORD, 0xe1, 0, at, at + 200);
	}
	launch(1, at, at + 30000);
	call(SYNC, 0, at + 40000, 10000 + 3000 + START + 701 * 50000 + 700 * GAP + RETURN);
	finish();
	assert_int_equal(split(0)[TF_HOST_BACK_PRESSURE], 0);
	assert_int_equal(total()->busy, 701 * 50000);
}

/* Copies have a queue of their own: 1000 of them behind as many kernels fill neither. */
static void test_engines_have_queues_of_their_own(void **state)
{
	struct tf_record copy = a_copy(SPY_DIR_DTOH, SPY_MEM_PINNED, true, 1 << 20);
	uint64_t at = 10000;

	lasts(copy, TF_WORK_COPY, ESTIMATE_ENGINE_NS + 50000);
	for (int i = 0; i < 1000; i++, at += 6000) {
		launch(1, at, at + 3000);
		feed(0, copy, at + 3000, at + 6000);
	}
	feed(0, copy, at, at + 30000);
	uint64_t steps = 50000 * 2 + 2 * GAP + (uint64_t)(CUDA_TO_ENGINE_NS + CUDA_FROM_ENGINE_NS);
	call(SYNC, 0, at + 40000, 10000 + 3000 + START + 1000 * steps + 50000 + RETURN);
	finish();
	assert_int_equal(split(0)[TF_HOST_COPY], 1000 * 3000 + 3000);
	assert_near((double)total()->busy, 2001 * 50000, 0.001);
}

/* ---- calls that turn out to wait ---- */

static void test_blocking_copy_waits(void **state)
{
	struct tf_record copy = a_copy(SPY_DIR_DTOH, SPY_MEM_PINNED, false, 1 << 20);
	uint64_t at = 10000;

	lasts(copy, TF_WORK_COPY, ESTIMATE_ENGINE_NS + 20000);
	for (int i = 0; i < 3; i++, at += 100000) /* by itself it takes 25 us */
		feed(0, copy, at, at + 25000);
	assert_int_equal(thread_at(0)->implicit_syncs, 0);
	launch(1, at, at + 3000); /* [at + 4800, at + 54800) */
	feed(0, copy, at + 4000, at + 54800 + 23200);
	call(OTHER, 0, at + 90000, at + 100000);
	finish();
	assert_int_equal(thread_at(0)->implicit_syncs, 1);
	assert_near((double)split(0)[TF_HOST_SYNC_USEFUL], 54800 - 4000, 0.06);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL] + split(0)[TF_HOST_COPY], 3 * 25000 + 74000);
	assert_near((double)total()->busy, 3 * 20000 + 50000 + 20000, 0.03);
}

static void test_free_waits(void **state)
{
	uint64_t at = 10000;

	for (int i = 0; i < 5; i++, at += 100000)
		call(FREE, 0, at, at + 2000);
	launch(1, at, at + 3000); /* [at + 4800, at + 54800) */
	call(FREE, 0, at + 4000, at + 57500);
	finish();
	assert_int_equal(thread_at(0)->implicit_syncs, 1);
	assert_int_equal(split(0)[TF_HOST_ALLOC], 6 * 2000);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 51500);
}

/* A call that takes long while the GPU has nothing to do waits for something else. */
static void test_a_slow_allocation_is_no_wait(void **state)
{
	uint64_t at = 10000;

	for (int i = 0; i < 5; i++, at += 100000)
		call(FREE, 0, at, at + 2000);
	call(FREE, 0, at, at + 57500);
	finish();
	assert_int_equal(thread_at(0)->implicit_syncs, 0);
	assert_int_equal(split(0)[TF_HOST_ALLOC], 5 * 2000 + 57500);
}

/* ---- the rest ---- */

static void test_off(void **state)
{
	uint64_t at = 10000;

	for (int i = 0; i < 2000; i++, at += 4000)
		launch(0, at, at + 3000);
	launch(0, at, at + 50000);
	call(SYNC, 0, at + 60000, at + 90000);
	finish();
	for (unsigned d = 0; d < TF_DEVICES_TIMED; d++)
		assert_null(on_device(d));
	assert_int_equal(header()->streams.count, 0);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 2000 * 3000 + 50000);
	assert_int_equal(split(0)[TF_HOST_BACK_PRESSURE] + split(0)[TF_HOST_CONTENTION], 0);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 30000);
	assert_int_equal(split(0)[TF_HOST_SYNC_WASTED], 0);
	assert_int_equal(host(TF_HOST_LAUNCH), 2000 * 3000 + 50000);
}

/* Millions of calls between two pieces of work: only their sums are known any more, and they still
 * divide. */
static void test_long_histories(void **state)
{
	const uint64_t polls = 1000000;
	uint64_t at = 10000;

	launch(0, at, at + 3000);
	for (uint64_t i = 0; i < polls; i++, at += 1000) {
		struct tf_record r = {.call = i % 2 ? FREE : OTHER};
		feed(0, r, at + 4000, at + 4500);
	}
	launch(0, at + 5000, at + 8000);
	finish();
	assert_near((double)host(TF_HOST_ALLOC), (double)(polls / 2 * 500), 0.01);
	assert_near((double)host(TF_HOST_OTHER), (double)(polls / 2 * 500), 0.01);
	assert_near((double)total()->idle[TF_IDLE_ALLOC], (double)(polls / 2 * 500), 0.01);
	assert_int_equal(total()->idle[TF_IDLE_UNKNOWN], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_a_thread_divides, start, end),
	        cmocka_unit_test_setup_teardown(test_two_threads, start, end),
	        cmocka_unit_test_setup_teardown(test_own_time, start, end),
	        cmocka_unit_test_setup_teardown(test_own_time_and_nested_calls, start, end),
	        cmocka_unit_test_setup_teardown(test_before_the_window, start, end),
	        cmocka_unit_test_setup_teardown(test_nested_calls, start, end),
	        cmocka_unit_test_setup_teardown(test_many_nested_calls, start, end),
	        cmocka_unit_test_setup_teardown(test_first_launch_loads, start, end),
	        cmocka_unit_test_setup_teardown(test_contention, start, end),
	        cmocka_unit_test_setup_teardown(test_no_contention_with_itself, start, end),
	        cmocka_unit_test_setup_teardown(test_queue_full, start, end),
	        cmocka_unit_test_setup_teardown(test_queue_full_of_graphs, start, end),
	        cmocka_unit_test_setup_teardown(test_a_graph_behind_some_is_not_held_up, start,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_queue_full_of_longer_work, start, end),
	        cmocka_unit_test_setup_teardown(test_queue_full_behind_a_copy, start, end),
	        cmocka_unit_test_setup_teardown(test_queue_full_since_a_wait, start, end),
	        cmocka_unit_test_setup_teardown(test_queue_full_of_shorter_work, start, end),
	        cmocka_unit_test_setup_teardown(test_events_do_not_fill_the_queue, start, end),
	        cmocka_unit_test_setup_teardown(test_a_launch_among_events_is_not_held_up, start,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_engines_have_queues_of_their_own, start, end),
	        cmocka_unit_test_setup_teardown(test_blocking_copy_waits, start, end),
	        cmocka_unit_test_setup_teardown(test_free_waits, start, end),
	        cmocka_unit_test_setup_teardown(test_a_slow_allocation_is_no_wait, start, end),
	        cmocka_unit_test_setup_teardown(test_off, start_off, end),
	        cmocka_unit_test_setup_teardown(test_long_histories, start, end),
	};

	return cmocka_run_group_tests_name("timeline_host", tests, NULL, NULL);
}
