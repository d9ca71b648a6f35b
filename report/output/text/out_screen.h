/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the report on one screen. For out_screen.c alone.
 */
#ifndef REPORT_OUT_SCREEN_H
#define REPORT_OUT_SCREEN_H

#include "report/output/summary.h"
#include "report/output/text/out_page.h"

struct screen_report {
	const struct model *m;
	const struct analysis *a;
	const struct out_options *o;
	const struct summary *s;
};

#define OUT_SCREEN_ALARMS 2 /* the most that are told */
/* What must not be overlooked: the first ones, in a line or two each. */
void out_screen_alarms(const struct screen_report *r, struct text_layout *page);
/* GPU and host as two bars on one axis: the time of what is judged. */
void out_screen_bars(const struct screen_report *r, struct text_layout *page);
/* The changes that help most, `most` of them. */
void out_screen_changes(const struct screen_report *r, size_t most, struct text_layout *page);
/* Kernels, and graphs as one row, in at most so many rows; nothing where there are none. */
void out_screen_kernels(const struct screen_report *r, size_t most, struct text_layout *page);

#endif
