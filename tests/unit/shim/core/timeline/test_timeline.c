/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/shim/core/timeline/timeline_fixture.h"

/* ---- places ---- */

/* One kernel: it starts a latency after the launch, and what came before is idle time by what the
 * thread did. */
static void test_one_kernel(void **state)
{
	call(OTHER, 0, 10000, 14000);
	launch(0, 20000, 23000);
	call(OTHER, 0, 100000, 101000);
	finish();
	assert_int_equal(total()->busy, 10000);
	assert_int_equal(total()->kernels, 10000);
	assert_int_equal(total()->idle[TF_IDLE_LAUNCH], 3000 + START);
	assert_int_equal(total()->idle[TF_IDLE_OUTSIDE], 101000 - 10000 - 3000 - START);
	assert_int_equal(on_device(0)->from, WINDOW);
	assert_int_equal(on_device(0)->until, WINDOW + 101000);
	assert_int_equal(on_device(0)->work, 1);
	assert_int_equal(on_device(0)->work_unknown, 0);
	assert_int_equal(kernel_at(0)->queue_count, 1);
	assert_int_equal(kernel_at(0)->queue_ticks, START);
}

/* Kernels queue on their stream, a gap between them. */
static void test_stream_order(void **state)
{
	for (int i = 0; i < 4; i++)
		launch(0, 10000 + i * 1000, 10900 + i * 1000);
	call(SYNC, 0, 20000, 10900 + START + 4 * 10000 + 3 * GAP + RETURN);
	finish();
	assert_int_equal(total()->busy, 40000);
	assert_int_equal(total()->idle[TF_IDLE_DEPENDENCY], 3 * GAP);
	assert_int_equal(total()->idle[TF_IDLE_SYNC], RETURN);
	assert_int_equal(kernel_at(0)->queue_count, 4);
	assert_int_equal(kernel_at(0)->queue_ticks, 4 * START + (1 + 2 + 3) * (10000 + GAP - 1000));
}

/* To a copy engine and back takes longer than from kernel to kernel. */
static void test_changes_of_engine(void **state)
{
	struct tf_record copy = a_copy(SPY_DIR_DTOH, SPY_MEM_PINNED, true, 1 << 20);
	const uint64_t to = GAP + (uint64_t)CUDA_TO_ENGINE_NS,
	               back = GAP + (uint64_t)CUDA_FROM_ENGINE_NS;

	lasts(copy, TF_WORK_COPY, ESTIMATE_ENGINE_NS + 30000);
	launch(1, 10000, 11000);
	feed(0, copy, 12000, 13000);
	launch(0, 14000, 15000);
	copy.copy.direction = SPY_DIR_DTOD; /* by the same engine as kernels */
	lasts(copy, TF_WORK_COPY, 20000);
	feed(0, copy, 16000, 17000);
	call(OTHER, 0, 200000, 200100);
	finish();
	assert_int_equal(total()->busy, 50000 + 30000 + 10000 + 20000);
	assert_int_equal(total()->idle[TF_IDLE_DEPENDENCY], to + back + GAP);
	assert_int_equal(kernel_at(0)->queue_ticks,
	                 11000 + START + 50000 + to + 30000 + back - 15000);
}

static void test_streams_overlap(void **state)
{
	struct tf_record copy = a_copy(SPY_DIR_HTOD, SPY_MEM_PINNED, true, 1 << 20);

	lasts(copy, TF_WORK_COPY, ESTIMATE_ENGINE_NS + 30000);
	make_stream(0x1000, 1, 1000);
	make_stream(0x2000, 1, 2000);
	launch_on(0, 0x1000, 1, 10000, 11000);
	copy.stream = 0x2000;
	feed(0, copy, 12000, 13000);
	call(OTHER, 0, 90000, 100000);
	finish();
	assert_int_equal(total()->busy, 50000);
	assert_int_equal(total()->kernels, 50000);
	assert_int_equal(total()->copies, 30000);
	assert_int_equal(header()->streams.count, 2);
	const struct tf_stream *one = tf_entry(&made.map, &header()->streams, 0, sizeof(*one)),
	                       *two = tf_entry(&made.map, &header()->streams, 1, sizeof(*two));
	assert_int_equal(one->handle, 0x1000);
	assert_int_equal(one->flags, 1);
	assert_int_equal(one->kernels, 1);
	assert_int_equal(one->kernel_ticks, 50000);
	assert_int_equal(two->copies, 1);
	assert_int_equal(two->copy_ticks, 30000);
	assert_int_equal(two->overlapped_ticks, 30000);
}

/* Communication counts as busy; what of it nothing else covers stands apart. */
static void test_communication(void **state)
{
	make_stream(0x1000, 1, 1000);
	make_stream(0x2000, 1, 2000);
	launch_on(0, 0x1000, 7, 10000, 11000); /* [12800, 52800) */
	launch_on(0, 0x2000, 0, 18000, 19000); /* [20800, 30800) */
	call(OTHER, 0, 90000, 100000);
	finish();
	assert_int_equal(total()->busy, 40000);
	assert_int_equal(total()->comm, 30000);
}

