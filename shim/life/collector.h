/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim's one thread: empties the rings, beats, reads the clocks, looks for new libraries. For
 * the life cycle only.
 */
#ifndef SPY_COLLECTOR_H
#define SPY_COLLECTOR_H

#include <stdbool.h>

/* Starts it with all signals blocked. False: no thread to be had; rings are then drained at exit
 * and by the reporter. */
bool collector_start(void);

/* Empties the rings a last time, in the calling thread or in the collector; waits at most a second.
 */
void collector_finish(void);

void collector_after_fork(void);

#endif
