/* SPDX-License-Identifier: Apache-2.0 */
/* What CUPTI tells when its call is waited for no more: after 3 s. */
#include "shim/core/timeline/timeline_state.h"
#include "tests/unit/shim/core/timeline/exact_fixture.h"

#define LATER 5000000000ull
#define EACH  20000 /* ns from one call to the next */
#define AT(i) (10000 + (i)*EACH)
#define AGAIN 100 /* calls that CUPTI tells in time, behind those that it told too late */
#define COUNT 20

static uint64_t late(void)
{
	return header()->anomaly[SPY_ANOMALY_CUPTI_LATE];
}

static const struct tf_work *class_of(struct tf_record r, enum tf_work_kind kind)
{
	struct tf_work key;

	work_key(&key, kind, &r);
	const struct tf_work *w = work_known(&made.map, &key);
	assert_non_null(w);
	return w;
}

static struct tf_record a_graph(void)
{
	struct tf_record graph = {.call = GRAPH};

	graph.graph.graph = made_graph(&made, 0x77, 1);
	graph.graph.handle = 0x77;
	return graph;
}

static struct tf_record a_batch(void)
{
	struct tf_record batch = a_copy(SPY_DIR_HTOD, SPY_MEM_PINNED, true, 4096);

	batch.copy.items = 3;
	return batch;
}

/* CUPTI hands over nothing for seconds, as where other processes keep its thread from running, and
 * then all of it: it is too late for the timeline, but what each kind took is known, and the next
 * calls wait for their times again. */
static void test_activities_come_too_late(void **state)
{
	const uint64_t each = EACH, later = LATER;
	struct tf_work key;
	struct tf_record r = a_kernel(0);

	for (uint64_t i = 0; i < 2000; i++)
		launch(0, 10000 + i * each, 11000 + i * each);
	advance(later);
	work_key(&key, TF_WORK_KERNEL, &r);
	const struct tf_work *w = work_known(&made.map, &key);
	assert_int_equal(w->exact_count, 0);
	for (uint64_t i = 0; i < 2000; i++)
		activity(0, 10000 + i * each, TF_WORK_KERNEL, 12000 + i * each, 19000 + i * each);
	assert_int_equal(w->exact_count, 2000);
	assert_true(w->exact_ns == 2000 * 7000);
	assert_int_equal(header()->anomaly[SPY_ANOMALY_CUPTI_LATE], 2000);
	launch(0, later + 10000, later + 11000);
	advance(later + 100000);
	assert_int_equal(split(0)[TF_HOST_LAUNCH], 2000 * 1000); /* the last one is waited for */
	activity(0, later + 10000, TF_WORK_KERNEL, later + 12000, later + 19000);
	call(OTHER, 0, later + 200000, later + 201000);
	finish();
	assert_int_equal(w->exact_count, 2001);
	assert_int_equal(header()->anomaly[SPY_ANOMALY_CUPTI_LATE], 2000);
}

/* Of a batch of copies no one copy has the time of all, of a graph's nodes no one node; of a graph
 * that CUPTI tells as one piece that piece has. */
static void test_what_comes_too_late_is_of_one_piece(void **state)
{
	const struct tf_record batch = a_batch(), graph = a_graph();

	feed(0, batch, 10000, 11000);
	feed(0, graph, 20000, 21000);
	feed(0, graph, 30000, 31000);
	advance(LATER);
	activity(0, 10000, TF_WORK_COPY, 12000, 13000);
	activity(0, 20000, TF_WORK_GRAPH, 22000, 29000);
	node(30000, 32000, 33000);
	assert_int_equal(class_of(graph, TF_WORK_GRAPH)->exact_count, 1);
	assert_true(class_of(graph, TF_WORK_GRAPH)->exact_ns == 7000);
	assert_int_equal(class_of(batch, TF_WORK_COPY)->exact_count, 0);
	assert_int_equal(late(), 3);
	finish();
}