static void test_event_dependency(void **state)
{
	make_stream(0x1000, 1, 1000);
	make_stream(0x2000, 1, 2000);
	launch_on(0, 0x1000, 1, 10000, 11000); /* [12800, 62800) */
	on_event(RECORD, 0xe1, 0x1000, 12000, 12100);
	launch_on(0, 0x1000, 1, 12500, 12600); /* after the event: not waited for */
	on_event(WAIT, 0xe1, 0x2000, 13000, 13100);
	launch_on(0, 0x2000, 0, 14000, 15000);
	on_event(WAIT, 0xe9, 0x2000, 16000, 16100); /* never recorded: no wait */
	call(OTHER, 0, 200000, 200100);
	finish();
	assert_int_equal(kernel_at(0)->queue_ticks, 62800 - 15000);
}

/* What the streams of a row have to do: A has a kernel of 50 us, [12800, 62800). */
enum {
	LEGACY_STREAM = 0,
	BLOCKING_A = 0x1000,
	BLOCKING_B = 0x2000,
	FREE_A = 0x3000,
	FREE_B = 0x4000
};

static void make_streams(void)
{
	make_stream(BLOCKING_A, 0, 1000);
	make_stream(BLOCKING_B, 0, 1200);
	make_stream(FREE_A, 1, 1400);
	make_stream(FREE_B, 1, 1600);
	for (uint64_t s = BLOCKING_A; s <= FREE_B;
	     s += 0x1000) /* each has its device from then on */
		launch_on(0, s, 0, s, s + 100);
	launch_on(0, LEGACY_STREAM, 0, 30000, 30100);
	call(SYNC, 0, 31000, 200000);
}

/* A stream that has nothing to do but to wait for an event is waited for, and so is an event of it.
 * hold:stream_sync:waits_for_an_event_only, hold:event_sync:on_stream_that_waits_... */
static void test_a_stream_that_only_waits(void **state)
{
	make_stream(0x1000, 1, 1000);
	make_stream(0x2000, 1, 2000);
	for (int i = 0; i < 2; i++) {
		uint64_t at = (uint64_t)i * 100000, before = split(0)[TF_HOST_SYNC_USEFUL];
		launch_on(0, 0x1000, 1, at + 10000, at + 11000); /* [12800, 62800) */
		on_event(RECORD, 0xe1, 0x1000, at + 12000, at + 12100);
		on_event(WAIT, 0xe1, 0x2000, at + 13000, at + 13100);
		on_event(RECORD, 0xe2, 0x2000, at + 14000, at + 14100);
		if (i)
			on_event(EVENT_SYNC, 0xe2, 0, at + 15000, at + 62800 + RETURN);
		else
			call(STREAM_SYNC, 0x2000, at + 15000, at + 62800 + RETURN);
		assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL] - before, 62800 - 15000);
	}
	finish();
	assert_int_equal(total()->busy, 2 * 50000);
}

/*
 * Records of events and waits for them are in the order of the legacy default stream and the
 * blocking ones: rows waits:event_on_*, waits:kernel_on_blocking:* of tests/gpu/hold_facts.cu.
 */
