/* SPDX-License-Identifier: Apache-2.0 */
/* What samples stand for, as the drain finds it in the rings. */
#include "shim/core/gpu_time/estimate.h"
#include "shim/core/gpu_time/weights.h"
#include "tests/unit/shim/core/drain_fixture.h"

static struct tf_record a_sample(uint32_t kernel, uint32_t series, uint64_t nth, uint64_t ns)
{
	struct tf_record r = a_launch(kernel, 7);

	r.call = TF_CALL_SAMPLE;
	r.thread = TF_WORK_KERNEL;
	r.result = TF_PAIR_IDLE;
	r.stream = TF_NTH(series, nth);
	r.end = ns;
	return r;
}

static struct weights_mean mean_of(uint32_t kernel)
{
	const struct tf_work *w = shape(kernel, 7);
	const struct tf_weights *weights = weights_of(&made.map, w);
	struct weights_mean m;

	assert_non_null(weights);
	assert_true(weights_mean(weights, w->count, &m));
	return m;
}

static void test_of_two_threads(void **state)
{
	uint32_t a = made_kernel(&made, "a"), b = made_kernel(&made, "b");

	for (uint64_t i = 1; i <= 100; i++) {
		feed(a_launch(a, 7));
		feed(a_launch(b, 7));
		if (i % 20 == 0)
			feed(a_sample(a, 1, i * 9 / 10, 1000));
		if (i % 20 == 0)
			feed(a_sample(a, 2, i / 10, 11000));
		if (i % 50 == 0)
			feed(a_sample(b, 3, i, 5000));
	}
	assert_near(mean_of(a).ns, 2000, 1e-9); /* one launch in ten takes 11 us */
	assert_near(mean_of(b).ns, 5000, 1e-9);
	assert_int_equal(weights_of(&made.map, shape(a, 7))->covered, 100);
	assert_int_equal(shape(a, 7)->pairs[TF_PAIR_IDLE].count, 10);
}

static void test_without_a_number(void **state)
{
	uint32_t a = made_kernel(&made, "a");
	struct estimate_costs costs;

	feed(a_launch(a, 7));
	feed(a_sample(a, 0, 0, 7000));
	assert_null(weights_of(&made.map, shape(a, 7)));
	estimate_costs(&made.map, &costs);
	assert_near(estimate_ns(&costs, shape(a, 7)),
	            7000 - ESTIMATE_NULL_PAIR_NS + gpu_kind(NULL)->null_kernel_ns, 1e-9);
}

/* More series than are remembered: no pair stands for more than is left. */
static void test_more_series_than_places(void **state)
{
	uint32_t a = made_kernel(&made, "a");

	for (uint64_t i = 1; i <= 3; i++)
		for (uint32_t series = 1; series <= 20000; series++) {
			feed(a_launch(a, 7));
			feed(a_sample(a, series, i, 1000 * i));
		}
	const struct tf_weights *w = weights_of(&made.map, shape(a, 7));
	assert_int_equal(w->pairs, 60000);
	assert_true(w->covered <= 60000);
	struct weights_mean m = mean_of(a);
	assert_true(m.ns >= 1000 && m.ns <= 3000);
}

static void test_tries(void **state)
{
	uint32_t a = made_kernel(&made, "a");
	struct tf_record r = a_launch(a, 7);

	feed(r);
	assert_null(weights_of(&made.map, shape(a, 7)));
	r.flags |= TF_SAMPLED;
	for (int i = 0; i < 5; i++)
		feed(r);
	feed(a_sample(a, 1, 3, 4000));
	assert_int_equal(weights_of(&made.map, shape(a, 7))->tries, 5);
	assert_int_equal(weights_of(&made.map, shape(a, 7))->pairs, 1);
}

static void test_damaged_places(void **state)
{
	uint32_t a = made_kernel(&made, "a");

	feed(a_launch(a, 7));
	feed(a_sample(a, 1, 1, 4000));
	struct tf_weight_places *p = tf_at(&made.map, made_header(&made)->weights, sizeof(*p));
	for (uint32_t i = 0; i < TF_WORKS; i++)
		p->at[i] = UINT32_MAX;
	assert_null(weights_of(&made.map, shape(a, 7)));
	feed(a_sample(a, 1, 1, 4000));
	made_header(&made)->weights = UINT64_MAX - 7;
	assert_null(weights_of(&made.map, shape(a, 7)));
	feed(a_sample(a, 1, 1, 4000));
	assert_int_equal(shape(a, 7)->pairs[TF_PAIR_IDLE].count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_of_two_threads, start, end),
	        cmocka_unit_test_setup_teardown(test_without_a_number, start, end),
	        cmocka_unit_test_setup_teardown(test_more_series_than_places, start, end),
	        cmocka_unit_test_setup_teardown(test_tries, start, end),
	        cmocka_unit_test_setup_teardown(test_damaged_places, start, end),
	};

	return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
