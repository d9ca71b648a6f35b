/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calibrate found, in each form it can be written. For calibrate.
 */
#ifndef REPORT_OUT_CALIBRATE_H
#define REPORT_OUT_CALIBRATE_H

#include <stdio.h>

#include "report/calibrate/calibrate.h"

struct out_calibrated {
	const struct calibrate_result *results;
	size_t count;
	const char *path; /* where it is stored */
	bool stored;      /* else it would be */
	bool colour;
	size_t width;
};

void out_calibrate_text(const struct out_calibrated *c, FILE *to);
void out_calibrate_json(const struct out_calibrated *c, FILE *to); /* cudaspy.calibrate/1 */

#endif
