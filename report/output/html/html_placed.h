/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recent work of a process, placed on its streams so that it can be drawn. For the HTML
 * outputs.
 */
#ifndef REPORT_HTML_PLACED_H
#define REPORT_HTML_PLACED_H

#include "report/model/call_log.h"

struct html_piece {
	double start, end; /* ns since the window began; the same: its duration is not known */
	uint32_t by;       /* index of the call that gave it */
	bool exact;        /* CUPTI saw it run; else it is placed by the order of its stream */
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

void html_place(struct html_placed *p, const struct call_log *h);
void html_placed_free(struct html_placed *p);
/* How long it was busy between two times. */
double html_busy(const struct html_placed *p, double start, double end);

#endif
