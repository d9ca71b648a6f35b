/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends that no exit handler sees: _exit() and _Exit(), as Python's worker processes end, and exec,
 * by which a process becomes another program. The recording says so, so that nobody takes them for
 * a kill. For the life cycle.
 */
#ifndef SPY_LEAVING_H
#define SPY_LEAVING_H

/* Finds the C library's own functions; by our constructor, since a child of vfork() must not look
 * for them. */
void leaving_init(void);

#endif
