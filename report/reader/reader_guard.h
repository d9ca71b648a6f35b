/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps the reader alive when a file becomes shorter while it is read. For the reader alone;
 * recording_shrank() tells others.
 */
#ifndef REPORT_READER_GUARD_H
#define REPORT_READER_GUARD_H

#include "report/reader/reader.h"

/* Of a recording that was mapped; one at a time. */
void reader_guard_start(struct recording *r);
void reader_guard_stop(void);

#endif
