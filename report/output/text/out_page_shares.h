/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of what took how much time: of the window, and beside it of the phase that is judged, so
 * that the verdict's figures are found again. For the sections on GPU and host.
 */
#ifndef REPORT_OUT_PAGE_SHARES_H
#define REPORT_OUT_PAGE_SHARES_H

#include "report/output/text/out_page.h"

#define OUT_SHARES_COLUMNS 6

struct out_shares {
	double window, judged;           /* ns; what is judged: 0 where no phase is */
	const struct model_phase *phase; /* NULL: none is */
	bool timed;                      /* its times too: it was asked for */
	bool several;                    /* the run has other loops */
	size_t processes;
	struct text_layout_column columns[OUT_SHARES_COLUMNS];
};

/* `window` and `judged` of the run and of what is judged, ns. */
void out_shares_start(struct out_shares *s, const struct model *m, const struct analysis *a,
                      double window, double judged);
/* "loop 2" or what it is called (free it), where a phase is judged. */
char *out_shares_judged(const struct out_shares *s);
/* "; %loop: % of the 2.04s of loop 2 that are judged", or "" (free it): for the heading. */
char *out_shares_base(const struct out_shares *s);
/* The table of it; what the rows are stands under `last`. */
void out_shares_table(struct out_shares *s, const char *last, struct text_layout_table *t);
/* Of the window and of what is judged, ns. */
void out_shares_row(const struct out_shares *s, struct text_layout_table *t, double ns,
                    double judged, const char *what);

#endif
