/* SPDX-License-Identifier: Apache-2.0 */
/* What launch_cost.c and call_cost.c measure with: a clock, medians with their intervals, and the
 * driver's own functions beside those that the program finds. Included once by each of them. */
#pragma once
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tests/gpu/launch_cost.h"

#define TEXT(name)  #name
#define ENTRY(name) TEXT(name) /* the ELF name that the header's macro stands for */

typedef void *real_fn(const char *name);

/* launch_cost_real() of the library that lies beside the program; NULL, and a line, without it. */
static inline real_fn *find_real(const char *program)
{
	const char *slash = strrchr(program, '/');
	char path[4096];

	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash + 1 - program) : 0, program,
	         slash ? LAUNCH_COST_LIBRARY : "./" LAUNCH_COST_LIBRARY);
	void *library = dlopen(path, RTLD_NOW);
	real_fn *real = library ? (real_fn *)dlsym(library, LAUNCH_COST_REAL) : NULL;
	if (!real)
		fprintf(stderr, "%s: %s\n", program, dlerror());
	return real;
}

static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The value that the share `q` of the values, which get sorted, lies below. */
static inline double quantile(double *values, unsigned count, double q)
{
	qsort(values, count, sizeof(*values), compare);
	return values[(unsigned)(q * (count - 1) + 0.5)];
}

struct middle {
	double median, low, high; /* its 95 % interval */
};

/* Of n values so many lie below the true median: n / 2, with a deviation of sqrt(n) / 2. */
static inline struct middle middle_of(double *values, unsigned count)
{
	double reach = 1.96 / 2 / sqrt(count);

	return (struct middle){quantile(values, count, 0.5),
	                       quantile(values, count, fmax(0, 0.5 - reach)),
	                       quantile(values, count, fmin(1, 0.5 + reach))};
}
