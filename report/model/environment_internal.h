/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What environment.c, which tells of the devices, and environment_anomalies.c, which tells what is
 * wrong with them, both need. For these alone.
 */
#ifndef REPORT_ENVIRONMENT_INTERNAL_H
#define REPORT_ENVIRONMENT_INTERNAL_H

#include <math.h>

#include "report/model/environment.h"

static inline double environment_value(const struct environment_reading *r,
                                       enum spy_environment what)
{
	return r->made ? r->value[what] : NAN;
}

/* The latest reading that was made. */
static inline const struct environment_reading *
environment_latest(const struct environment_device *d)
{
	return d->last.made ? &d->last : &d->first;
}

static inline double environment_risen(const struct environment_device *d,
                                       enum spy_environment what)
{
	double by = environment_value(&d->last, what) - environment_value(&d->first, what);

	return by >= 0 ? by : NAN; /* a counter that fell was set back */
}

void environment_join(char **list, const char *text);
/* "GPU 0", with its host where there are several (free it). */
char *environment_device_name(const struct model *m, const struct environment_device *d);
/* "1980 of 1980 MHz"; adds nothing where neither is known. */
char *environment_add_pair(char *list, double now, double most, const char *between,
                           const char *unit);

#endif
