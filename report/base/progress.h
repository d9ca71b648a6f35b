/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is being done, where it takes longer than a second: one line on stderr that is written over
 * and goes when it is done, where stderr is a terminal; else nothing. A timer writes it, so that
 * whoever works only has to say what he is at. For every file of report/.
 */
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

#include <stdint.h>

/* From now on time counts. What is begun within another one is a part of that, and says nothing of
 * its own. */
void progress_begin(void);
/* What is done from now on; made safe for a terminal. */
void progress_stage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* How much of it is done, of what is known; forgotten with the next stage. Costs nothing. */
void progress_share(uint64_t done, uint64_t all);
/* What is told until the end of the part is of what lies between `from` and `to`, `of` all. Parts
 * have parts. */
void progress_part_begin(uint64_t from, uint64_t to, uint64_t of);
void progress_part_end(void);
/* Writes the line at once: for what is known to take long. */
void progress_show(void);
/* Takes the line away, for something else to be written. */
void progress_hide(void);
/* The same, and writes none any more: what is written now may wait for whoever reads it. */
void progress_stop(void);
void progress_end(void);

#endif
