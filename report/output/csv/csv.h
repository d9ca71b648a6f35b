/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of CSV. For the outputs that write it. */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H

#include <stdio.h>

/*
 * RFC 4180: fields with a comma, a quote or a line end are quoted, quotes doubled; lines, which the
 * caller ends, end with CR LF. What begins a formula gets an apostrophe in front, as OWASP advises.
 * NULL is an empty field.
 */
void csv_text(FILE *to, const char *text);

#endif
