#include <stdlib.h>
#include <string.h>

#include "shim/drain.h"
#include "shim/hist.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

#define ROOM (4u << 20)

static struct made made;
static struct drain drain = { .map = &made.map };
static struct tf_thread *thread;
static uint16_t launch, graph_launch, sync, alloc, instantiate;
static bool no_room;
static uint64_t (*real_alloc)(struct tf_map *map, uint64_t bytes);

static uint64_t alloc_or_not(struct tf_map *map, uint64_t bytes)
{
	return no_room ? 0 : real_alloc(map, bytes);
}

static int start(void **state)
{
	made_start(&made, ROOM, 8, MADE_AREAS);
	real_alloc = made.map.alloc;
	made.map.alloc = alloc_or_not;
	no_room = false;
	launch = made_call(&made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	graph_launch = made_call(&made, "cuGraphLaunch", SPY_CLASS_GRAPH_LAUNCH, SPY_LEVEL_DRIVER);
	sync = made_call(&made, "cuCtxSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	alloc = made_call(&made, "cuMemAlloc_v2", SPY_CLASS_ALLOC, SPY_LEVEL_DRIVER);
	instantiate = made_call(&made, "cuGraphInstantiate", SPY_CLASS_GRAPH, SPY_LEVEL_DRIVER);
	made_kernel(&made, "(unknown)");
	thread = made_thread(&made, 100, "one", 64);
	return 0;
}

static int end(void **state)
{
	made_free(&made);
	return 0;
}

static struct tf_ring *ring_at(uint64_t offset)
{
	return tf_at(&made.map, offset, sizeof(struct tf_ring));
}

static uint64_t new_ring(uint64_t records)
{
	uint64_t offset = real_alloc(&made.map, sizeof(struct tf_ring) + records * sizeof(struct tf_record));

	ring_at(offset)->capacity = records;
	return offset;
}

static void push(struct tf_ring *ring, struct tf_record r)
{
	ring->slots[ring->head++ & (ring->capacity - 1)] = r;
}

static struct tf_record a_sync(uint64_t begin, uint64_t ticks)
{
	return (struct tf_record){ .start = begin, .end = begin + ticks, .call = sync };
}

static uint64_t hist_count(uint16_t call)
{
	struct tf_call *c = tf_entry(&made.map, &made_header(&made)->calls, call, sizeof(*c));
	struct tf_hist *h = tf_at(&made.map, c->hist, sizeof(*h));
	uint64_t sum = 0;

	for (uint32_t i = 0; h && i < TF_HIST_BUCKETS; i++)
		sum += h->buckets[i];
	assert_int_equal(sum, h ? h->count : 0);
	return sum;
}

static struct tf_store *kept(void)
{
	return tf_at(&made.map, made_header(&made)->keep, sizeof(struct tf_store));
}

static struct tf_record *stored(const struct tf_store *s, uint64_t n)
{
	n %= s->page_records * s->pages_max;
	return tf_at(&made.map, s->pages[n / s->page_records] + n % s->page_records * 64, 64);
}

/* ---- rings -------------------------------------------------------------------------------------------------------------- */

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

/* ---- slices -------------------------------------------------------------------------------------------------------------- */

static struct tf_slices *slices(void)
{
	return tf_at(&made.map, made_header(&made)->slices, sizeof(struct tf_slices));
}

static uint64_t sum_calls(unsigned class)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TF_SLICES; i++)
		sum += slices()->slice[i].calls[class];
	return sum;
}

static uint64_t sum_ticks(unsigned class)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TF_SLICES; i++)
		sum += slices()->slice[i].self_ticks[class];
	return sum;
}

static void feed(struct tf_record r)
{
	struct tf_ring *ring = ring_at(thread->ring_first);

	push(ring, r);
	assert_int_equal(drain_thread(&drain, 0, UINT64_MAX), 1);
	assert_int_equal(ring->tail, ring->head);
}

