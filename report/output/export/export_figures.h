/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of a run that are worth a line in a history of runs: of the run as a whole and of a
 * step of each of its loops, with the interval that they lie in. For the exports to CI.
 */
#ifndef REPORT_EXPORT_FIGURES_H
#define REPORT_EXPORT_FIGURES_H

#include "report/output/export/export.h"

struct export_figure {
	char *benchmark;     /* "run", "loop 1" */
	const char *measure; /* "step-time" */
	const char *unit;    /* "ns", "B", "%"; "" of counts */
	const char *about;
	double value;
	double low, high;  /* a 95 % interval; NaN = it is exact, or none is known */
	bool more_is_good; /* else less is */
};

struct export_figures {
	struct export_figure *items;
	size_t count;
};

/* Those that are known. */
void export_figures_make(struct export_figures *to, const struct export_job *job);
void export_figures_free(struct export_figures *f);

#endif
