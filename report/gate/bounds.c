/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/gate/bounds.h"

const char *const bounds_method_names[] = {
        [BOUNDS_RANKS] = "ranks",
        [BOUNDS_WELCH] = "Welch",
};

/* Beyond, the normal approximation of the ranks' distribution is exact enough. */
#define EXACT_PAIRS 4096u

/*
 * Of n * m pairs in ascending order, how many at one end may lie beyond the true value by chance:
 * the largest k with P(U <= k - 1) <= alpha, U being Mann and Whitney's statistic. Its distribution
 * is the Gaussian binomial coefficient, product over i of (1 - q^(m+i)) / (1 - q^i); coefficients
 * from below depend on lower ones only, so the product can be cut off anywhere.
 */
static size_t ranks_exact(size_t n, size_t m)
{
	size_t most = n * m / 2 + 1, k = 0;
	double *ways = alloc_zeroed(most, sizeof(*ways)), all = 1, sum = 0;

	ways[0] = 1;
	for (size_t i = 1; i <= n; i++) {
		for (size_t u = most; u-- > m + i;)
			ways[u] -= ways[u - m - i];
		for (size_t u = i; u < most; u++)
			ways[u] += ways[u - i];
		all *= (double)(m + i) / (double)i; /* choose(n + m, n) in the end */
	}
	while (k < most && (sum += ways[k]) <= BOUNDS_ALPHA * all * (1 + 1e-12))
		k++;
	free(ways);
	return k;
}

static size_t ranks_beyond(size_t n, size_t m)
{
	if (n * m <= EXACT_PAIRS)
		return ranks_exact(n, m);
	double pairs = (double)n * (double)m;
	double deviation = sqrt(pairs * (double)(n + m + 1) / 12);
	double k = pairs / 2 - 2.3263479 * deviation - 0.5; /* the normal 99 % quantile */
	return k < 1 ? 0 : (size_t)k;
}

/* For 1 to 10 degrees of freedom; more are taken as 10. */
double bounds_student(double freedom)
{
	static const double t[] = {31.821, 6.965, 4.541, 3.747, 3.365,
	                           3.143,  2.998, 2.896, 2.821, 2.764};
	int whole = !(freedom >= 1) ? 1 : freedom > 10 ? 10 : (int)freedom;

	return t[whole - 1];
}

struct moments {
	double mean, error2; /* of the mean, squared */
};

static struct moments moments_of(const double *x, size_t n, bool logs)
{
	struct moments s = {0};
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		s.mean += (logs ? log(x[i]) : x[i]) / (double)n;
	for (size_t i = 0; i < n; i++) {
		double d = (logs ? log(x[i]) : x[i]) - s.mean;
		sum += d * d;
	}
	s.error2 = sum / (double)(n - 1) / (double)n;
	return s;
}

/* Narrower than the pairs' extremes it cannot become: see the header. */
static void widen_by_welch(struct bounds *b, const double *before, size_t m, const double *after,
                           size_t n, bool logs)
{
	struct moments x = moments_of(before, m, logs), y = moments_of(after, n, logs);
	double error2 = x.error2 + y.error2, difference = y.mean - x.mean;

	b->tied = b->lower == b->upper && b->estimate != (logs ? 1 : 0);
	if (!isfinite(difference) || !(error2 > 0))
		return;
	double freedom =
	        error2 * error2 /
	        (x.error2 * x.error2 / (double)(m - 1) + y.error2 * y.error2 / (double)(n - 1));
	double reach = bounds_student(freedom) * sqrt(error2);
	double lower = difference - reach, upper = difference + reach;
	b->lower = fmin(b->lower, logs ? exp(lower) : lower);
	b->upper = fmax(b->upper, logs ? exp(upper) : upper);
}

static bool usable(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return false;
	return n >= BOUNDS_LEAST;
}

bool bounds_of(struct bounds *b, const double *before, size_t m, const double *after, size_t n,
               bool ratio)
{
	if (!usable(before, m) || !usable(after, n))
		return false;
	for (size_t i = 0; ratio && i < m; i++)
		if (!(before[i] > 0))
			return false;

	size_t count = n * m, beyond = ranks_beyond(n, m);
	double *pairs = alloc_zeroed(count, sizeof(*pairs));
	for (size_t i = 0; i < m; i++)
		for (size_t k = 0; k < n; k++)
			pairs[i * n + k] = ratio ? after[k] / before[i] : after[k] - before[i];
	stats_sort(pairs, count);
	size_t end = beyond ? beyond - 1 : 0;
	*b = (struct bounds){
	        .estimate = stats_median(pairs, count),
	        .lower = pairs[end],
	        .upper = pairs[count - 1 - end],
	        .method = beyond ? BOUNDS_RANKS : BOUNDS_WELCH,
	};
	free(pairs);
	if (!beyond)
		widen_by_welch(b, before, m, after, n, ratio);
	return true;
}

bool bounds_of_median(double *low, double *high, const double *sorted, size_t count)
{
	double ways = 1, sum = 0, all = exp2((double)count);
	size_t beyond = 0;

	/* So many on one side of the median come by chance with 2.5 %, as of coins. Beyond 1000
	 * values the powers are not numbers any more, and the normal distribution is near enough.
	 */
	if (count > 1000) {
		double k = (double)count / 2 - 1.959964 * sqrt((double)count) / 2;
		beyond = (size_t)k;
	} else {
		for (size_t k = 0; k < count && (sum += ways) <= 0.025 * all; k++) {
			beyond = k + 1;
			ways *= (double)(count - k) / (double)(k + 1);
		}
	}
	*low = *high = NAN;
	if (!beyond)
		return false;
	*low = sorted[beyond - 1];
	*high = sorted[count - beyond];
	return true;
}
