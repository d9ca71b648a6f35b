/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/work/work_class.h"
#include "tests/unit/shim/core/drain_fixture.h"

/* ---- slices ---- */

static void test_slices_merge_and_keep_the_totals(void **state)
{
	uint64_t width = slices()->width, ticks[2] = {0}, at = slices()->origin;

	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t length = i % 100 == 99 ? 3 * width + i
		                                : 1000 + i; /* some reach over several slices */
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
	/* evenly made, so evenly found: the first quarter of the slices has a quarter of the calls
	 */
	uint64_t quarter = 0;
	for (unsigned i = 0; i < slices()->used / 4; i++)
		quarter += slices()->slice[i].calls[SPY_CLASS_SYNC] +
		           slices()->slice[i].calls[SPY_CLASS_ALLOC];
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
	struct tf_record nested = {
	        .start = at + 100, .end = at + 400, .call = alloc, .flags = TF_NESTED};
	struct tf_record outer = {
	        .start = at, .end = at + 1000, .call = launch, .flags = TF_NO_ARGS};

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

/* ---- launches ---- */

static void test_shapes(void **state)
{
	uint32_t a = made_kernel(&made, "a"), b = made_kernel(&made, "b");

	for (uint32_t i = 0; i < 300; i++)
		feed(a_launch(i % 2 ? a : b, 1 + i % 6));
	for (uint32_t grid = 1; grid <= 6; grid++) {
		assert_null(shape(grid % 2 ? a : b, grid));
		assert_int_equal(shape(grid % 2 ? b : a, grid)->count, 50);
		assert_int_equal(shape(grid % 2 ? b : a, grid)->ticks, 50 * 100);
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
		case 0:
			r.launch.grid_x++;
			break;
		case 1:
			r.launch.grid_y++;
			break;
		case 2:
			r.launch.grid_z++;
			break;
		case 3:
			r.launch.block_x++;
			break;
		case 4:
			r.launch.block_y++;
			break;
		case 5:
			r.launch.block_z++;
			break;
		case 6:
			r.launch.cluster_x++;
			break;
		case 7:
			r.launch.cluster_y++;
			break;
		case 8:
			r.launch.cluster_z++;
			break;
		case 9:
			r.launch.shared_bytes++;
			break;
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

	for (uint32_t i = 1; i <= 3 * TF_WORKS; i++)
		feed(a_launch(a, i));
	for (uint32_t i = 1; i <= 3 * TF_WORKS; i += 97)
		told_apart += shape(a, i) != NULL;
	assert_int_equal(kernel_at(a)->shapes + made_header(&made)->anomaly[SPY_ANOMALY_WORKS_FULL],
	                 3 * TF_WORKS);
	assert_in_range(kernel_at(a)->shapes, TF_WORKS * 9 / 10, TF_WORKS);
	assert_true(told_apart > 0);
	struct tf_hist *h = tf_at(&made.map, kernel_at(a)->hist, sizeof(*h));
	assert_int_equal(h->count, 3 * TF_WORKS); /* this counts on */
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
	struct tf_record r = {.start = 2000, .end = 2500, .call = graph_launch};

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

static struct tf_record a_graph_launch(uint32_t graph, uint32_t content)
{
	struct tf_record r = {.start = 2000, .end = 2500, .call = graph_launch};

	r.graph.graph = graph;
	r.graph.content = content;
	r.graph.handle = 0x1000;
	return r;
}

/* Graphs of equal content are one class, whatever their numbers; others, and launches of unknown
 * content, are not mixed up with them. */
static void test_graphs_of_equal_content(void **state)
{
	uint32_t first = made_graph(&made, 0x1000, 1), second = made_graph(&made, 0x2000, 1);
	struct tf_graph *g = tf_entry(&made.map, &made_header(&made)->graphs, first, sizeof(*g));
	struct tf_work key;
	const struct {
		uint32_t graph, content;
	} launches[] = {{first, first + 1},      {second, first + 1}, {second, first + 1},
	                {UINT32_MAX, first + 1}, /* found no place in the table */
	                {first, second + 1},     {first, 0},          {second, UINT32_MAX}};
	const uint64_t wanted[] = {4, 4, 4, 4, 1, 1, 1};

	for (unsigned i = 0; i < 7; i++) {
		feed(a_graph_launch(launches[i].graph, launches[i].content));
		if (i == 3)
			assert_int_equal(g->content, first + 1);
	}
	for (unsigned i = 0; i < 7; i++) {
		struct tf_record r = a_graph_launch(launches[i].graph, launches[i].content);
		work_key(&key, TF_WORK_GRAPH, &r);
		const struct tf_work *w = work_known(&made.map, &key);
		assert_non_null(w);
		assert_int_equal(w->count, wanted[i]);
	}
	assert_int_equal(g->launches, 3);
	assert_int_equal(g->content, TF_GRAPH_SEVERAL);
}

/* ---- what is no call ---- */

static struct tf_record a_sample(struct tf_record work, unsigned kind, enum tf_pair regime,
                                 uint64_t ns)
{
	work.call = TF_CALL_SAMPLE;
	work.thread = (uint16_t)kind;
	work.result = (int16_t)regime;
	work.end = ns;
	return work;
}

static void test_samples(void **state)
{
	uint32_t a = made_kernel(&made, "a");
	struct tf_record calibration =
	        a_sample((struct tf_record){0}, TF_WORK_EMPTY, TF_PAIR_IDLE, 1280);

	feed(a_launch(a, 7));
	feed(a_sample(a_launch(a, 7), TF_WORK_KERNEL, TF_PAIR_IDLE, 5000));
	feed(a_sample(a_launch(a, 7), TF_WORK_KERNEL, TF_PAIR_IDLE, 7000));
	feed(a_sample(a_launch(a, 7), TF_WORK_KERNEL, TF_PAIR_BUSY, 9000));
	feed(calibration);
	const struct tf_work *w = shape(a, 7);
	assert_int_equal(w->count, 1); /* no calls */
	assert_int_equal(w->pairs[TF_PAIR_IDLE].count, 2);
	assert_true(w->pairs[TF_PAIR_IDLE].sum_ns == 12000);
	assert_true(w->pairs[TF_PAIR_IDLE].sum_squares == 74e6);
	assert_int_equal(w->pairs[TF_PAIR_BUSY].count, 1);
	struct tf_work key = {.kind = TF_WORK_EMPTY};
	const struct tf_work *empty = work_known(&made.map, &key);
	assert_non_null(empty);
	assert_true(empty->pairs[TF_PAIR_IDLE].sum_ns == 1280);
	assert_int_equal(kept()->written, 5); /* they are kept all the same */
	assert_int_equal(hist_count(launch), 1);
	assert_int_equal(sum_calls(SPY_CLASS_LAUNCH), 1);
}

/* The shortest pair; those of pinned copies as they would be at the least size of their class. */
static void test_shortest_sample(void **state)
{
	uint32_t a = made_kernel(&made, "a");
	const double bus = 100000 * (1 / 1.15);

	feed(a_sample(a_launch(a, 7), TF_WORK_KERNEL, TF_PAIR_IDLE, 7000));
	feed(a_sample(a_launch(a, 7), TF_WORK_KERNEL, TF_PAIR_IDLE, 5000));
	feed(a_sample(a_launch(a, 7), TF_WORK_KERNEL, TF_PAIR_IDLE, 6000));
	assert_int_equal(shape(a, 7)->pairs[TF_PAIR_IDLE].least_ns, 5000);
	feed(a_sample(a_launch(a, 8), TF_WORK_KERNEL, TF_PAIR_BUSY, 1ull << 33));
	assert_int_equal(shape(a, 8)->pairs[TF_PAIR_BUSY].least_ns, UINT32_MAX);

	struct tf_record copy = {.flags = 0};
	copy.copy.direction = SPY_DIR_HTOD;
	copy.copy.memory = SPY_MEM_PINNED;
	copy.copy.items = 1;
	copy.copy.bytes = (uint64_t)(1.15 * (1 << 20));
	feed(a_sample(copy, TF_WORK_COPY, TF_PAIR_IDLE, 105000));
	copy.copy.bytes = 1 << 20;
	feed(a_sample(copy, TF_WORK_COPY, TF_PAIR_IDLE, 93000));
	struct tf_work key;
	work_key(&key, TF_WORK_COPY, &copy);
	const struct tf_pairs *p = &work_known(&made.map, &key)->pairs[TF_PAIR_IDLE];
	assert_int_equal(p->count, 2);
	assert_near(p->least_ns, 5000 + bus, 1e-4); /* not the 93,000 */
	assert_near(p->sum_ns, 5000 + bus + 93000, 1e-4);
}

static void test_damaged_samples(void **state)
{
	uint32_t a = made_kernel(&made, "a");

	feed(a_launch(a, 7));
	feed(a_sample(a_launch(a, 7), TF_WORK_KERNEL, TF_PAIRS, 5000));
	feed(a_sample(a_launch(a, 7), TF_WORK_KERNEL, (enum tf_pair) - 1, 5000));
	feed(a_sample(a_launch(a, 7), TF_WORK_KINDS, TF_PAIR_IDLE, 5000));
	feed(a_sample(a_launch(a, 7), TF_WORK_NONE, TF_PAIR_IDLE, 5000));
	feed(a_sample(a_launch(a, 7), TF_WORK_KERNEL, TF_PAIR_IDLE, UINT64_MAX));
	assert_int_equal(
	        shape(a, 7)->pairs[TF_PAIR_IDLE].count + shape(a, 7)->pairs[TF_PAIR_BUSY].count, 0);
}

static void test_facts(void **state)
{
	uint32_t a = made_kernel(&made, "a");
	struct tf_record r = a_launch(a, 7);

	r.call = TF_CALL_FACTS;
	r.start = 40 | 6ull << 16 | 64ull << 32 | 4096ull << 48;
	r.end = 0;
	feed(r);
	const struct tf_work *w = shape(a, 7);
	assert_int_equal(w->registers, 40);
	assert_int_equal(w->blocks_per_sm, 6);
	assert_int_equal(w->warps_per_sm, 64);
	assert_int_equal(w->static_shared, 4096);
	assert_int_equal(w->count, 0);
}

/* What is no call goes with the records around it, whatever stands in its times. */
static void test_samples_keep_their_place(void **state)
{
	uint32_t a = made_kernel(&made, "a");
	struct tf_ring *ring = ring_at(thread->ring_first);

	push(ring, a_sync(3000, 10));
	push(ring, a_sample(a_launch(a, 7), TF_WORK_KERNEL, TF_PAIR_IDLE, 1ull << 40));
	push(ring, a_sync(3100, 10));
	assert_int_equal(drain_all(&drain, 3050), 2);
	assert_int_equal(drain_all(&drain, 3200), 1);
}

static void test_activities(void **state)
{
	struct tf_header *h = made_header(&made);
	struct tf_record r = {
	        .start = 100, .end = 200, .call = TF_CALL_ACTIVITY, .thread = TF_WORK_KERNEL};

	h->activity_ring = new_ring(64);
	for (int i = 0; i < 50; i++)
		push(ring_at(h->activity_ring), r);
	ring_at(h->activity_ring)->next = new_ring(128);
	push(ring_at(ring_at(h->activity_ring)->next), r);
	assert_int_equal(drain_all(&drain, 0), 51);
	assert_int_equal(kept()->written, 51);
	assert_int_equal(h->activity_drain, ring_at(h->activity_ring)->next);
	feed(r); /* in a thread's ring: none */
	assert_int_equal(kept()->written, 51);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_slices_merge_and_keep_the_totals, start, end),
	        cmocka_unit_test_setup_teardown(test_a_call_over_slices, start, end),
	        cmocka_unit_test_setup_teardown(test_nested_time_is_not_its_callers, start, end),
	        cmocka_unit_test_setup_teardown(test_shapes, start, end),
	        cmocka_unit_test_setup_teardown(test_shapes_tell_all_fields_apart, start, end),
	        cmocka_unit_test_setup_teardown(test_shapes_full, start, end),
	        cmocka_unit_test_setup_teardown(test_launches_that_are_none, start, end),
	        cmocka_unit_test_setup_teardown(test_graphs, start, end),
	        cmocka_unit_test_setup_teardown(test_graphs_of_equal_content, start, end),
	        cmocka_unit_test_setup_teardown(test_samples, start, end),
	        cmocka_unit_test_setup_teardown(test_shortest_sample, start, end),
	        cmocka_unit_test_setup_teardown(test_damaged_samples, start, end),
	        cmocka_unit_test_setup_teardown(test_facts, start, end),
	        cmocka_unit_test_setup_teardown(test_samples_keep_their_place, start, end),
	        cmocka_unit_test_setup_teardown(test_activities, start, end),
	};

	return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}
