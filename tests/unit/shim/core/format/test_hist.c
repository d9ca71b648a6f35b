/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shim/core/format/histogram.h"
#include "tests/unit/shim_stubs.h"

#define VALUES 200000

static struct tf_hist hist;
static uint64_t values[VALUES];

static double chance(void) /* in (0, 1) */
{
	return ((double)(stub_random() >> 11) + 0.5) / 9007199254740992.0;
}

static uint64_t uniform(void)
{
	return 1000 + stub_random() % 1000000;
}

static uint64_t exponential(void)
{
	return (uint64_t)(-50000 * log(chance()));
}

static uint64_t log_normal(void)
{
	return (uint64_t)exp(9 +
	                     1.5 * sqrt(-2 * log(chance())) * cos(6.283185307179586 * chance()));
}

static uint64_t two_peaks(void) /* a queue that is full now and then */
{
	return stub_random() % 10 < 7 ? 5000 + stub_random() % 500
	                              : 9000000 + stub_random() % 100000;
}

static uint64_t all_the_same(void)
{
	return 1u << 20; /* the low edge of a bucket: where interpolation errs most */
}

static uint64_t at_the_high_edge(void)
{
	return (1u << 20) - 1;
}

static uint64_t small(void)
{
	return stub_random() % 24;
}

static uint64_t very_long(void) /* minutes, in ticks */
{
	return (1ull << 37) + stub_random() % (1ull << 38);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_quantiles(void **state)
{
	uint64_t (*const draw[])(void) = {uniform,      exponential,      log_normal, two_peaks,
	                                  all_the_same, at_the_high_edge, small,      very_long};
	const double wanted[] = {0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1};

	for (unsigned d = 0; d < sizeof(draw) / sizeof(draw[0]); d++) {
		memset(&hist, 0, sizeof(hist));
		for (int i = 0; i < VALUES; i++)
			hist_add(&hist, values[i] = draw[d]());
		qsort(values, VALUES, sizeof(values[0]), by_value);
		assert_int_equal(hist.count, VALUES);
		for (unsigned q = 0; q < sizeof(wanted) / sizeof(wanted[0]); q++) {
			double truth = (double)values[(size_t)(wanted[q] * (VALUES - 1) + 0.5)];
			assert_near(hist_quantile(&hist, wanted[q]), truth, 0.03);
		}
	}
}

static void test_few(void **state)
{
	memset(&hist, 0, sizeof(hist));
	assert_near(hist_quantile(&hist, 0.5), -1, 0);
	hist_add(&hist, 12345);
	assert_near(hist_quantile(&hist, 0), 12345, 0.03);
	assert_near(hist_quantile(&hist, 1), 12345, 0.03);
	hist_add(&hist, 3);
	assert_near(hist_quantile(&hist, 0), 3, 0);
	assert_near(hist_quantile(&hist, 1), 12345, 0.03);
}

/* Every value lies in its bucket; buckets follow each other without a gap, and none is wider than a
 * 32nd of its start. */
static void test_buckets(void **state)
{
	for (uint32_t i = 0; i + 1 < TF_HIST_BUCKETS; i++) {
		uint64_t low = hist_low(i), next = hist_low(i + 1);
		assert_true(low < next);
		assert_true(next - low == 1 || (next - low) * 32 <= low);
		assert_int_equal(hist_bucket(low), i);
		assert_int_equal(hist_bucket(next - 1), i);
		assert_int_equal(hist_bucket(low + (next - low) / 2), i);
	}
	for (uint64_t v = 0; v < 64; v++)
		assert_int_equal(hist_bucket(v),
		                 v); /* one to one, up to where buckets are two wide */
	assert_int_equal(hist_bucket(hist_low(TF_HIST_BUCKETS - 1)), TF_HIST_BUCKETS - 1);
	assert_int_equal(hist_bucket(UINT64_MAX), TF_HIST_BUCKETS - 1);
}

static void test_a_full_bucket_halves_all(void **state)
{
	uint32_t a = hist_bucket(1000), b = hist_bucket(1000000);

	memset(&hist, 0, sizeof(hist));
	hist.buckets[a] = UINT32_MAX;
	hist.buckets[b] = UINT32_MAX - 1;
	hist.buckets[5] = 1;
	hist.count = 2ull * UINT32_MAX;
	double before = hist_quantile(&hist, 0.75);
	hist_add(&hist, 1000);
	assert_int_equal(hist.buckets[a], UINT32_MAX / 2 + 1);
	assert_int_equal(hist.buckets[b], (UINT32_MAX - 1) / 2);
	assert_int_equal(hist.buckets[5], 0);
	assert_int_equal(hist.count, (uint64_t)UINT32_MAX / 2 + 1 + (UINT32_MAX - 1) / 2);
	assert_near(hist_quantile(&hist, 0.75), before, 0.001);
}

/* One bucket below the brim takes one more, and only that. */
static void test_the_brim(void **state)
{
	memset(&hist, 0, sizeof(hist));
	hist.buckets[hist_bucket(7)] = UINT32_MAX - 1;
	hist_add(&hist, 7);
	assert_int_equal(hist.buckets[hist_bucket(7)], UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_quantiles), cmocka_unit_test(test_few),
	        cmocka_unit_test(test_buckets),   cmocka_unit_test(test_a_full_bucket_halves_all),
	        cmocka_unit_test(test_the_brim),
	};

	return cmocka_run_group_tests_name("hist", tests, NULL, NULL);
}
