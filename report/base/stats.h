/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values put in order, their quantiles and median, Student's t. For whoever has several of a
 * figure.
 */
#ifndef REPORT_STATS_H
#define REPORT_STATS_H

#include <stddef.h>

/* Ascending; none of them is a NaN. */
void stats_sort(double *values, size_t count);
/* The quantile q (0 to 1) of values in order: the nearest that is there. NaN where there are none.
 */
double stats_quantile(const double *sorted, size_t count, double q);
/* The same of values in any order, which are moved about: where there are many and one is asked
 * for.
 */
double stats_select(double *values, size_t count, double q);
/* The middle of values in order: of an even number, half way between two. */
double stats_median(const double *sorted, size_t count);
/* Half of the 95 % interval of a mean, in standard deviations of it: Student's t. */
double stats_student_95(double degrees);

#endif
