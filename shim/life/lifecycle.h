/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From load to exit: when recording starts, what a forked child does, how it ends. Registers itself
 * with the gate. For the other files of this room.
 */
#ifndef SPY_LIFECYCLE_H
#define SPY_LIFECYCLE_H

#include <stdbool.h>
#include "shim/base/gate.h"
#include "shim/record/messages.h"

/* The process is about to end without exit handlers, or to become another program.
 * Async-signal-safe; in a child of vfork() it does nothing. False: there was nothing to be noted.
 */
bool spy_leaves(unsigned how);
/* It did not. */
void spy_stays(void);

#endif
