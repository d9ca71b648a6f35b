/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody who looks for the first time wants of a report: the verdict as a sentence, the
 * changes that help most, and what is not known, with how to get it. For the outputs.
 */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include "report/analysis/analysis.h"
#include "report/model/framework.h"

#define SUMMARY_CHANGES 3
#define SUMMARY_GAPS    8

struct summary_change {
	const struct finding *finding; /* NULL: that of the verdict alone */
	const struct finding *line;    /* its, or the verdict's: where; NULL = not known */
	const char *what;              /* in at most FINDING_BRIEF columns */
	double mean, low, high;        /* share of what is judged that it saves; NaN = not known */
	bool of_verdict;               /* that says what it saves: no finding does */
};

struct summary_gap {
	char *what;      /* that is not known */
	const char *how; /* to get it */
};

struct summary {
	char *sentence; /* "launch-bound, high confidence: the GPU idles ..." */
	struct summary_change changes[SUMMARY_CHANGES]; /* what saves most first */
	size_t change_count;
	struct summary_gap gaps[SUMMARY_GAPS]; /* what matters most first */
	size_t gap_count;
	enum framework framework; /* that the program uses */
	const char *judged;       /* "the loop", "the window" ... */
	double step;      /* of the loop that is judged, ns; NaN = none is, as of a whole run */
	double judged_ns; /* of what is judged, of one process; NaN = unknown */
	const struct model_phase *loop; /* that is judged, or holds most time; NULL = none */
	double startup; /* until the first step of all; without one, before the window */
	char *before;   /* where much lies between that and this loop's first step: how much */
};

void summary_make(struct summary *s, const struct model *m, const struct analysis *a);
void summary_free(struct summary *s);
/* Of summary_make: what is not known, to s->gaps. */
void summary_gaps(struct summary *s, const struct model *m);

/* What a step of a loop takes, ns; NaN = it has none. Of threads that do their steps side by side
 * each takes longer than from one to the next. */
double summary_step(const struct model_phase *loop);
/* The same without the steps of its warming up, where the loop is what is judged. */
double summary_step_judged(const struct analysis *a, const struct model_phase *loop);
/* " (the first 480, 365 ms, left out)": of the judged loop, those that warm up, where they
 * take a part of it that shows, or "" (free it). */
char *summary_warm(const struct analysis *a, const struct model_phase *loop);

/* ", each of 20 alike parts of 9.07 ms": of a loop whose step was found and holds so many times
 * what repeats within it, as of a program that waits in each 20th of its own steps; or "" (free
 * it). `step`: ns. */
char *summary_parts(const struct model *m, const struct model_phase *loop, double step);

/* "2.54 to 2.90 ms"; "0.40, up to 2.90 ms" from 0 on, without the mean where that is nothing;
 * "about 2.90 ms" where `low` is not known, so that `high` is the mean (free it): of times in ns.
 */
char *summary_range(double mean, double low, double high);
/* The same of two shares, in per cent: "15.1 to 36.8 %". */
char *summary_range_percent(double low, double high);

#endif
