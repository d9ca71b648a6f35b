/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/steps/steps.h"
#include "tests/unit/shim/core/drain_fixture.h"

static struct steps *steps;
static uint64_t now;

static int begin(void **state)
{
	start(state);
	for (int i = 0; i < 40; i++)
		made_kernel(&made, "kernel");
	steps = steps_new();
	assert_non_null(steps);
	now = 2000;
	return 0;
}

static int finish(void **state)
{
	steps_free(steps);
	return end(state);
}

static void give(struct tf_record r, unsigned cls)
{
	r.start = now;
	r.end = now + 100;
	now += 150;
	steps_call(steps, &made.map, 0, &r, cls);
}

static void run_kernel(uint32_t kernel, uint32_t grid)
{
	give(a_launch(kernel, grid), SPY_CLASS_LAUNCH);
}

static void wait(void)
{
	give(a_sync(0, 0), SPY_CLASS_SYNC);
}

static const struct tf_loop *loop(uint32_t i)
{
	steps_finish(steps, &made.map);
	return i < made_header(&made)->loops.count
	               ? tf_entry(&made.map, &made_header(&made)->loops, i, sizeof(struct tf_loop))
	               : NULL;
}

static const struct tf_step *row(uint32_t i)
{
	return i < made_header(&made)->steps.count
	               ? tf_entry(&made.map, &made_header(&made)->steps, i, sizeof(struct tf_step))
	               : NULL;
}

/* Twelve equal layers, then an optimizer: the step is not the layer. */
static void a_training_step(bool logged, uint32_t grid)
{
	run_kernel(1, grid);
	for (int layer = 0; layer < 12; layer++) {
		run_kernel(2, grid);
		run_kernel(3, grid + 1);
		run_kernel(4, grid);
	}
	for (int i = 0; i < 12; i++)
		run_kernel(5, 7);
	if (logged)
		wait();
}

/* The one that took most time. */
static const struct tf_loop *main_loop(void)
{
	const struct tf_loop *best = loop(0);

	for (uint32_t i = 0; loop(i); i++)
		if (loop(i)->ticks > best->ticks)
			best = loop(i);
	assert_non_null(best);
	return best;
}

static void test_layers_are_no_steps(void **state)
{
	for (int i = 0; i < 100; i++)
		a_training_step(false, 10);
	const struct tf_loop *p = loop(0);
	assert_non_null(p);
	assert_int_equal(p->steps, 100);
	assert_int_equal(p->events, 4900);
	assert_true(p->alike_x1000 > 99000);
	assert_int_equal(row(0)->counts.launches, 49);
	assert_int_equal(row(99)->number, 99);
	assert_int_equal(row(1)->start, row(0)->end);
}

static void test_logging_and_shapes_do_not_break_it(void **state)
{
	for (uint32_t i = 0; i < 200; i++)
		a_training_step(i % 10 == 9, 10 + i % 7);
	assert_int_equal(loop(0)->steps, 200);
	assert_int_equal(loop(0)->odd, 0);
}

/* Conjugate gradients: all that an iteration does it does twice; every 50 they begin anew. */
static void test_iterations_without_a_mark_of_their_own(void **state)
{
	static const uint8_t kernels[] = {1, 2, 2, 3, 3, 0, 4, 5, 4, 1, 3, 3, 0, 5};

	for (int i = 0; i < 1000; i++) {
		for (unsigned k = 0; k < sizeof(kernels); k++)
			if (kernels[k])
				run_kernel(kernels[k], 10);
			else
				wait();
		if (i % 50 == 49)
			run_kernel(6, 10);
	}
	const struct tf_loop *p = main_loop();
	assert_in_range(p->steps, 999, 1000);
	assert_true(p->alike_x1000 > 950 * p->steps);
}

/* A step that reads 40 values one by one is one step. */
static void test_many_reads_are_one_step(void **state)
{
	for (int i = 0; i < 100; i++) {
		a_training_step(false, 10);
		for (int k = 0; k < 40; k++) {
			run_kernel(6, 10);
			wait();
		}
	}
	const struct tf_loop *p = main_loop();
	assert_int_equal(p->steps, 100);
	assert_int_equal(p->events, 12900);
}

