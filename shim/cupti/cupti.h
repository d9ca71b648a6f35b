/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDASPY_GPU=cupti: exact GPU times from CUPTI. For the wrappers, the life cycle and the
 * collector; in every other mode nothing here does anything but a look at a flag.
 *
 * Order: cupti_before_init() in the wrapper of cuInit, ahead of the real call; cupti_mode() and
 * cupti_started() when the recording starts; cupti_beat() in the collector; cupti_finish() at exit.
 * Never in a forked child. When anybody else in the process turns to CUPTI we let go for good:
 * there is one subscriber, and one receiver of records, the last that came.
 */
#ifndef SPY_CUPTI_H
#define SPY_CUPTI_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/record/span.h"

/* Whether CUDASPY_GPU asks for CUPTI; by our constructor, so that look-ups from then on count. */
void cupti_first_look(void);

/* Sets CUPTI up where CUDASPY_GPU asks for it; once in the life of a process. */
void cupti_before_init(void) __attribute__((cold));

/* The mode that is in force where `wanted` (enum tf_gpu_mode) was asked for; says in one line why
 * it is another. */
uint32_t cupti_mode(uint32_t wanted) __attribute__((cold));

/* The recording is there: from now on records go into it. Before sampling starts, which takes over
 * where there is no room for them. */
void cupti_started(void) __attribute__((cold));

/* There will be no recording in this process: CUPTI is given up. */
void cupti_not_started(void) __attribute__((cold));

/* One round of the collector: what CUPTI handed over, or is asked for, every 100 ms is written to
 * the recording. */
void cupti_beat(void);

/* At exit, ahead of the last drain: asks CUPTI for all there is. */
void cupti_finish(void);

/* Writes more of what cupti_finish() got. True: there is something new for the drain. */
bool cupti_finish_more(void);

/* What a look-up of `name` by the program gets in place of the function that `handle` has; NULL =
 * that function. Called by the exported dlsym for names "cup...". */
void *cupti_pick(void *handle, const char *name);

/* Whether it matters who else comes to CUPTI. */
bool cupti_wanted(void);

/* Somebody else in the process turned to CUPTI, by calling `name`. */
void cupti_taken_by_other(const char *name);

#endif
