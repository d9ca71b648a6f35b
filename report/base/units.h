/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures as people read them, three digits and a unit; what is not known (a NaN) is "n/a". For
 * every text output.
 */
#ifndef REPORT_UNITS_H
#define REPORT_UNITS_H

#include <stdint.h>

#define UNIT_BYTES 32
/* Each writes into `to` (UNIT_BYTES) and returns it. */
char *unit_time(char *to, double ns);
char *unit_time_apart(char *to, double ns); /* with a blank before the unit, for sentences */
char *unit_bytes(char *to, double bytes);
/* Of things or times, on average: three digits that count, from 1000 on all of them. */
char *unit_count(char *to, double count);
/* `part` of `whole` in per cent, without the sign; "n/a" where either is unknown or the whole is
 * not positive. */
char *unit_percent(char *to, double part, double whole);
/* "2026-08-21T09:15:27.123Z" */
char *unit_date(char *to, double realtime_ns);

/* By how much something became more or less, as a share of what it was: "+12.5 %", "x27.4",
 * ">x1000".
 */
char *unit_change(char *to, double share);

#endif
