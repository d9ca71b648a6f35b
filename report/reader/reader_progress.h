/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the reading of one recording is, for who waits: of its bytes, and of the records that its
 * process left in the rings. For the reader alone.
 */
#ifndef REPORT_READER_PROGRESS_H
#define REPORT_READER_PROGRESS_H

#include "report/reader/reader.h"

struct drain;

/* Reads what the check of the seal will look at, which is all of the file, a part at a time. */
void reader_read_ahead(const struct recording *r);

struct reader_left {
	uint64_t done, all; /* records */
};
/* Tells how many of the records in the rings were drained; before the drain begins. */
void reader_watch(const struct recording *r, struct reader_left *left, struct drain *drain);

#endif
