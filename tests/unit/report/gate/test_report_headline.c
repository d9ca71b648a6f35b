/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence that diff and bench begin with: what is faster, and when that cannot be told. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gate/headline.h"
#include "tests/unit/unit.h"

struct run {                      /* what a test says of a recording */
	double period, low, high; /* of its steps, ms */
	double window;            /* ms */
	double launches, syncs, steps;
	const char *name; /* of its steps; NULL: it has none */
	bool found;
};

static void fill(struct figures *f, const struct run *r)
{
	*f = (struct figures){.has_times = true, .machine = {.driver = strdup("13.0")}};
	for (size_t i = 0; i < METRICS; i++)
		f->values[i] = NAN;
	f->values[METRIC_LAUNCHES] = r->launches;
	f->values[METRIC_SYNCS] = r->syncs;
	f->values[METRIC_WINDOW_NS] = r->window * 1e6;
	f->steps.period_low = f->steps.period_high = NAN;
	if (!r->name)
		return;
	f->values[METRIC_LOOP_STEPS] = r->steps;
	f->values[METRIC_STEP_PERIOD_NS] = r->period * 1e6;
	f->steps.source = r->found ? STEPS_FOUND : STEPS_NVTX;
	f->steps.name = strdup(r->name);
	f->steps.count = (uint64_t)r->steps;
	f->steps.period_low = r->low * 1e6;
	f->steps.period_high = r->high * 1e6;
	for (unsigned i = 0; i < WORK_FIGURES; i++)
		f->steps.of[i].mean = NAN;
	f->steps.of[0].mean = r->launches / r->steps;
	f->steps.of[2].mean = r->syncs / r->steps;
}

static void compare_runs(struct compare_result *c, const struct run *before, size_t n,
                         const struct run *after, size_t m)
{
	*c = (struct compare_result){.before = {calloc(n, sizeof(struct figures)), n},
	                             .after = {calloc(m, sizeof(struct figures)), m}};
	for (size_t i = 0; i < n; i++)
		fill(&c->before.runs[i], &before[i]);
	for (size_t i = 0; i < m; i++)
		fill(&c->after.runs[i], &after[i]);
	compare(c);
}

static void says(const struct run *before, size_t n, const struct run *after, size_t m,
                 const char *text)
{
	struct compare_result c;
	struct headline h;

	compare_runs(&c, before, n, after, m);
	headline_make(&h, &c, NULL, "before", "after");
	assert_string_equal(h.text, text);
	headline_free(&h);
	comparison_free(&c);
}

#define SLOW                                                                                       \
	{                                                                                          \
		84, 83, 85, 9000, 20, 3000, 100, "step", false                                     \
	}
#define FAST                                                                                       \
	{                                                                                          \
		43, 42, 44, 4800, 20, 1, 100, "step", false                                        \
	}

static void test_faster(void **state)
{
	const struct run before = SLOW, after = FAST;

	says(&before, 1, &after, 1,
	     "after is 1.95x faster, as far as one recording a side tells: 84.0 -> 43.0 ms per "
	     "step; waits 3,000 -> 1");
	says(&after, 1, &before, 1,
	     "after is 1.95x slower, as far as one recording a side tells: 43.0 -> 84.0 ms per "
	     "step; waits 1 -> 3,000");
}

static void test_intervals_that_overlap(void **state)
{
	const struct run before = {84, 70, 95, 9000, 20, 30, 100, "step", false};
	const struct run after = {60, 50, 71, 9000, 20, 30, 100, "step", false};
	const struct run near = {82, 81.9, 82.1, 9000, 20, 30, 100, "step", false};
	const struct run still = {84, 83.9, 84.1, 9000, 20, 30, 100, "step", false};

	says(&before, 1, &after, 1,
	     "no difference that can be told, as far as one recording a side tells: 84.0 -> 60.0 "
	     "ms per step; the counts are the same");
	says(&still, 1, &near, 1,
	     "no difference that can be told, as far as one recording a side tells: 84.0 -> 82.0 "
	     "ms per step; the counts are the same");
}

static void test_whole_runs(void **state)
{
	const struct run before = {.window = 1000, .launches = 5},
	                 near = {.window = 920, .launches = 5},
	                 far = {.window = 500, .launches = 6};

	says(&before, 1, &near, 1,
	     "no difference that can be told, as far as one recording a side tells: 1.00 s -> 920 "
	     "ms from the first CUDA call to the last; the counts are the same");
	says(&before, 1, &far, 1,
	     "after is 2.00x faster, as far as one recording a side tells: 1.00 s -> 500 ms from "
	     "the first CUDA call to the last; launches 5 -> 6");
}

/* What a program does that has none may be something else. */
static void test_steps_on_one_side_alone(void **state)
{
	const struct run with = {84, 83, 85, 1000, 900, 30, 20, "step", false},
	                 without = {.window = 500, .launches = 900, .syncs = 30};

	says(&with, 1, &without, 1,
	     "after took 2.00x less time, and only before has steps, as far as one recording a "
	     "side tells: 1.00 s -> 500 ms from the first CUDA call to the last; the counts are "
	     "the "
	     "same");
	says(&without, 1, &with, 1,
	     "after took 2.00x more time, and only after has steps, as far as one recording a side "
	     "tells: 500 ms -> 1.00 s from the first CUDA call to the last; the counts are the "
	     "same");
}

