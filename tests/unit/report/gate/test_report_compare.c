/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences: of counts, of times with their noise, of kernels that appear, vanish or change
 * shape.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gate/compare.h"
#include "tests/unit/unit.h"

/* A comparison of runs of which only what a test sets is not zero; its runs are its own. */
static void start(struct compare_result *c, size_t before, size_t after)
{
	*c = (struct compare_result){.before = {calloc(before, sizeof(struct figures)), before},
	                             .after = {calloc(after, sizeof(struct figures)), after}};
	for (size_t i = 0; i < before + after; i++)
		(i < before ? &c->before.runs[i] : &c->after.runs[i - before])->has_times = true;
}

static void add_part(struct figures_parts *p, const char *name, uint64_t count, double p50)
{
	p->items = realloc(p->items, (p->count + 1) * sizeof(*p->items));
	p->items[p->count++] = (struct figures_part){
	        .name = strdup(name), .count = count, .p50 = p50, .shapes = 1};
}

static const struct compare_total *total(const struct compare_result *c, enum metric_id id,
                                         bool per_step)
{
	for (size_t i = 0; i < c->total_count; i++)
		if (c->totals[i].metric == &metrics[id] && c->totals[i].per_step == per_step)
			return &c->totals[i];
	return NULL;
}

static const struct compare_pair *pair(const struct compare_pairs *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->items[i].name, name))
			return &p->items[i];
	return NULL;
}

static void test_counts(void **state)
{
	const double before[] = {100, 104, 102}, after[] = {110, 111, 112};
	struct compare_result c;

	start(&c, 3, 3);
	for (int i = 0; i < 3; i++) {
		c.before.runs[i].values[METRIC_LAUNCHES] = before[i];
		c.after.runs[i].values[METRIC_LAUNCHES] = after[i];
	}
	c.after.runs[1].values[METRIC_SYNCS] = NAN;
	compare(&c);
	const struct compare_total *t = total(&c, METRIC_LAUNCHES, false);
	assert_near(t->before.low, 100, 0);
	assert_near(t->before.middle, 102, 0);
	assert_near(t->before.high, 104, 0);
	assert_near(t->after.middle, 111, 0);
	assert_true(span_differs(&t->before, &t->after));
	/* One run that does not know a figure leaves it to the others. */
	assert_near(total(&c, METRIC_SYNCS, false)->after.high, 0, 0);
	assert_false(span_differs(&total(&c, METRIC_SYNCS, false)->before,
	                          &total(&c, METRIC_SYNCS, false)->after));
	assert_null(total(&c, METRIC_LAUNCHES, true)); /* nobody knows steps */
	comparison_free(&c);
}

static void test_per_step(void **state)
{
	const int launches = metric_work(&metrics[METRIC_LAUNCHES]);
	struct compare_result c;

	start(&c, 1, 1);
	for (int i = 0; i < 2; i++) {
		struct figures *f = i ? &c.after.runs[0] : &c.before.runs[0];
		f->steps =
		        (struct figures_step_set){.source = STEPS_FOUND, .count = 10, .judged = 8};
		f->steps.of[launches] = (struct figures_step){.mean = 2 + i};
		f->values[METRIC_FAILED_CALLS] = 5;
	}
	compare(&c);
	assert_near(total(&c, METRIC_LAUNCHES, true)->after.middle, 3, 0);
	assert_near(total(&c, METRIC_FAILED_CALLS, true)->after.middle, .5, 0);
	comparison_free(&c);
	/* As somebody said: totals. */
	start(&c, 1, 1);
	c.steps = 4;
	c.before.runs[0].values[METRIC_LAUNCHES] = 8;
	compare(&c);
	assert_near(total(&c, METRIC_LAUNCHES, true)->before.middle, 2, 0);
	comparison_free(&c);
}

static void set_times(struct compare_result *c, double rise)
{
	for (size_t i = 0; i < c->before.count; i++)
		c->before.runs[i].values[METRIC_LAUNCH_P50_NS] = 2700 + 10 * (double)i;
	for (size_t i = 0; i < c->after.count; i++)
		c->after.runs[i].values[METRIC_LAUNCH_P50_NS] = rise * (2700 + 10 * (double)i);
}

