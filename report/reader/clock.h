/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a recording's ticks to nanoseconds: durations by the rate over the whole recording, instants
 * piecewise between the readings of the three clocks. For the model.
 */
#ifndef REPORT_CLOCK_H
#define REPORT_CLOCK_H

#include "report/reader/reader.h"

struct clock {
	struct tf_clock_triple *points; /* ordered */
	size_t count;
	double ns_per_tick; /* NaN: unknown */
};

void clock_init(struct clock *c, const struct recording *r);
void clock_free(struct clock *c);
/* The length of `ticks`. */
double clock_ns(const struct clock *c, uint64_t ticks);
/* From one tick to a later one; 0 when it is earlier. */
double clock_between(const struct clock *c, uint64_t from, uint64_t to);
/* An instant on CLOCK_MONOTONIC and on CLOCK_REALTIME, in ns; NaN where it is not known. */
double clock_monotonic(const struct clock *c, uint64_t tick);
double clock_realtime(const struct clock *c, uint64_t tick);

#endif