static void test_events_and_the_legacy_stream(void **state)
{
	const uint64_t at = 300000, ends = at + 12800 + 50000;
	static const struct {
		uint64_t busy, record, wait, then; /* streams; `wait`: for an event behind `busy` */
		bool waits;
	} rows[] = {
	        /* of the event itself */
	        {BLOCKING_A, LEGACY_STREAM, 0, 0, true},
	        {FREE_A, LEGACY_STREAM, 0, 0, false},
	        {LEGACY_STREAM, BLOCKING_A, 0, 0, true},
	        {LEGACY_STREAM, FREE_A, 0, 0, false},
	        {BLOCKING_A, BLOCKING_B, 0, 0, false},
	        /* of a kernel behind it on another stream */
	        {BLOCKING_A, LEGACY_STREAM, 0, BLOCKING_B, true},
	        {BLOCKING_A, LEGACY_STREAM, 0, FREE_B, false},
	        {FREE_A, LEGACY_STREAM, 1, BLOCKING_B, true},
	        {FREE_A, LEGACY_STREAM, 1, FREE_B, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		end(state);
		start(state);
		make_streams();
		uint64_t queued = kernel_at(2)->queue_ticks;
		launch_on(0, rows[i].busy, 1, at + 10000, at + 11000);
		if (rows[i].wait) {
			on_event(RECORD, 0xe1, rows[i].busy, at + 11200, at + 11300);
			on_event(WAIT, 0xe1, rows[i].record, at + 11400, at + 11500);
		}
		on_event(RECORD, 0xe2, rows[i].record, at + 12000, at + 12100);
		if (rows[i].then) {
			launch_on(0, rows[i].then, 2, at + 13000, at + 14000);
			call(OTHER, 0, at + 150000, at + 150100);
			finish();
			queued = kernel_at(2)->queue_ticks - queued;
			if (queued != (rows[i].waits ? ends - at - 14000 : START))
				fail_msg("row %zu: %llu", i, (unsigned long long)queued);
			continue;
		}
		uint64_t before = split(0)[TF_HOST_SYNC_USEFUL];
		on_event(EVENT_SYNC, 0xe2, 0, at + 15000,
		         rows[i].waits ? ends + RETURN : at + 15400);
		uint64_t useful = split(0)[TF_HOST_SYNC_USEFUL] - before;
		if (useful != (rows[i].waits ? ends - at - 15000 : 0))
			fail_msg("row %zu: %llu", i, (unsigned long long)useful);
	}
}

/* Copies of one direction wait for each other on whatever stream, but for small ones:
 * overtakes:*, together:*. */
static void test_copies_share_an_engine(void **state)
{
	static const struct {
		enum spy_direction direction;
		uint64_t bytes;
		bool waits;
	} rows[] = {
	        {SPY_DIR_HTOD, 1 << 20, true},
	        {SPY_DIR_HTOD, 8192, false},
	        {SPY_DIR_DTOH, 1 << 20, false},
	        {SPY_DIR_DTOD, 1 << 20, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum spy_memory memory =
		        rows[i].direction == SPY_DIR_DTOD ? SPY_MEM_DEVICE : SPY_MEM_PINNED;
		struct tf_record big = a_copy(SPY_DIR_HTOD, SPY_MEM_PINNED, true, 64 << 20),
		                 other = a_copy(rows[i].direction, memory, true, rows[i].bytes);
		big.stream = 0x1000;
		other.stream = 0x2000;
		end(state);
		start(state);
		make_stream(0x1000, 1, 1000);
		make_stream(0x2000, 1, 2000);
		struct tf_work key;
		work_key(&key, TF_WORK_COPY, &big);
		work_find(&made.map, &key)->bytes = big.copy.bytes;
		feed(0, big, 10000, 11000); /* its time is a guess: 3.4 ms */
		feed(0, other, 12000, 13000);
		launch_on(0, 0x2000, 2, 14000, 15000);
		call(OTHER, 0, 9000000, 9000100);
		finish();
		if ((kernel_at(2)->queue_ticks > 3000000) != rows[i].waits)
			fail_msg("row %zu: %llu", i, (unsigned long long)kernel_at(2)->queue_ticks);
	}
}

static void let_go(unsigned id, enum spy_memory memory, uint64_t address, uint64_t from,
                   uint64_t to)
{
	struct tf_record r = {.call = (uint16_t)id};

	r.alloc.address = address;
	r.alloc.memory = (uint8_t)memory;
	r.alloc.is_free = 1;
	feed(0, r, from, to);
}

/* A free has waited for the device, an unloading too, however short: what was thought to take
 * longer is over. hold:free:*, hold:free:null, hold:module_load. */
static void test_calls_that_wait_for_the_device(void **state)
{
	static const struct {
		unsigned call;
		enum spy_memory memory;
		uint64_t address;
		bool waits;
	} rows[] = {
	        {FREE, SPY_MEM_DEVICE, 0x7000, true},   {FREE, SPY_MEM_PINNED, 0x7000, true},
	        {FREE, SPY_MEM_MANAGED, 0x7000, true},  {FREE, SPY_MEM_DEVICE, 0, false},
	        {FREE, SPY_MEM_UNKNOWN, 0x7000, false}, {MODULE, SPY_MEM_UNKNOWN, 0, true},
	        {CREATE, SPY_MEM_DEVICE, 0, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		end(state);
		start(state);
		launch(1, 10000, 11000); /* by estimate [12800, 62800) */
		let_go(rows[i].call, rows[i].memory, rows[i].address, 12000, 30000);
		call(OTHER, 0, 100000, 100100);
		finish();
		if (total()->busy != (rows[i].waits ? 30000 - 10000 : 50000))
			fail_msg("row %zu: %llu", i, (unsigned long long)total()->busy);
	}
}

/* What a free takes itself is not learned from a guess of how long it waited: later ones would all
 * seem to wait, and their work to last until then. */
static void test_a_guess_teaches_nothing_of_a_free(void **state)
{
	for (uint64_t i = 0; i < 20; i++) {
		if (i == 10)
			timeline_sample(timeline, lasts(a_kernel(4), TF_WORK_KERNEL, 1000));
		launch(4, 100000 * i + 10000, 100000 * i + 11000); /* guessed to take 5 us */
		let_go(FREE, SPY_MEM_DEVICE, 0x7000, 100000 * i + 11500, 100000 * i + 18000);
		call(OTHER, 0, 100000 * i + 50000, 100000 * i + 50100);
	}
	finish();
	assert_int_equal(total()->busy, 10 * 5000 + 10 * 1000);
}

/* An event that goes into a graph under capture orders nothing. */
static void test_captured_work_is_none(void **state)
{
	struct tf_record r = a_kernel(1);

	r.flags = TF_CAPTURED;
	feed(0, r, 10000, 11000);
	r.flags = TF_NO_ARGS;
	feed(0, r, 12000, 13000);
	r.flags = 0;
	r.result = 700;
	feed(0, r, 14000, 15000);
	finish();
	assert_null(on_device(0));
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 3000);
	assert_int_equal(header()->timeline_unknown, 1); /* the one without arguments */
}

static void test_legacy_stream(void **state)
{
	make_stream(0x1000, 0, 1000); /* blocking */
	make_stream(0x2000, 1, 2000);
	launch_on(0, 0x1000, 1, 10000, 11000); /* [12800, 62800) */
	launch_on(0, 0, 0, 12000, 13000);      /* after it: [62800, 72800) */
	launch_on(0, 0x1000, 2, 14000, 15000); /* after that */
	launch_on(0, 0x2000, 3, 16000, 17000); /* waits for nobody */
	call(OTHER, 0, 200000, 200100);
	finish();
	assert_int_equal(kernel_at(0)->queue_ticks, 62800 - 13000);
	assert_int_equal(kernel_at(2)->queue_ticks, 72800 - 15000);
	assert_int_equal(kernel_at(3)->queue_ticks, START);
}

/* The per-thread default stream is one for each thread; stream 0 is it where the call says so. */
static void test_per_thread_stream(void **state)
{
	struct tf_record r = a_kernel(1);

	r.flags = TF_PTDS;
	feed(0, r, 10000, 11000);
	r = a_kernel(0);
	r.flags = TF_PTDS;
	feed(1, r, 12000, 13000);
	launch_on(0, 2, 2, 14000,
	          15000); /* the first thread's own by its handle: after its first */
	call(OTHER, 0, 200000, 200100);
	finish();
	assert_int_equal(kernel_at(0)->queue_ticks, START);
	assert_int_equal(kernel_at(2)->queue_ticks, 62800 + GAP - 15000);
	assert_int_equal(header()->streams.count, 1);
}

static void test_devices(void **state)
{
	struct tf_record r = {.call = SET_CURRENT};

	launch_on(0, 0, 0, 10000, 11000);
	r.arg[0] = 3;
	feed(0, r, 12000, 12100);
	launch_on(0, 0, 1, 13000, 14000);
	launch_on(1, 0, 0, 15000, 16000); /* another thread's device is its own */
	r.arg[0] = 99;
	feed(0, r, 17000, 17100);
	launch_on(0, 0, 1, 18000, 19000);
	call(OTHER, 0, 200000, 200100);
	finish();
	assert_int_equal(on_device(0)->work, 2);
	assert_int_equal(on_device(0)->total.busy, 20000);
	assert_int_equal(on_device(2)->work, 2);
	assert_int_equal(on_device(2)->total.busy, 100000);
	assert_null(on_device(1));
}

/* Work of a class without samples: by other shapes of the kernel, else short, and counted. */
static void test_unknown_classes(void **state)
{
	struct tf_record r = a_kernel(1);

	r.launch.grid_x = 7;
	timeline_sample(timeline, lasts(a_kernel(1), TF_WORK_KERNEL, 50000));
	feed(0, r, 10000, 11000);
	launch(4, 70000, 71000);
	call(OTHER, 0, 200000, 200100);
	finish();
	assert_int_equal(on_device(0)->work, 2);
	assert_int_equal(on_device(0)->work_unknown, 1);
	assert_int_equal(total()->busy, 50000 + 5000);
}

static void test_stalled_work_starts_later(void **state)
{
	struct tf_record r = a_kernel(0);

	header()->stall_ns = 8000;
	timeline_advance(timeline, WINDOW + 1);
	r.flags = TF_SAMPLED | TF_STALLED;
	feed(0, r, 10000, 11000);
	call(OTHER, 0, 200000, 200100);
	finish();
	assert_int_equal(kernel_at(0)->queue_ticks, START + 8000);
}

/* ---- waits ---- */

static void test_sync_splits(void **state)
{
	launch(1, 10000, 11000); /* [12800, 62800) */
	call(SYNC, 0, 12000, 62800 + RETURN);
	call(SYNC, 0, 80000, 81000); /* nothing is pending */
	finish();
	assert_int_equal(total()->busy, 50000);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 62800 - 12000);
	assert_int_equal(split(0)[TF_HOST_SYNC_WASTED], RETURN + 1000);
	assert_int_equal(on_device(0)->anchored, 1);
	assert_int_equal(total()->idle[TF_IDLE_SYNC], (12800 - 12000) * 0 + RETURN + 1000);
}

/* A wait that ends earlier than the estimate: the work moves ahead, no further than its call. */
static void test_estimate_too_long(void **state)
{
	launch(1, 10000, 11000); /* by estimate [12800, 62800) */
	call(SYNC, 0, 12000, 43000);
	call(OTHER, 0, 90000, 90100);
	finish();
	assert_int_equal(total()->busy, 43000 - RETURN - 10000);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 43000 - RETURN - 12000);
	assert_int_equal(split(0)[TF_HOST_SYNC_WASTED], RETURN);
}

