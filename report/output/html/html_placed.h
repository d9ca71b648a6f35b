/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the recent work of a process ran, so that it can be drawn: as exports have it. For the HTML
 * outputs.
 */
#ifndef REPORT_HTML_PLACED_H
#define REPORT_HTML_PLACED_H

#include "report/model/model.h"

enum html_timed { HTML_ESTIMATED, HTML_EXACT, HTML_GUESSED };

struct html_piece {        /* of one call; of several pieces of work from the first to the last */
	double start, end; /* ns since the window began */
	uint32_t by;       /* index of the call that gave it */
	uint8_t timed;     /* enum html_timed */
};

struct html_placed {
	struct html_piece *pieces; /* by start */
	size_t count;
	/* Where any of them ran: `busy` intervals, by time. */
	struct html_span {
		double start, end;
	} * busy;
	size_t busy_count;
};

/* Reads its recording once more; where that cannot be, one line, and nothing is placed. */
void html_place(struct html_placed *p, const struct model_process *process);
void html_placed_free(struct html_placed *p);
/* How long it was busy between two times. */
double html_busy(const struct html_placed *p, double start, double end);

#endif
