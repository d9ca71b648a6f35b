/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/stats.h"
#include "tests/unit/unit.h"

#define MOST 5000u

/* Random, few different ones, rising, falling, and one that rises and falls. */
static double value(unsigned kind, size_t i, size_t count)
{
	switch (kind) {
	case 0:
		return (double)rand();
	case 1:
		return (double)(rand() % 3);
	case 2:
		return (double)i;
	case 3:
		return -(double)i;
	default:
		return (double)(i < count / 2 ? i : count - i);
	}
}

static void test_a_quantile_is_that_of_values_in_order(void **state)
{
	static const double quantiles[] = {0, 0.05, 0.5, 0.9, 1};
	static double sorted[MOST], mixed[MOST];

	for (unsigned kind = 0; kind < 5; kind++)
		for (size_t count = 1; count <= MOST; count += count < 40 ? 1 : 997)
			for (size_t k = 0; k < sizeof(quantiles) / sizeof(quantiles[0]); k++) {
				for (size_t i = 0; i < count; i++)
					sorted[i] = mixed[i] = value(kind, i, count);
				stats_sort(sorted, count);
				double wanted = stats_quantile(sorted, count, quantiles[k]);
				assert_near(stats_select(mixed, count, quantiles[k]), wanted, 0);
				/* The values are the same ones. */
				stats_sort(mixed, count);
				assert_memory_equal(mixed, sorted, count * sizeof(*mixed));
			}
	assert_true(isnan(stats_select(mixed, 0, 0.5)));
}

/* Of an order in which each division takes two values off alone, the rest is sorted. */
static void test_an_order_that_divides_badly(void **state)
{
	static double sorted[MOST], mixed[MOST];

	for (size_t i = 0; i < MOST; i++) /* the largest in the middle and at the end */
		mixed[i] = i % 2 ? (double)(MOST - i) : (double)i;
	for (size_t n = MOST; n > 2; n--) {
		double last = mixed[n - 1];
		mixed[n - 1] = mixed[n / 2];
		mixed[n / 2] = last;
	}
	memcpy(sorted, mixed, sizeof(sorted));
	stats_sort(sorted, MOST);
	assert_near(stats_select(mixed, MOST, 0.5), stats_quantile(sorted, MOST, 0.5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_a_quantile_is_that_of_values_in_order),
	        cmocka_unit_test(test_an_order_that_divides_badly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