/* Work of unknown duration lasts until the wait for it returns. */
static void test_estimate_too_short(void **state)
{
	launch(4, 10000, 11000); /* by guess [12800, 17800) */
	call(SYNC, 0, 12000, 512000);
	finish();
	assert_int_equal(total()->busy, 512000 - RETURN - 12800);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 512000 - RETURN - 12000);
}

/* Of known work it is the host that came back late. */
static void test_host_came_late(void **state)
{
	launch(0, 10000, 11000); /* [12800, 22800) */
	call(SYNC, 0, 12000, 512000);
	finish();
	assert_int_equal(total()->busy, 10000);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 22800 - 12000);
	assert_int_equal(split(0)[TF_HOST_SYNC_WASTED], 512000 - 22800);
}

static void test_waits_for_their_own_stream(void **state)
{
	make_stream(0x1000, 1, 1000);
	make_stream(0x2000, 1, 2000);
	launch_on(0, 0x1000, 1, 10000, 11000); /* [12800, 62800) */
	launch_on(0, 0x2000, 0, 12000, 13000); /* [14800, 24800) */
	call(STREAM_SYNC, 0x2000, 14000, 24800 + RETURN);
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 24800 - 14000);
	on_event(RECORD, 0xe1, 0x1000, 30000, 30100);
	on_event(EVENT_SYNC, 0xe1, 0, 31000, 62800 + RETURN);
	finish();
	assert_int_equal(split(0)[TF_HOST_SYNC_USEFUL], 24800 - 14000 + 62800 - 31000);
	assert_int_equal(total()->busy, 50000);
}

