/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/stats.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS_MOST 60 /* of dividing: values in an order that makes it useless are sorted */

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

static void swap(double *a, double *b)
{
	double was = *a;

	*a = *b;
	*b = was;
}

/* What stands at place `at` in order. Each round puts those below the middle of three ahead of it,
 * and those above it behind. */
static double value_at(double *v, size_t count, size_t at)
{
	size_t low = 0, high = count;

	for (int rounds = 0; high - low > 1; rounds++) {
		double a = v[low], b = v[low + (high - low) / 2], c = v[high - 1];
		double pivot = fmax(fmin(a, b), fmin(fmax(a, b), c));
		size_t below = low, above = high;
		if (rounds == ROUNDS_MOST) {
			stats_sort(v + low, high - low);
			break;
		}
		for (size_t i = low; i < above;) {
			if (v[i] < pivot)
				swap(&v[below++], &v[i++]);
			else if (v[i] > pivot)
				swap(&v[i], &v[--above]);
			else
				i++;
		}
		if (at >= below && at < above)
			return pivot;
		if (at < below)
			high = below;
		else
			low = above;
	}
	return v[at];
}

double stats_select(double *values, size_t count, double q)
{
	return count ? value_at(values, count, (size_t)(q * (double)(count - 1) + 0.5)) : NAN;
}

double stats_median(const double *sorted, size_t count)
{
	return count ? (sorted[(count - 1) / 2] + sorted[count / 2]) / 2 : NAN;
}

/* Exact to 4 degrees of freedom, then the expansion about the normal quantile (Abramowitz and
 * Stegun 26.7.5), within 0.2 %. */
double stats_student_95(double degrees)
{
	static const double few[] = {12.706, 12.706, 4.303, 3.182, 2.776};
	const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	if (!(degrees >= 1))
		return few[0];
	if (degrees < 5)
		return few[(int)degrees];
	return z + (z3 + z) / (4 * degrees) +
	       (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}