/* A guess stands where a call is waited for no more: its activity is not booked beside it. */
static void test_what_comes_too_late_is_placed_once(void **state)
{
	for (uint64_t i = 0; i < 2000; i++)
		launch(0, AT(i), AT(i) + 1000);
	advance(LATER);
	for (uint64_t i = 0; i < 2000; i++)
		activity(0, AT(i), TF_WORK_KERNEL, AT(i) + 2000, AT(i) + 9000);
	call(OTHER, 0, LATER + 200000, LATER + 201000);
	finish();
	const struct tf_stream *s = tf_entry(&made.map, &header()->streams, 0, sizeof(*s));
	assert_int_equal(on_device(0)->work, 2000);
	assert_int_equal(on_device(0)->work_unknown, 0);
	assert_int_equal(kernel_at(0)->queue_count, 2000);
	assert_int_equal(s->kernels, 2000);
	assert_int_equal(s->kernel_ticks, 2000 * 10000); /* as long as pairs said */
	assert_int_equal(total()->busy, 2000 * 10000);
	assert_int_equal(late(), 2000);
}

/* Three pieces of a call, `from` on. */
static void three(uint64_t entry, enum tf_work_kind kind, uint64_t from)
{
	for (uint64_t k = 0; k < 3; k++)
		if (kind == TF_WORK_GRAPH)
			node(entry, from + 2000 * k, from + 2000 * k + 1000);
		else
			activity(0, entry, kind, from + 2000 * k, from + 2000 * k + 1000);
}

/* CUPTI is late for as many calls of several pieces as make it seem that they never have any; then
 * it is in time again. */
static void waited_for_again(struct tf_record r, enum tf_work_kind kind)
{
	for (uint64_t i = 0; i < COUNT; i++)
		feed(0, r, AT(i), AT(i) + 1000);
	advance(LATER);
	for (uint64_t i = 0; i < COUNT; i++)
		three(AT(i), kind, AT(i) + 2000);
	assert_int_equal(late(), 3 * COUNT);
	for (uint64_t i = 0; i < AGAIN; i++) {
		uint64_t at = LATER + (i + 1) * MS;
		feed(0, r, at, at + 1000);
		advance(at + 2000);
		three(at, kind, at + 3000);
		for (uint64_t round = 1; round <= 3; round++)
			advance(at + 500000 + round);
	}
	finish();
	assert_int_equal(class_of(r, kind)->exact_count, AGAIN);
	assert_int_equal(late(), 3 * COUNT);
}

static void test_batches_are_waited_for_again(void **state)
{
	waited_for_again(a_batch(), TF_WORK_COPY);
}

static void test_graphs_told_by_nodes_are_waited_for_again(void **state)
{
	waited_for_again(a_graph(), TF_WORK_GRAPH);
}

/* The same of calls whose class has no row, as none is left. */
static void test_calls_without_a_class_are_waited_for_again(void **state)
{
	struct tf_record r = a_kernel(3);

	for (uint64_t i = 0; i <= 2 * COUNT; i++) {
		uint64_t at = i < 2 * COUNT ? AT(i) : LATER + 10000;
		if (i == 2 * COUNT) {
			advance(LATER);
			for (uint64_t k = 0; k < i; k++)
				activity(0, AT(k), TF_WORK_KERNEL, AT(k) + 2000, AT(k) + 9000);
		}
		r.start = WINDOW + at;
		r.end = r.start + 1000;
		timeline_call(timeline, 0, &r, SPY_CLASS_LAUNCH, NULL);
	}
	advance(LATER + 100000);
	assert_int_equal(split(0)[TF_HOST_LAUNCH],
	                 2 * COUNT * 1000); /* the last one is waited for */
	assert_int_equal(late(), 2 * COUNT);
	finish();
}

/* CUPTI's untrue time of a copy, 15 ms for a microsecond, is no truer when it comes late. */
static void test_an_untrue_time_that_comes_late(void **state)
{
	const struct tf_record copy = a_copy(SPY_DIR_DTOD, SPY_MEM_DEVICE, true, 65536);

	for (uint64_t at = 10 * MS; at <= 30 * MS; at += 10 * MS)
		feed(0, copy, at, at + 1000);
	advance(LATER);
	for (uint64_t at = 10 * MS; at <= 30 * MS; at += 10 * MS)
		activity(0, at, TF_WORK_COPY, at + 3000, at == 20 * MS ? 35 * MS : at + 4000);
	finish();
	assert_int_equal(class_of(copy, TF_WORK_COPY)->exact_count, 2);
	assert_true(class_of(copy, TF_WORK_COPY)->exact_ns == 2000);
}

