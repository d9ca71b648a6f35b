/*
 * From CUPTI's records to ours: which call gave a piece of work, its times in ticks, its place in
 * the recording's ring `activity_ring`. One reader at a time: the caller sees to it. For
 * shim/cupti.c.
 */
#ifndef SPY_CUPTI_RECORDS_H
#define SPY_CUPTI_RECORDS_H

#include <stdbool.h>
#include "shim/cupti_api.h"

/* Makes the ring in the recording; false: no room. */
bool cupti_records_start(const struct cp_functions *cupti);

/* Takes the full buffers over and learns from all of them which call gave which work: to be called
 * once all that CUPTI holds was asked for, as a kernel may come before what tells its call. */
void cupti_records_collect(void);

/* Writes what was taken over to the ring, as far as there is room. */
void cupti_records_write(void);

/* Bytes of what was taken over and not written yet. */
uint64_t cupti_records_left(void);

/* Counts what is left as lost. */
void cupti_records_give_up(void);

#endif