static void test_repeats(void **state)
{
	struct run before[5], after[5], noisy[5];

	for (size_t i = 0; i < 5; i++) {
		before[i] = (struct run)SLOW;
		after[i] = (struct run)FAST;
		noisy[i] = (struct run)SLOW;
		before[i].period += 0.1 * (double)i;
		after[i].period += 0.1 * (double)i;
		noisy[i].period += i % 2 ? -9 : 9;
	}
	says(before, 5, after, 5,
	     "after is 1.95x faster: 84.2 -> 43.2 ms per step (1.94x to 1.96x, each bound with 99 "
	     "%); waits 3,000 -> 1");
	says(before, 5, noisy, 5,
	     "no difference that can be told: 84.2 -> 93.0 ms per step (-11.1 to +10.7 %, each "
	     "bound with 99 %); the counts are the same");
}

/* A loop without its waits is told by something else; as many steps are the same ones. */
static void test_steps_that_are_others(void **state)
{
	struct run before = {84, 83, 85, 9000, 20, 100, 100, "wait", true};
	struct run after = {43, 42, 44, 4500, 20, 1, 100, "kernel", true};
	struct run fewer = {430, 420, 440, 4500, 20, 1, 10, "kernel", true};

	says(&before, 1, &after, 1,
	     "after is 1.95x faster, as far as one recording a side tells: 84.0 -> 43.0 ms per "
	     "step; waits 100 -> 1");
	says(&before, 1, &fewer, 1,
	     "after took 2.00x less time, but its steps hold other work, as far as one recording a "
	     "side tells: "
	     "9.00 -> 4.50 s from the first CUDA call to the last; waits 100 -> 1");
}

/* Twice as many steps of a kind: counts are those of a step. */
static void test_other_lengths(void **state)
{
	const struct run before = {84, 83, 85, 9000, 200, 100, 100, "step", false};
	const struct run after = {43, 42, 44, 9000, 400, 400, 200, "step", false};

	says(&before, 1, &after, 1,
	     "after is 1.95x faster, as far as one recording a side tells: 84.0 -> 43.0 ms per "
	     "step; waits 1 -> 2 per step");
	const struct run longer = {43, 42, 44, 9000, 400, 200, 200, "step", false};
	says(&before, 1, &longer, 1,
	     "after is 1.95x faster, as far as one recording a side tells: 84.0 -> 43.0 ms per "
	     "step; the counts of a step are the same");
	/* One more at the end of a run is none of a step: "1 -> 1". */
	const struct run many = {84, 83, 85, 9000, 2000, 1001, 1000, "step", false},
	                 more = {43, 42, 44, 9000, 4000, 2001, 2000, "step", false};
	says(&many, 1, &more, 1,
	     "after is 1.95x faster, as far as one recording a side tells: 84.0 -> 43.0 ms per "
	     "step; the counts of a step are the same");
}

static void test_machines(void **state)
{
	const struct run before = SLOW, after = FAST;
	struct compare_result c = {.before = {calloc(1, sizeof(struct figures)), 1},
	                           .after = {calloc(1, sizeof(struct figures)), 1}};
	struct headline h;

	fill(&c.before.runs[0], &before);
	fill(&c.after.runs[0], &after);
	free(c.after.runs[0].machine.driver);
	c.after.runs[0].machine.driver = strdup("12.4");
	compare(&c);
	headline_make(&h, &c, NULL, "before", "after");
	assert_string_equal(h.text, "times of before and after do not compare (driver: 13.0 and "
	                            "12.4); waits 3,000 -> 1");
	headline_free(&h);
	comparison_free(&c);
}

static void test_median_bounds(void **state)
{
	double values[2000], low, high;

	for (size_t i = 0; i < 2000; i++)
		values[i] = (double)i;
	assert_false(bounds_of_median(&low, &high, values, 5));
	assert_true(isnan(low) && isnan(high));
	/* Tables of the sign test: 6 to 8 the ends, 9 to 11 one within, 12 two, 100 the 40th. */
	static const struct {
		size_t count;
		double low;
	} known[] = {{6, 0}, {8, 0}, {9, 1}, {11, 1}, {12, 2}, {20, 5}, {100, 39}, {1000, 468}};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_true(bounds_of_median(&low, &high, values, known[i].count));
		assert_true(low == known[i].low);
		assert_true(high == (double)known[i].count - 1 - low);
	}
	assert_true(bounds_of_median(&low, &high, values, 2000) && low > 940 && low < 960);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_faster),
	        cmocka_unit_test(test_intervals_that_overlap),
	        cmocka_unit_test(test_whole_runs),
	        cmocka_unit_test(test_steps_on_one_side_alone),
	        cmocka_unit_test(test_repeats),
	        cmocka_unit_test(test_steps_that_are_others),
	        cmocka_unit_test(test_other_lengths),
	        cmocka_unit_test(test_machines),
	        cmocka_unit_test(test_median_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