/* "Done" ends the work; "not ready" keeps it going. */
static void test_queries(void **state)
{
	struct tf_record r = {.call = QUERY, .result = 600};

	launch(4, 10000, 11000); /* by guess [12800, 17800) */
	feed(0, r, 60000, 60300);
	r.result = 0;
	feed(0, r, 70000, 70300);
	launch(1, 80000, 81000); /* by estimate [82800, 132800) */
	feed(0, r, 100000, 100300);
	call(OTHER, 0, 200000, 200100);
	finish();
	assert_int_equal(total()->busy, 60000 - 12800 + 100300 - 80000);
}

/* The stream is not ready before the host's function has run, which is no work of the GPU's. */
static void test_a_query_behind_a_host_function(void **state)
{
	struct tf_record r = {.call = QUERY, .result = 600};

	launch(1, 10000, 11000); /* by estimate [12800, 62800) */
	call(HOST_FUNCTION, 0, 11000, 12000);
	for (uint64_t at = 100000; at < 500000; at += 1000) /* it may take twice as long */
		feed(0, r, at, at + 300);
	call(OTHER, 0, 600000, 600100);
	finish();
	assert_int_equal(total()->busy, 100000 - 12800);
}

static void give_function(uint64_t stream, uint64_t from)
{
	struct tf_record r = {.call = HOST_FUNCTION, .stream = stream};

	r.arg[0] = 0x10;
	feed(0, r, from, from + 1000);
}

/* It is in its stream's order, and the GPU is idle meanwhile. */
static void test_a_host_function_between_kernels(void **state)
{
	launch(1, 10000, 11000); /* [12800, 62800) */
	give_function(0, 11000);
	launch(1, 12000, 13000); /* behind the function: [62800 + 67000 + gap, ...) */
	call(SYNC, 0, 13000, 62800 + 67000 + GAP + 50000 + RETURN);
	call(OTHER, 0, 250000, 250100);
	finish();
	assert_int_equal(total()->busy, 100000);
	assert_int_equal(on_device(0)->total.idle[TF_IDLE_DEPENDENCY], 67000 + GAP);
}

/* The way to the host and back is gone once. */
static void test_two_host_functions_between_kernels(void **state)
{
	launch(1, 10000, 11000);
	give_function(0, 11000);
	give_function(0, 12000);
	launch(1, 13000, 14000);
	call(SYNC, 0, 14000, 62800 + 67000 + GAP + 50000 + RETURN);
	call(OTHER, 0, 250000, 250100);
	finish();
	assert_int_equal(total()->busy, 100000);
	assert_int_equal(on_device(0)->total.idle[TF_IDLE_DEPENDENCY], 67000 + GAP);
}

/* A wait, for the stream or for an event behind the function, and queries of it: what lasts so long
 * is the function. An event ahead of it tells of the work alone. */