static void test_slices_merge_and_keep_the_totals(void **state)
{
	uint64_t width = slices()->width, ticks[2] = { 0 }, at = slices()->origin;

	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t length = i % 100 == 99 ? 3 * width + i : 1000 + i; /* some reach over several slices */
		struct tf_record r = a_sync(at, length);
		if (i % 3 == 0)
			r.call = alloc;
		ticks[i % 3 == 0] += length;
		feed(r);
		at += length + width / 2;
		assert_int_equal(sum_calls(SPY_CLASS_SYNC) + sum_calls(SPY_CLASS_ALLOC), i + 1);
		assert_in_range(slices()->used, 1, TF_SLICES);
	}
	assert_int_equal(sum_ticks(SPY_CLASS_SYNC), ticks[0]);
	assert_int_equal(sum_ticks(SPY_CLASS_ALLOC), ticks[1]);
	assert_true(slices()->width > width && slices()->width % width == 0);
	assert_true((at - slices()->origin) / slices()->width < TF_SLICES);
	assert_true(slices()->used > TF_SLICES / 2); /* no coarser than need be */
	/* evenly made, so evenly found: the first quarter of the slices has a quarter of the calls */
	uint64_t quarter = 0;
	for (unsigned i = 0; i < slices()->used / 4; i++)
		quarter += slices()->slice[i].calls[SPY_CLASS_SYNC] + slices()->slice[i].calls[SPY_CLASS_ALLOC];
	assert_near((double)quarter, 1250, 0.05);
}

/* A call's time lies where it passed; the call itself where it returned. */
static void test_a_call_over_slices(void **state)
{
	uint64_t width = slices()->width, origin = slices()->origin;

	feed(a_sync(origin + width / 2, 2 * width));
	assert_int_equal(slices()->slice[0].self_ticks[SPY_CLASS_SYNC], width / 2);
	assert_int_equal(slices()->slice[1].self_ticks[SPY_CLASS_SYNC], width);
	assert_int_equal(slices()->slice[2].self_ticks[SPY_CLASS_SYNC], width / 2);
	assert_int_equal(slices()->slice[2].calls[SPY_CLASS_SYNC], 1);
	assert_int_equal(sum_calls(SPY_CLASS_SYNC), 1);
	feed(a_sync(origin - 500, 400)); /* before the origin: in the first slice */
	assert_int_equal(slices()->slice[0].calls[SPY_CLASS_SYNC], 1);
	assert_int_equal(slices()->slice[0].self_ticks[SPY_CLASS_SYNC], width / 2 + 400);
}

static void test_nested_time_is_not_its_callers(void **state)
{
	uint64_t at = slices()->origin;
	struct tf_record nested = { .start = at + 100, .end = at + 400, .call = alloc, .flags = TF_NESTED };
	struct tf_record outer = { .start = at, .end = at + 1000, .call = launch, .flags = TF_NO_ARGS };

	feed(nested);
	nested.start += 400;
	nested.end += 400;
	feed(nested);
	assert_int_equal(thread->nested_ticks, 600);
	feed(outer);
	assert_int_equal(thread->nested_ticks, 0);
	feed(outer); /* another call, with nothing nested in it */
	assert_int_equal(sum_ticks(SPY_CLASS_ALLOC), 600);
	assert_int_equal(sum_ticks(SPY_CLASS_LAUNCH), 400 + 1000);
	assert_int_equal(hist_count(launch), 2);
	assert_int_equal(hist_count(alloc), 0); /* only calls that the program made */
}

/* ---- launches ------------------------------------------------------------------------------------------------------------ */

static struct tf_record a_launch(uint32_t kernel, uint32_t grid)
{
	struct tf_record r = { .start = 2000, .end = 2100, .call = launch };

	r.launch.kernel = kernel;
	r.launch.grid_x = grid;
	r.launch.grid_y = r.launch.grid_z = r.launch.block_y = r.launch.block_z = 1;
	r.launch.block_x = 128;
	r.launch.items = 1;
	return r;
}

static struct tf_kernel *kernel_at(uint32_t kernel)
{
	return tf_entry(&made.map, &made_header(&made)->kernels, kernel, sizeof(struct tf_kernel));
}

static const struct tf_shape *shape(uint32_t kernel, uint32_t grid)
{
	const struct tf_shape *all = tf_at(&made.map, made_header(&made)->shapes, TF_SHAPES * sizeof(*all)), *found = NULL;

	for (unsigned i = 0; i < TF_SHAPES; i++)
		if (all[i].launches && all[i].kernel == kernel && all[i].grid_x == grid) {
			assert_null(found); /* one place for each */
			found = &all[i];
		}
	return found;
}

