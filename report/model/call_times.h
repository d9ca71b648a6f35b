/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long each of a number of calls takes: quantiles, within 3 %, of all times that were added.
 * For the replay.
 */
#ifndef REPORT_CALL_TIMES_H
#define REPORT_CALL_TIMES_H

#include <stddef.h>

struct call_times;

/* Of `count` calls, without any time (call_times_free() it). */
struct call_times *call_times_new(size_t count);
void call_times_add(struct call_times *t, size_t call, double ns);
/* -1: it has no time. */
double call_times_quantile(const struct call_times *t, size_t call, double q);
void call_times_free(struct call_times *t);

#endif
