/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stood in the way of a run from outside the program: an old driver, clocks held down, other
 * processes on the GPU, memory errors, a slow PCIe link. For the findings and the outputs; read off
 * a finished model.
 */
#ifndef REPORT_ENVIRONMENT_H
#define REPORT_ENVIRONMENT_H

#include "report/model/model.h"

struct environment_anomalies {
	char **texts; /* one sentence each, with its figures */
	size_t count;
	size_t normal; /* of the texts: that a device's work draws all the power that it may by
	                  default, with nothing else there: no anomaly, and in no share */
	double throttled_share; /* largest share of a device's time for which its clocks were held
	                           down; NaN = not known */
};

/* What is wrong; false when nothing is, or nothing is known. Free the list in any case. */
bool environment_anomalies(const struct model *m, struct environment_anomalies *to);
void environment_anomalies_free(struct environment_anomalies *t);

/* Why nothing is known of the devices; NULL when something is (free it). */
char *environment_unknown(const struct model *m);
/* A device in one line: clocks, power, temperature, link, other processes (free it). */
char *environment_line(const struct model *m, const struct environment_device *d);

/* "1980", "n/a" (free it). */
char *environment_number(double v);
/* The CPUs that a process could use in one line, "not known" where they are not (free it). */
char *environment_cpu_line(const struct model_process_cpu *c);

/* The share of the time between the two readings for which clocks were held down, by the power
 * limit or by temperature; NaN = not known. */
double environment_capped_share(const struct environment_device *d);
double environment_heated_share(const struct environment_device *d);
/* Watts between the two readings, on average; NaN = not known. */
double environment_mean_power(const struct environment_device *d);
/* What held the clocks down at a reading: bits of enum spy_throttle; 0 = nothing, or not known. */
uint64_t environment_reasons(const struct environment_reading *r);

#endif