/* An evaluation between, and a start that is not like the rest. */
static void test_what_is_unlike_is_odd(void **state)
{
	for (int i = 0; i < 500; i++)
		run_kernel(20, 1 + (uint32_t)i % 3);
	for (int i = 0; i < 100; i++) {
		a_training_step(true, 10);
		for (int k = 0; i == 50 && k < 300; k++)
			run_kernel(30, 1);
	}
	const struct tf_loop *p = main_loop();
	assert_int_equal(p->steps, 100);
	assert_int_equal(p->odd, 0);
	assert_int_equal(p->episodes, 2);
}

static void test_nothing_repeats(void **state)
{
	uint64_t x = 88172645463325252u;

	for (int i = 0; i < 5000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		run_kernel(1 + (uint32_t)(x % 1000), (uint32_t)(x >> 32) % 100);
	}
	assert_null(loop(0));
	assert_int_equal(made_header(&made)->steps.count, 0);
}

static void test_one_kernel_is_no_step(void **state)
{
	for (int i = 0; i < 5000; i++)
		run_kernel(1, 1);
	assert_null(loop(0));
}

/* More steps than rows: evenly thinned, none counted less. */
static void test_rows_are_thinned(void **state)
{
	for (int i = 0; i < 150000; i++) {
		run_kernel(1, 1);
		run_kernel(2, 1);
		wait();
	}
	const struct tf_loop *p = loop(0);
	const struct tf_header *h = made_header(&made);
	assert_int_equal(p->steps, 150000);
	assert_true(p->stride > 1 && p->rows == h->steps.count && h->steps.count <= h->steps.max);
	for (uint32_t i = 0; i < h->steps.count; i++)
		assert_int_equal(row(i)->number, i * p->stride);
}

static struct tf_record a_range(uint16_t node, uint64_t ticks, uint32_t launches)
{
	struct tf_record r = {
	        .start = now, .end = now + ticks, .call = TF_CALL_RANGE, .thread = node};

	now += ticks;
	r.range.launches = launches;
	r.stream = 77 | 3ull << 48;
	r.range.bytes_low = 5;
	return r;
}

static void test_ranges(void **state)
{
	struct tf_header *h = made_header(&made);

	for (int i = 0; i < 2; i++) {
		tf_append(&made.map, &h->ranges);
		tf_publish(&h->ranges);
	}
	struct tf_nvtx_range *range = tf_entry(&made.map, &h->ranges, 1, sizeof(*range));
	feed(a_range(1, 1000, 3));
	feed(a_range(1, 500, 4));
	struct tf_record r = a_range(1, 2000, 9);
	r.flags = TF_RANGE_NO_COUNTS;
	feed(r);
	feed(a_range(2, 5, 5));     /* there is none */
	feed(a_range(65535, 5, 5)); /* nor this */
	r = a_range(1, 10, 1);
	r.end = r.start - 1;
	feed(r);
	assert_int_equal(range->count, 3);
	assert_int_equal(range->counted, 2);
	assert_int_equal(range->ticks, 3500);
	assert_int_equal(range->min_ticks, 500);
	assert_int_equal(range->max_ticks, 2000);
	assert_int_equal(range->counts.launches, 7);
	assert_int_equal(range->counts.copy_bytes, 2 * ((3ull << 32) + 5));
	assert_int_equal(range->counts.launch_ticks, 2 * 77);
	assert_int_equal(range->rows, 3);
	assert_int_equal(row(2)->flags, TF_STEP_NO_COUNTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_layers_are_no_steps, begin, finish),
	        cmocka_unit_test_setup_teardown(test_logging_and_shapes_do_not_break_it, begin,
	                                        finish),
	        cmocka_unit_test_setup_teardown(test_iterations_without_a_mark_of_their_own, begin,
	                                        finish),
	        cmocka_unit_test_setup_teardown(test_many_reads_are_one_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_what_is_unlike_is_odd, begin, finish),
	        cmocka_unit_test_setup_teardown(test_nothing_repeats, begin, finish),
	        cmocka_unit_test_setup_teardown(test_one_kernel_is_no_step, begin, finish),
	        cmocka_unit_test_setup_teardown(test_rows_are_thinned, begin, finish),
	        cmocka_unit_test_setup_teardown(test_ranges, begin, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
