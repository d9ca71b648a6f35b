/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/stats.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

void stats_sort(double *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), by_value);
}

double stats_quantile(const double *sorted, size_t count, double q)
{
	return count ? sorted[(size_t)(q * (double)(count - 1) + 0.5)] : NAN;
}

double stats_median(const double *sorted, size_t count)
{
	return count ? (sorted[(count - 1) / 2] + sorted[count / 2]) / 2 : NAN;
}
