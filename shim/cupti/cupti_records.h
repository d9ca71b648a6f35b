/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From CUPTI's records to ours: which call gave a piece of work, its times in ticks, its place in
 * the recording's ring `activity_ring`. One reader at a time: the caller sees to it. For
 * shim/cupti/cupti.c.
 */
#ifndef SPY_CUPTI_RECORDS_H
#define SPY_CUPTI_RECORDS_H

#include <stdbool.h>
#include "shim/cupti/cupti_api.h"

/* Makes the ring in the recording; false: no room. */
bool cupti_records_start(const struct cp_functions *cupti);

/*
 * Work with CUPTI's number `correlation` is given by the call `cause` (TF_CAUSE()). By any thread,
 * ahead of that work, once cupti_records_start() is done: no lock, no system call. Kept until
 * 262,144 more such calls have come.
 */
void cupti_records_cause(uint32_t correlation, uint64_t cause);

/* Takes the full buffers over. */
void cupti_records_collect(void);

/* Writes what was taken over to the ring, as far as there is room. */
void cupti_records_write(void);

/* Bytes of what was taken over and not written yet. */
uint64_t cupti_records_left(void);

/* Counts what is left as lost. */
void cupti_records_give_up(void);

#endif