static void test_a_wait_behind_a_host_function(void **state)
{
	struct tf_record r = {.call = QUERY, .result = 600};

	launch(1, 10000, 11000); /* [12800, 62800) */
	on_event(RECORD, 0xe1, 0, 11000, 11100);
	give_function(0, 11200);
	on_event(RECORD, 0xe2, 0, 12300, 12400);
	feed(0, r, 70000, 70300);
	on_event(EVENT_SYNC, 0xe2, 0, 80000, 90000);
	call(SYNC, 0, 90000, 95000);
	call(OTHER, 0, 190000, 190100);
	launch(1, 200000, 201000); /* by estimate [202800, 252800) */
	on_event(RECORD, 0xe1, 0, 201000, 201100);
	give_function(0, 201200);
	on_event(EVENT_SYNC, 0xe1, 0, 210000, 270000 + RETURN);
	call(OTHER, 0, 290000, 290100);
	finish();
	assert_int_equal(total()->busy, 50000 + 270000 - 202800);
}

/* A call that takes some us long after the work was not waiting for it. */
static void test_unknown_work_and_a_late_wait(void **state)
{
	launch(4, 10000, 11000); /* by guess [12800, 17800) */
	call(SYNC, 0, 90000000, 90015000);
	launch(4, 91000000, 91001000);
	call(SYNC, 0, 91100000, 91120000 + RETURN);
	launch(4, 92000000, 92001000);
	call(SYNC, 0, 182000000, 187000000 + RETURN); /* no call takes that long */
	call(OTHER, 0, 190000000, 190000100);
	finish();
	assert_int_equal(total()->busy, 5000 + 120000 - 2800 + 95000000 - 2800);
}

/* Nor can work last that an earlier wait has seen end, however slow a later call is. */
static void test_a_slow_wait_behind_finished_work(void **state)
{
	launch(4, 10000, 11000); /* by guess [12800, 17800) */
	call(SYNC, 0, 12000, 32000 + RETURN);
	call(SYNC, 0, 80000000, 80132000);
	call(OTHER, 0, 90000000, 90000100);
	finish();
	assert_int_equal(total()->busy, 32000 - 12800);
}

/* Work behind some that lasted longer moves back, as far as there is no time between. */
static void test_push_back_stops_at_idle_time(void **state)
{
	make_stream(0x1000, 1, 1000);
	launch_on(0, 0x1000, 4, 10000, 11000); /* by guess [12800, 17800) */
	on_event(RECORD, 0xe1, 0x1000, 11000, 11100);
	launch_on(0, 0x1000, 0, 12000, 13000);
	launch_on(0, 0x1000, 0, 90000, 91000); /* [92800, 102800) */
	on_event(EVENT_SYNC, 0xe1, 0, 91500, 97000 + RETURN);
	call(OTHER, 0, 300000, 300100);
	finish();
	assert_int_equal(kernel_at(0)->queue_ticks,
	                 (97000 + GAP - 13000) + (97000 + 2 * GAP + 10000 - 91000));
}

/* What was behind work that lasted longer, and ended earlier than thought, began after it all the
 * same. */
static void test_behind_extended_work(void **state)
{
	make_stream(0x1000, 1, 1000);
	launch_on(0, 0x1000, 4, 10000, 11000); /* by guess [12800, 17800) */
	on_event(RECORD, 0xe1, 0x1000, 11000, 11100);
	for (int i = 0; i < 3; i++)
		launch_on(0, 0x1000, 0, 12000 + i * 1000, 13000 + i * 1000);
	on_event(EVENT_SYNC, 0xe1, 0, 42000, 80000 + RETURN);
	call(STREAM_SYNC, 0x1000, 84000, 107000 + RETURN); /* three of 10 us in 27 */
	finish();
	const struct tf_stream *row = tf_entry(&made.map, &header()->streams, 0, sizeof(*row));
	assert_int_equal(total()->busy, 107000 - 12800);
	assert_int_equal(row->kernel_ticks, 107000 - 12800);
}

/* Latencies are learned from waits for work that nothing else held back. */
static void test_latency_is_learned(void **state)
{
	uint64_t at = 10000, wasted = 0;

	for (int i = 0; i < 200; i++, at += 100000) {
		wasted = split(0)[TF_HOST_SYNC_WASTED];
		launch(0, at, at + 3000);
		call(SYNC, 0, at + 4000, at + 3000 + 10000 + 9000); /* 9 us together */
		timeline_advance(timeline, WINDOW + at + 50000);
	}
	assert_near((double)(split(0)[TF_HOST_SYNC_WASTED] - wasted), 9000 - START, 0.05);
	finish();
	assert_near((double)total()->busy, 200 * 10000, 0.02);
}

/* Nothing is learned where work of unknown duration was ahead, though the last was known. */
static void test_latency_behind_unknown_work(void **state)
{
	uint64_t at = 10000;

	for (int i = 0; i < 20; i++, at += 100000) {
		launch(4, at, at + 1000); /* 5 us by guess, but 30 */
		launch(0, at + 1000, at + 2000);
		call(SYNC, 0, at + 3000, at + 1000 + START + 30000 + GAP + 10000 + RETURN);
		timeline_advance(timeline, WINDOW + at + 50000);
	}
	uint64_t wasted = split(0)[TF_HOST_SYNC_WASTED];
	launch(0, at, at + 1000);
	call(SYNC, 0, at + 2000, at + 1000 + START + 10000 + RETURN);
	finish();
	assert_int_equal(split(0)[TF_HOST_SYNC_WASTED] - wasted, RETURN);
}

