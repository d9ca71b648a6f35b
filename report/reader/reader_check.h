/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks that a mapped recording goes through before anything in it is used, and what they find
 * missing. For the reader alone.
 */
#ifndef REPORT_READER_CHECK_H
#define REPORT_READER_CHECK_H

#include "report/reader/reader.h"

/* 0, or -1 and one line in `error` where nothing in the file can be used. */
int reader_check_header(const struct recording *r, char error[READER_ERROR_BYTES]);
/* Sets the counts in `r` and repairs the private copy's tables; what is left out is damage. */
void reader_check_tables(struct recording *r);
/* Where everything lies that the tables lead to: inside the file, nothing over anything else. Of a
 * recording that no seal vouches for; before reader_check_threads(). */
void reader_check_layout(struct recording *r);
/* Takes threads out that cannot be used. */
void reader_check_threads(struct recording *r);
/* Records that are in the rings although the collector may have counted them: it counts each first,
 * and gives a thread's back some at a time. Before they are drained. */
uint64_t reader_counted_already(const struct recording *r);
/* What the drain counted record by record against the exact counters; when all is drained. */
void reader_check_counts(struct recording *r);

#endif
