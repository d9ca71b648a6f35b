/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the process of a recording has ended, was killed, or still runs. For the reader, the
 * model and `run`.
 */
#ifndef REPORT_STATE_H
#define REPORT_STATE_H

#include "report/reader/reader.h"

/* The worse one comes later. */
enum process_state {
	PROCESS_COMPLETE,
	PROCESS_ENDED, /* by _exit() or quick_exit(), or it became another program */
	PROCESS_KILLED,
	PROCESS_RUNNING,
	PROCESS_STATES
};
extern const char *const process_state_names[];

/* What the recording says, which was looked at while its process ran, or not. */
enum process_state state_of(const struct recording *r);
/* By the kernel's word: its process runs, and may write to it, as to one that it has sealed only
 * where it makes more calls; it is about to end, and has not closed it. */
bool state_runs(const struct recording *r);
bool state_dying(const struct recording *r);
/* CLOCK_MONOTONIC, in ns. */
double state_now(void);

#endif
