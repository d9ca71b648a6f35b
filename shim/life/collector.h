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

/* Ends the collector's rounds, and empties the rings a last time in the calling thread. Waits at
 * most a second for a round that is under way. */
void collector_finish(void);

/* Whether it writes nothing to the recording just now; after collector_finish(), nor later. */
bool collector_is_still(void);

void collector_after_fork(void);

#endif
