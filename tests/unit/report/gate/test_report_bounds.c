/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/gate/bounds.h"
#include "tests/unit/unit.h"

static uint64_t seed;

/* Uniform in (0, 1): the same each time (xorshift64*). */
static double uniform(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return ((double)((seed * 0x2545f4914f6cdd1dull) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* The noise of a time from one run to the next, as a factor. */
static double quiet(void)
{
	return exp(0.01 * normal());
}
static double noisy(void)
{
	return exp(0.08 * normal());
}
/* One run in five has a neighbour: half as slow again, or more. */
static double neighbour(void)
{
	return exp(0.02 * normal()) * (uniform() < 0.2 ? 1.5 + uniform() : 1);
}
/* Student's t with 2 degrees of freedom: no variance. */
static double heavy(void)
{
	double a = normal(), b = normal();

	return exp(0.03 * normal() / sqrt((a * a + b * b) / 2));
}
/* Two clock rates of the CPU, 12 % apart. */
static double two_rates(void)
{
	return exp(0.005 * normal()) * (uniform() < 0.5 ? 1.12 : 1);
}

static const struct noise {
	const char *name;
	double (*draw)(void);
} noises[] = {{"1 % normal", quiet},
              {"8 % normal", noisy},
              {"2 % normal, 1 in 5 slowed by 50 to 150 %", neighbour},
              {"t of 2 degrees, scale 3 %", heavy},
              {"two rates 12 % apart", two_rates}};

/* How often the lower bound of the rise is beyond `allowed` when the true rise is `rise`. */
static double share_beyond(double (*draw)(void), size_t n, double rise, double allowed,
                           bool *by_ranks)
{
	const int tries = 5000;
	double before[16], after[16];
	int beyond = 0;

	seed = 88172645463325252ull;
	for (int i = 0; i < tries; i++) {
		struct bounds b;
		for (size_t k = 0; k < n; k++) {
			before[k] = 2700 * draw();
			after[k] = 2700 * rise * draw();
		}
		assert_true(bounds_of(&b, before, n, after, n, true));
		assert_true(b.lower <= b.estimate && b.estimate <= b.upper);
		beyond += b.lower > allowed;
		*by_ranks = b.method == BOUNDS_RANKS;
	}
	return (double)beyond / tries;
}

/* By ranks the promise holds for any noise, at the very limit: 5,000 tries, 1 % and three times
 * its standard error. By Welch's test, an assumption more, it is only what it is: below 2 %. */
static void test_false_alarms(void **state)
{
	for (size_t i = 0; i < sizeof(noises) / sizeof(noises[0]); i++) {
		for (size_t n = 3; n <= 7; n++) {
			bool ranks;
			double at_limit = share_beyond(noises[i].draw, n, 1, 1, &ranks);
			double equal = share_beyond(noises[i].draw, n, 1, 1.05, &ranks);
			if (n <= 5)
				printf("%s, %zu a side (%s): false alarms %.2f %% at the limit, "
				       "%.2f %% with <= +5%%\n",
				       noises[i].name, n, ranks ? "ranks" : "Welch", 100 * at_limit,
				       100 * equal);
			assert_true(at_limit < (ranks ? 0.0142 : 0.02));
			assert_true(equal <= at_limit);
		}
	}
}

/* What a gate is for. */
static void test_rises_are_found(void **state)
{
	bool ranks;

	for (size_t i = 0; i < sizeof(noises) / sizeof(noises[0]); i++)
		printf("%s, 5 a side: a rise of 10 %% breaks <= +3%% in %.1f %%, one of 25 %% "
		       "breaks <= +5%% in %.1f %%\n",
		       noises[i].name, 100 * share_beyond(noises[i].draw, 5, 1.10, 1.03, &ranks),
		       100 * share_beyond(noises[i].draw, 5, 1.25, 1.05, &ranks));
	assert_true(share_beyond(quiet, 5, 1.10, 1.03, &ranks) > 0.99);
	assert_true(share_beyond(quiet, 3, 1.10, 1.03, &ranks) > 0.7);
	assert_true(share_beyond(noisy, 5, 1.25, 1.05, &ranks) > 0.6);
}

static void test_known_ranks(void **state)
{
	const double low[] = {1, 2, 3, 4, 5}, high[] = {10, 11, 12, 13, 14};
	struct bounds b;

	/* P(U <= 1) = 2/252, P(U <= 2) = 4/252: the bound is the second of the 25 differences. */
	assert_true(bounds_of(&b, low, 5, high, 5, false));
	assert_int_equal(b.method, BOUNDS_RANKS);
	assert_near(b.estimate, 9, 1e-12);
	assert_near(b.lower, 6, 1e-12);
	assert_near(b.upper, 12, 1e-12);
	/* P(U <= 0) = 1/126 for 4 and 5, 1/70 for 4 and 4. */
	assert_true(bounds_of(&b, low, 4, high, 5, false));
	assert_int_equal(b.method, BOUNDS_RANKS);
	assert_near(b.lower, 6, 1e-12);
	assert_true(bounds_of(&b, low, 4, high, 4, false));
	assert_int_equal(b.method, BOUNDS_WELCH);
}

static void test_ratio(void **state)
{
	const double before[] = {100, 100, 100, 100, 100}, after[] = {120, 120, 120, 120, 120};
	struct bounds b;

	assert_true(bounds_of(&b, before, 5, after, 5, true));
	assert_near(b.estimate, 1.2, 1e-12);
	assert_near(b.lower, 1.2, 1e-12);
	assert_near(b.upper, 1.2, 1e-12);
}

/* Of three alike nobody knows how exact they are; of five by ranks one does. */
static void test_no_scatter(void **state)
{
	const double before[] = {100, 100, 100, 100, 100}, after[] = {101, 101, 101, 101, 101};
	const double once[] = {100, 100, 101};
	struct bounds b;

	assert_true(bounds_of(&b, before, 3, after, 3, true));
	assert_true(b.tied);
	assert_near(b.estimate, 1.01, 1e-12);
	assert_true(bounds_of(&b, before, 3, after, 3, false) && b.tied);
	assert_true(bounds_of(&b, before, 4, after, 3, false) && b.tied);
	assert_true(bounds_of(&b, before, 3, before, 3, true) && !b.tied); /* no change */
	assert_true(bounds_of(&b, once, 3, after, 3, true) && !b.tied);
	assert_true(bounds_of(&b, before, 5, after, 5, true) && !b.tied);
}

static void test_large_sides(void **state)
{
	enum { N = 300 };
	double before[N], after[N];
	struct bounds b;

	seed = 1;
	for (int i = 0; i < N; i++) {
		before[i] = noisy();
		after[i] = 1.02 * noisy();
	}
	assert_true(bounds_of(&b, before, N, after, N, true));
	assert_int_equal(b.method, BOUNDS_RANKS);
	assert_true(b.lower > 1 && b.lower < 1.02 && b.upper > 1.02 && b.upper < 1.05);
}

static void test_refusals(void **state)
{
	const double three[] = {1, 2, 3}, unknown[] = {1, NAN, 3}, zero[] = {1, 0, 3};
	struct bounds b;

	assert_false(bounds_of(&b, three, 2, three, 3, true));
	assert_false(bounds_of(&b, three, 3, three, 2, true));
	assert_false(bounds_of(&b, three, 3, unknown, 3, true));
	assert_false(bounds_of(&b, zero, 3, three, 3, true));
	assert_true(bounds_of(&b, zero, 3, three, 3, false));
	assert_true(bounds_of(&b, three, 3, zero, 3, true));
	assert_true(isfinite(b.lower) && isfinite(b.upper));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_false_alarms), cmocka_unit_test(test_rises_are_found),
	        cmocka_unit_test(test_known_ranks),  cmocka_unit_test(test_ratio),
	        cmocka_unit_test(test_no_scatter),   cmocka_unit_test(test_large_sides),
	        cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