static void test_shapes(void **state)
{
	uint32_t a = made_kernel(&made, "a"), b = made_kernel(&made, "b");

	for (uint32_t i = 0; i < 300; i++)
		feed(a_launch(i % 2 ? a : b, 1 + i % 6));
	for (uint32_t grid = 1; grid <= 6; grid++) {
		assert_null(shape(grid % 2 ? a : b, grid));
		assert_int_equal(shape(grid % 2 ? b : a, grid)->launches, 50);
		assert_int_equal(shape(grid % 2 ? b : a, grid)->sum_ticks, 50 * 100);
	}
	assert_int_equal(kernel_at(a)->shapes, 3);
	assert_int_equal(kernel_at(b)->shapes, 3);
	struct tf_hist *h = tf_at(&made.map, kernel_at(a)->hist, sizeof(*h));
	assert_int_equal(h->count, 150);
	assert_near(hist_quantile(h, 0.5), 100, 0.03);
}

/* One field apart is another shape. */
static void test_shapes_tell_all_fields_apart(void **state)
{
	uint32_t a = made_kernel(&made, "a");
	struct tf_record r = a_launch(a, 7);

	feed(r);
	for (int field = 0; field < 10; field++) {
		r = a_launch(a, 7);
		switch (field) {
		case 0: r.launch.grid_x++; break;
		case 1: r.launch.grid_y++; break;
		case 2: r.launch.grid_z++; break;
		case 3: r.launch.block_x++; break;
		case 4: r.launch.block_y++; break;
		case 5: r.launch.block_z++; break;
		case 6: r.launch.cluster_x++; break;
		case 7: r.launch.cluster_y++; break;
		case 8: r.launch.cluster_z++; break;
		case 9: r.launch.shared_bytes++; break;
		}
		feed(r);
	}
	assert_int_equal(kernel_at(a)->shapes, 11);
	feed(r);
	assert_int_equal(kernel_at(a)->shapes, 11);
}

static void test_shapes_full(void **state)
{
	uint32_t a = made_kernel(&made, "a");
	uint64_t told_apart = 0;

	for (uint32_t i = 1; i <= 3 * TF_SHAPES; i++)
		feed(a_launch(a, i));
	for (uint32_t i = 1; i <= 3 * TF_SHAPES; i += 97)
		told_apart += shape(a, i) != NULL;
	assert_int_equal(kernel_at(a)->shapes + made_header(&made)->trouble[SPY_TROUBLE_SHAPES_FULL], 3 * TF_SHAPES);
	assert_in_range(kernel_at(a)->shapes, TF_SHAPES * 9 / 10, TF_SHAPES);
	assert_true(told_apart > 0);
	struct tf_hist *h = tf_at(&made.map, kernel_at(a)->hist, sizeof(*h));
	assert_int_equal(h->count, 3 * TF_SHAPES); /* this counts on */
}

static void test_launches_that_are_none(void **state)
{
	uint32_t a = made_kernel(&made, "a");
	struct tf_record r = a_launch(a, 1);

	r.flags = TF_CAPTURED;
	feed(r);
	r.flags = TF_NO_ARGS;
	feed(r);
	r.flags = 0;
	r.result = 700;
	feed(r);
	feed(a_launch(a + 1, 1)); /* no such kernel */
	feed(a_launch(UINT32_MAX, 1));
	assert_int_equal(kernel_at(a)->shapes, 0);
	assert_int_equal(kernel_at(a)->hist, 0);
	assert_int_equal(hist_count(launch), 5);
}

