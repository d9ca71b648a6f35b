/*
 * The checks a mapped recording must pass before anything in it is used. For the reader alone.
 */
#ifndef REPORT_READER_CHECK_H
#define REPORT_READER_CHECK_H

#include "report/reader.h"

/* 0, or -1 and one line in `error` where nothing in the file can be used. */
int reader_check_header(const struct recording *r, char error[READER_ERROR_BYTES]);
/* Sets the counts in `r`, repairs the private copy's tables, warns of what is left out. */
void reader_check_tables(struct recording *r);

#endif