static void test_one_copy_in_two_late_pieces(void **state)
{
	const struct tf_record copy = a_copy(SPY_DIR_HTOD, SPY_MEM_PINNED, true, 65536);

	feed(0, copy, 10000, 11000);
	advance(LATER);
	activity(0, 10000, TF_WORK_COPY, 12000, 13000);
	activity(0, 10000, TF_WORK_COPY, 13000, 16000);
	finish();
	assert_int_equal(class_of(copy, TF_WORK_COPY)->exact_count, 1);
	assert_true(class_of(copy, TF_WORK_COPY)->exact_ns == 4000);
}

/* As many as wait at most: there is room for each. */
static void test_as_many_late_as_ever_wait(void **state)
{
	const uint64_t most = TL_DELAYED;

	for (uint64_t i = 0; i < most; i++)
		launch(0, AT(i), AT(i) + 1000);
	advance(AT(most) + LATER);
	for (uint64_t i = 0; i < most; i++)
		activity(0, AT(i), TF_WORK_KERNEL, AT(i) + 2000, AT(i) + 9000);
	assert_int_equal(class_of(a_kernel(0), TF_WORK_KERNEL)->exact_count, most);
	assert_int_equal(late(), most);
	finish();
}

/* A slow link, 0.7 bytes a ns: 1 MiB takes 1.5 ms. In time its times count; late too. */
static void test_a_late_copy_over_a_slow_link(void **state)
{
	struct tf_record copy = a_copy(SPY_DIR_HTOD, SPY_MEM_PINNED, true, 1u << 20);
	struct tf_work key;

	for (uint64_t i = 0; i < 10; i++)
		feed(0, copy, (2 * MS * (i + 1)), (2 * MS * (i + 1)) + 1000);
	advance(LATER);
	for (uint64_t i = 0; i < 10; i++)
		activity(0, (2 * MS * (i + 1)), TF_WORK_COPY, (2 * MS * (i + 1)) + 2000,
		         (2 * MS * (i + 1)) + 2000 + 3 * MS / 2);
	copy.start = WINDOW + (2 * MS * (0 + 1));
	work_key(&key, TF_WORK_COPY, &copy);
	uint64_t late = work_known(&made.map, &key)->exact_count;
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t at = LATER + (2 * MS * (i + 1));
		feed(0, copy, at, at + 1000);
		advance(at + 1100);
		activity(0, at, TF_WORK_COPY, at + 2000, at + 2000 + 3 * MS / 2);
		for (uint64_t round = 1; round <= 3; round++)
			advance(at + 1600000 + round);
	}
	finish();
	uint64_t in_time = work_known(&made.map, &key)->exact_count - late;
	assert_int_equal(late, in_time);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_activities_come_too_late, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_what_comes_too_late_is_of_one_piece,
	                                        start_exact, end),
	        cmocka_unit_test_setup_teardown(test_what_comes_too_late_is_placed_once,
	                                        start_exact, end),
	        cmocka_unit_test_setup_teardown(test_batches_are_waited_for_again, start_exact,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_graphs_told_by_nodes_are_waited_for_again,
	                                        start_exact, end),
	        cmocka_unit_test_setup_teardown(test_calls_without_a_class_are_waited_for_again,
	                                        start_exact, end),
	        cmocka_unit_test_setup_teardown(test_an_untrue_time_that_comes_late, start_exact,
	                                        end),
	        cmocka_unit_test_setup_teardown(test_one_copy_in_two_late_pieces, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_as_many_late_as_ever_wait, start_exact, end),
	        cmocka_unit_test_setup_teardown(test_a_late_copy_over_a_slow_link, start_exact,
	                                        end),
	};

	return cmocka_run_group_tests_name("timeline_late", tests, NULL, NULL);
}