/* ---- robustness ---- */

static void test_a_second_timeline_goes_on(void **state)
{
	launch(0, 10000, 11000);
	call(OTHER, 0, 50000, 60000);
	finish();
	uint64_t busy = total()->busy;
	timeline_free(timeline);
	timeline = timeline_new(&made.map);
	launch(0, 100000, 101000);
	call(OTHER, 0, 150000, 160000);
	finish();
	assert_int_equal(total()->busy, busy + 10000);
	assert_int_equal(header()->timeline_upto, WINDOW + 160000);
	timeline_free(timeline);
	timeline = timeline_new(&made.map);
	finish(); /* nothing new */
	assert_int_equal(total()->busy, busy + 10000);
	assert_int_equal(header()->streams.count, 1);
}

/* Work whose call comes late, after the time was booked, is taken as it comes. */
static void test_late_records(void **state)
{
	launch(0, 10000, 11000);
	timeline_advance(timeline, WINDOW + 100000);
	launch_on(1, 0, 0, 50000, 51000);
	launch(0, 110000, 111000);
	launch_on(1, 0, 0, 15000, 16000); /* before what is booked */
	call(OTHER, 0, 150000, 160000);
	finish();
	assert_in_range(total()->busy, 30000, 40000);
}

static void test_many_streams(void **state)
{
	uint64_t at = 10000;

	for (uint64_t i = 0; i < 9000; i++, at += 20000) {
		launch_on(0, 0x10000 + i * 64, 0, at, at + 1000);
		if (i % 500 == 0)
			timeline_advance(timeline, WINDOW + at);
	}
	call(OTHER, 0, at, at + 1000);
	finish();
	assert_int_equal(on_device(0)->work, 9000);
	assert_true(header()->streams.count < 9000);
	assert_true(header()->anomaly[SPY_ANOMALY_STREAMS_FULL] > 0);
	assert_int_equal(total()->busy, 9000 * 10000);
}

/* More of them in use at once than can be followed: what is given up is counted. */
static void test_too_many_streams_at_once(void **state)
{
	for (uint64_t i = 0; i < 9000; i++)
		launch_on(0, 0x10000 + i * 64, 0, 10000 + i * 100, 10050 + i * 100);
	call(OTHER, 0, 1000000, 1100000);
	finish();
	assert_int_equal(on_device(0)->work + header()->anomaly[SPY_ANOMALY_TIMELINE], 9000);
	assert_true(on_device(0)->work > 3000);
}

/* Figures in the file that cannot be, and times without end. */
static void test_damage(void **state)
{
	struct tf_record r = a_kernel(0);

	r.start = UINT64_MAX - 5;
	r.end = UINT64_MAX;
	timeline_call(timeline, 0, &r, SPY_CLASS_LAUNCH, NULL);
	r.start = 10;
	r.end = 5;
	timeline_call(timeline, 0, &r, SPY_CLASS_LAUNCH, NULL);
	timeline_call(timeline, UINT32_MAX, &r, SPY_CLASS_LAUNCH, NULL);
	timeline_call(timeline, 0, &r, 200, NULL);
	assert_int_equal(header()->timeline_unknown, 4);
	r = a_kernel(0);
	r.launch.kernel = UINT32_MAX;
	feed(0, r, 1000, 2000);
	struct tf_work *w = lasts(a_kernel(2), TF_WORK_KERNEL, 1e300);
	w->pairs[1] = (struct tf_pairs){UINT32_MAX, 0, -1, 0};
	launch(2, 3000, 4000);
	w = lasts(a_kernel(3), TF_WORK_KERNEL, 0);
	w->pairs[0].sum_ns = 0.0 / 0.0;
	launch(3, 5000, 6000);
	timeline_advance(timeline, UINT64_MAX);
	timeline_free(timeline);
	on_device(0)->total.busy = UINT64_MAX - 100;
	for (int i = 0; i < 10; i++)
		header()->host_ticks[i] = UINT64_MAX / 3;
	header()->streams.count = 3;
	header()->streams.page_entries = 1u << 30;
	header()->devices_time[1] = 12345;
	timeline = timeline_new(&made.map);
	launch(0, 7000, 8000);
	timeline_finish(timeline);
	memset(header()->host_ticks, 0, sizeof(header()->host_ticks));
	timeline_free(timeline);
	timeline = timeline_new(&made.map);
	launch(0, 7000, 8000);
	timeline_finish(timeline);
	header()->slices = header()->works = 8;
	header()->window_start = UINT64_MAX;
	timeline_free(timeline);
	timeline = timeline_new(&made.map);
	launch(0, 7000, 8000);
	timeline_finish(timeline);
}