static void test_graphs(void **state)
{
	uint32_t first = made_graph(&made, 0x1000, 1), second = made_graph(&made, 0x2000, 1);
	struct tf_graph *g = tf_entry(&made.map, &made_header(&made)->graphs, second, sizeof(*g));
	struct tf_record r = { .start = 2000, .end = 2500, .call = graph_launch };

	r.graph.graph = second;
	r.graph.handle = 0x2000;
	for (int i = 0; i < 5; i++)
		feed(r);
	r.flags = TF_CAPTURED;
	feed(r);
	r.flags = 0;
	r.result = 1;
	feed(r);
	r.result = 0;
	r.graph.graph = UINT32_MAX;
	feed(r);
	r.graph.graph = second;
	r.graph.handle = 0; /* of no known graph */
	feed(r);
	assert_int_equal(g->launches, 5);
	assert_int_equal(g->sum_ticks, 5 * 500);
	r.call = instantiate;
	r.graph.handle = 0x2000;
	feed(r);
	r.flags = TF_NESTED;
	feed(r);
	assert_int_equal(g->updates, 1);
	g = tf_entry(&made.map, &made_header(&made)->graphs, first, sizeof(*g));
	assert_int_equal(g->launches + g->updates, 0);
}

/* ---- kept records --------------------------------------------------------------------------------------------------------- */

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

/* ---- damage ---------------------------------------------------------------------------------------------------------------- */

static void assert_yields(uint64_t records)
{
	assert_int_equal(drain_thread(&drain, 0, UINT64_MAX), records);
	assert_int_equal(hist_count(sync), records);
}

static void one_record(void)
{
	push(ring_at(thread->ring_first), a_sync(2000, 1));
}

static void test_damaged_rings(void **state)
{
	struct tf_ring *ring = ring_at(thread->ring_first);
	const uint64_t capacities[] = { 0, 3, 63, 65, 1 << 27, UINT64_MAX, 1ull << 63, 1 << 26 };

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
	const uint64_t offsets[] = { 4, 8 + 1, UINT64_MAX, UINT64_MAX - 63, made.map.size, made.map.size - 64 };
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
	assert_int_equal(drain_thread(&drain, 0, UINT64_MAX), 1);
	ring->next = 12345; /* nowhere */
	thread->ring_drain = thread->ring_first;
	assert_int_equal(drain_thread(&drain, 0, UINT64_MAX), 0);
}

static void test_damaged_records(void **state)
{
	struct tf_record r = a_sync(2000, 10);

	r.end = 1999; /* ends before it starts */
	feed(r);
	r = a_sync(2000, 10);
	r.call = 9; /* no such call */
	feed(r);
	r.call = UINT16_MAX;
	feed(r);
	struct tf_call *c = tf_entry(&made.map, &made_header(&made)->calls, alloc, sizeof(*c));
	c->class = SPY_CLASS_COUNT;
	r.call = alloc;
	feed(r);
	c->class = 255;
	feed(r);
	assert_int_equal(kept()->written, 0);
	assert_int_equal(sum_calls(SPY_CLASS_SYNC), 0);
	feed(a_sync(0, UINT64_MAX)); /* all of time: counted, and no endless loop */
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
	h->slices = h->shapes = UINT64_MAX - 7;
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
		cmocka_unit_test_setup_teardown(test_order_and_release, start, end),
		cmocka_unit_test_setup_teardown(test_chain, start, end),
		cmocka_unit_test_setup_teardown(test_counters_wrap, start, end),
		cmocka_unit_test_setup_teardown(test_all_threads, start, end),
		cmocka_unit_test_setup_teardown(test_slices_merge_and_keep_the_totals, start, end),
		cmocka_unit_test_setup_teardown(test_a_call_over_slices, start, end),
		cmocka_unit_test_setup_teardown(test_nested_time_is_not_its_callers, start, end),
		cmocka_unit_test_setup_teardown(test_shapes, start, end),
		cmocka_unit_test_setup_teardown(test_shapes_tell_all_fields_apart, start, end),
		cmocka_unit_test_setup_teardown(test_shapes_full, start, end),
		cmocka_unit_test_setup_teardown(test_launches_that_are_none, start, end),
		cmocka_unit_test_setup_teardown(test_graphs, start, end),
		cmocka_unit_test_setup_teardown(test_keep_goes_round, start, end),
		cmocka_unit_test_setup_teardown(test_keep_without_room, start, end),
		cmocka_unit_test_setup_teardown(test_store_then_keep, start, end),
		cmocka_unit_test_setup_teardown(test_damaged_rings, start, end),
		cmocka_unit_test_setup_teardown(test_chains_without_end, start, end),
		cmocka_unit_test_setup_teardown(test_damaged_records, start, end),
		cmocka_unit_test_setup_teardown(test_damaged_areas, start, end),
	};

	return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}
