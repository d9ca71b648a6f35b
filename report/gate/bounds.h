/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By how much a time rose from some recordings to others, and what can be said of that with 99 %
 * confidence. For the judge and the differences.
 *
 * From sizes on at which ranks can reach 1 % (5 and 5, 4 and 5, 3 and 7, ...), the bounds are those
 * of the exact rank test (Wilcoxon, Mann-Whitney): order statistics of all pairwise ratios, as
 * Hodges and Lehmann give them. They hold for any distribution, however heavy its tails. Below,
 * Welch's t test on the logarithms, and never beyond the most extreme pair: there the ranks alone
 * stand for 95 % (3 and 3), and the rest is an assumption. Without any scatter (3 times 100 ns,
 * then 3 times 101) there is nothing to assume by: such bounds say nothing.
 */
#ifndef REPORT_BOUNDS_H
#define REPORT_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>

#define BOUNDS_LEAST 3    /* recordings a side; fewer are not judged */
#define BOUNDS_ALPHA 0.01 /* that a bound is wrong, on its side */

enum bounds_method { BOUNDS_RANKS, BOUNDS_WELCH };
extern const char *const bounds_method_names[];

struct bounds {
	double estimate;     /* median of the pairs */
	double lower, upper; /* each holds with 99 %, both with 98 % */
	enum bounds_method method;
	bool tied; /* too few for ranks, and no scatter: lower and upper are no bounds */
};

/*
 * After against before: as a ratio (1 = the same), or as a difference (0 = the same). False when
 * there are too few of either, or one is not finite, or a ratio is to nothing.
 */
bool bounds_of(struct bounds *b, const double *before, size_t before_count, const double *after,
               size_t after_count, bool ratio);

/*
 * Where the median of what these values were drawn from lies, with 95 % confidence: between two of
 * them in order, whatever their distribution. False with fewer than six, of which no two do.
 */
bool bounds_of_median(double *low, double *high, const double *sorted, size_t count);

/* Student's t, its 99 % quantile: never less than for this many degrees of freedom. */
double bounds_student(double freedom);

#endif
