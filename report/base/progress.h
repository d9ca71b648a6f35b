/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far something is that takes longer than a second: one line on stderr that is written over and
 * goes when it is done, where stderr is a terminal; else nothing. For every file of report/.
 */
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

/* From now on time counts. What is begun within another one is a part of that. */
void progress_begin(void);
/* May be called as often as one likes: it writes a few times a second, and looks at the clock only
 * now and then. The text is made safe for a terminal. */
void progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes in any case, where stderr is a terminal: of something that is known to take long. */
void progress_now(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same of so much of a whole: "reading x: 43 %". */
void progress_part(const char *what, double done, double whole);
/* Takes the line away, for something else to be written. */
void progress_hide(void);
void progress_end(void);

#endif
