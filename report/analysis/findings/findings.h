/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings: what is known to make CUDA programs slow and was seen in this run, each with the
 * figures that show it and the way out. For the analysis and the outputs.
 */
#ifndef REPORT_FINDINGS_H
#define REPORT_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/analysis/verdict/verdict.h"
#include "report/analysis/whatif/whatif.h"

enum finding_severity { SEVERITY_INFO, SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH };
extern const char *const finding_severities[];

#define FINDING_BRIEF 58

struct model_frame;
struct model_place;
struct model_site;

struct finding {
	const char *id; /* lasting, of the table in findings.c */
	const char *title;
	const char *advice;    /* id of what to do about it, of the table in advice.c */
	const char *fix_cuda;  /* what to do, and the API to do it with */
	const char *fix;       /* the same in the program's framework */
	const char *framework; /* its name */
	const char *brief;     /* in at most FINDING_BRIEF columns */
	/* The verdict's class whose change this one is too; VERDICT_CLASSES = of none. */
	enum verdict_class cls;
	enum whatif change; /* that predicts its gain; WHATIFS = none does */
	enum finding_severity severity;
	double share;   /* of the steady window that it concerns, 0..1; NaN = no time is known */
	char *evidence; /* figures of this run */
	/* While it is made: the evidence's end, where its gain is predicted, and where not, so that
	 * there is one figure of a gain; and of which calls its line is: copies of one direction
	 * (SPY_DIR_COUNT: of both), blocking copies that read results instead of its own calls. */
	char *predicted, *unpredicted;
	enum spy_direction direction;
	bool of_reads;
	const char *kernel; /* the one it is about, of the model; NULL = none */
	/* The line of code that most of it comes from, or where `ahead` comes before, of the model;
	 * NULL = not known. And its share of what all lines have that are known: of the calls'
	 * time, bytes or count. */
	const struct model_place *place;
	const struct model_site *site;
	double place_share;
	const char *place_measure; /* of which: "API time" */
	bool ahead;
	/* What comes ahead lies between these lines of the program's own, of a call each: NULL =
	 * one of them is not known. */
	const struct model_frame *since, *until;
	/* Steady window before over after, by the what-if, and its range; NaN = not predicted. */
	double speedup, speedup_low, speedup_high;
	/* Share of the window that the change takes away at most: another run may differ by more
	 * than that, and its gain with it. NaN = not predicted. */
	double saved_most;
};

struct findings { /* the most severe first */
	struct finding *items;
	size_t count;
	/* By class of verdict: the line that most of it comes from (place, site); no finding. */
	struct finding *of_class;
};

struct model;
struct verdict;

/* What was found in a finished model, given its verdict. */
void findings_make(struct findings *to, const struct model *m, const struct verdict *verdict,
                   struct whatifs *whatifs);
void findings_free(struct findings *f);

#endif