static void test_times(void **state)
{
	static const struct {
		size_t runs;
		double rise;
		bool judged;
		int moved;
	} cases[] = {{5, 1.2, true, 1}, {5, 0.8, true, -1}, {5, 1, true, 0},
	             {3, 1.2, true, 1}, {2, 1.2, false, 0}, {5, 1.001, true, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct compare_result c;
		start(&c, cases[i].runs, cases[i].runs);
		set_times(&c, cases[i].rise);
		compare(&c);
		const struct compare_total *t = total(&c, METRIC_LAUNCH_P50_NS, false);
		assert_int_equal(c.judged, cases[i].judged);
		assert_int_equal(t->time.judged, cases[i].judged);
		assert_int_equal(timing_moved(&t->time, true), cases[i].moved);
		comparison_free(&c);
	}
}

/* Buckets of a histogram: all runs of a side may say the same. */
static void test_no_scatter(void **state)
{
	struct compare_result c;

	start(&c, 3, 3);
	for (int i = 0; i < 3; i++) {
		c.before.runs[i].values[METRIC_LAUNCH_P50_NS] = 100;
		c.after.runs[i].values[METRIC_LAUNCH_P50_NS] = 101;
	}
	compare(&c);
	assert_int_equal(timing_moved(&total(&c, METRIC_LAUNCH_P50_NS, false)->time, true), 0);
	comparison_free(&c);
}

static void test_machines_that_differ(void **state)
{
	struct compare_result c;

	start(&c, 5, 5);
	set_times(&c, 1.5);
	c.after.runs[4].machine.driver = strdup("13.1");
	compare(&c);
	assert_non_null(strstr(c.differs, "driver: unknown and 13.1"));
	assert_false(c.judged);
	assert_int_equal(timing_moved(&total(&c, METRIC_LAUNCH_P50_NS, false)->time, true), 0);
	comparison_free(&c);
}

static void test_kernels(void **state)
{
	struct compare_result c;

	start(&c, 1, 1);
	add_part(&c.before.runs[0].kernels, "gone", 3, 1000);
	add_part(&c.before.runs[0].kernels, "same", 900, 1000);
	add_part(&c.before.runs[0].kernels, "shaped", 7, 1000);
	add_part(&c.after.runs[0].kernels, "came", 50, 2000);
	add_part(&c.after.runs[0].kernels, "same", 900, 1500);
	add_part(&c.after.runs[0].kernels, "shaped", 7, 1000);
	c.after.runs[0].kernels.items[2].grid[0] = 16;
	compare(&c);
	assert_int_equal(c.kernels.count, 4);
	assert_int_equal(c.kernels.changed, 3);
	assert_string_equal(c.kernels.items[0].name, "came"); /* the largest change first */
	assert_string_equal(c.kernels.items[3].name, "same");
	assert_null(pair(&c.kernels, "gone")->after);
	assert_null(pair(&c.kernels, "came")->before);
	assert_true(pair(&c.kernels, "shaped")->reshaped);
	assert_false(pair(&c.kernels, "same")->reshaped);
	assert_near(pair(&c.kernels, "same")->p50.after.middle, 1500, 0);
	assert_false(pair(&c.kernels, "same")->p50.judged);
	comparison_free(&c);
}

/* A time of one call or two is no typical one, however many recordings have it. */
static void test_times_of_few_calls(void **state)
{
	for (uint64_t calls = 1; calls <= 4; calls++) {
		struct compare_result c;
		start(&c, 5, 5);
		for (int i = 0; i < 5; i++) {
			add_part(&c.before.runs[i].apis, "cuCtxCreate", calls, 1000 + i);
			add_part(&c.after.runs[i].apis, "cuCtxCreate", 100, 1e6 + i);
		}
		compare(&c);
		const struct compare_pair *p = pair(&c.apis, "cuCtxCreate");
		assert_int_equal(timing_moved(&p->p50, true), calls >= 3);
		assert_near(p->p50.after.middle, 1e6 + 2, 1e-9);
		comparison_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_counts),     cmocka_unit_test(test_per_step),
	        cmocka_unit_test(test_times),      cmocka_unit_test(test_times_of_few_calls),
	        cmocka_unit_test(test_no_scatter), cmocka_unit_test(test_machines_that_differ),
	        cmocka_unit_test(test_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