/* Whatever comes, times divide without rest. */
static void test_anything(void **state)
{
	uint64_t at[2] = {1000, 1500}, x = 88172645463325252ull;

	for (int i = 0; i < 20000; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		uint32_t thread = at[1] < at[0];
		uint64_t from = at[thread] + x % 3000,
		         to = from + (x >> 20) % (i % 50 ? 5000 : 200000);
		struct tf_record r = a_kernel((x >> 32) % 8);
		unsigned what = (x >> 40) % 16;
		r.stream = (x >> 44) % 5 * 0x1000;
		if (what >= 6) {
			r = (struct tf_record){.call = (uint16_t)(SYNC + what % 11),
			                       .stream = r.stream};
			r.event.event = 0xe00 + (x >> 50) % 4;
		} else if (what >= 4) {
			uint64_t stream = r.stream;
			r = a_copy((x >> 50) % SPY_DIR_COUNT, (x >> 54) % SPY_MEM_COUNT,
			           x >> 58 & 1, x >> 45);
			r.stream = stream;
		}
		if (r.call == SET_CURRENT)
			r.arg[0] = (x >> 50) % 4;
		r.flags = (x >> 12) % 32 == 0 ? TF_CAPTURED : (x >> 12) % 32 == 1 ? TF_PTDS : 0;
		feed(thread, r, from, to);
		at[thread] = to;
		if (i % 700 == 0)
			timeline_advance(timeline, WINDOW + (at[0] < at[1] ? at[0] : at[1]));
	}
	finish();
	assert_true(on_device(0)->total.busy > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_one_kernel, start, end),
	        cmocka_unit_test_setup_teardown(test_stream_order, start, end),
	        cmocka_unit_test_setup_teardown(test_changes_of_engine, start, end),
	        cmocka_unit_test_setup_teardown(test_streams_overlap, start, end),
	        cmocka_unit_test_setup_teardown(test_communication, start, end),
	        cmocka_unit_test_setup_teardown(test_event_dependency, start, end),
	        cmocka_unit_test_setup_teardown(test_a_stream_that_only_waits, start, end),
	        cmocka_unit_test_setup_teardown(test_events_and_the_legacy_stream, start, end),
	        cmocka_unit_test_setup_teardown(test_calls_that_wait_for_the_device, start, end),
	        cmocka_unit_test_setup_teardown(test_a_guess_teaches_nothing_of_a_free, start, end),
	        cmocka_unit_test_setup_teardown(test_copies_share_an_engine, start, end),
	        cmocka_unit_test_setup_teardown(test_captured_work_is_none, start, end),
	        cmocka_unit_test_setup_teardown(test_legacy_stream, start, end),
	        cmocka_unit_test_setup_teardown(test_per_thread_stream, start, end),
	        cmocka_unit_test_setup_teardown(test_devices, start, end),
	        cmocka_unit_test_setup_teardown(test_unknown_classes, start, end),
	        cmocka_unit_test_setup_teardown(test_stalled_work_starts_later, start, end),
	        cmocka_unit_test_setup_teardown(test_sync_splits, start, end),
	        cmocka_unit_test_setup_teardown(test_estimate_too_long, start, end),
	        cmocka_unit_test_setup_teardown(test_estimate_too_short, start, end),
	        cmocka_unit_test_setup_teardown(test_host_came_late, start, end),
	        cmocka_unit_test_setup_teardown(test_waits_for_their_own_stream, start, end),
	        cmocka_unit_test_setup_teardown(test_queries, start, end),
	        cmocka_unit_test_setup_teardown(test_a_query_behind_a_host_function, start, end),
	        cmocka_unit_test_setup_teardown(test_a_host_function_between_kernels, start, end),
	        cmocka_unit_test_setup_teardown(test_two_host_functions_between_kernels, start,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_a_wait_behind_a_host_function, start, end),
	        cmocka_unit_test_setup_teardown(test_unknown_work_and_a_late_wait, start, end),
	        cmocka_unit_test_setup_teardown(test_a_slow_wait_behind_finished_work, start, end),
	        cmocka_unit_test_setup_teardown(test_push_back_stops_at_idle_time, start, end),
	        cmocka_unit_test_setup_teardown(test_behind_extended_work, start, end),
	        cmocka_unit_test_setup_teardown(test_latency_is_learned, start, end),
	        cmocka_unit_test_setup_teardown(test_latency_behind_unknown_work, start, end),
	        cmocka_unit_test_setup_teardown(test_a_second_timeline_goes_on, start, end),
	        cmocka_unit_test_setup_teardown(test_late_records, start, end),
	        cmocka_unit_test_setup_teardown(test_many_streams, start, end),
	        cmocka_unit_test_setup_teardown(test_too_many_streams_at_once, start, end),
	        cmocka_unit_test_setup_teardown(test_damage, start, end),
	        cmocka_unit_test_setup_teardown(test_anything, start, end),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
