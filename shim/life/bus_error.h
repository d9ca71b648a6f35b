/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that somebody truncates while it is written. The next store of ours into what is gone
 * raises SIGBUS, which would end a program that did nothing: anonymous memory takes the place of
 * those pages, the recording ends, and the program runs on. For the life cycle and the storage.
 */
#ifndef SPY_BUS_ERROR_H
#define SPY_BUS_ERROR_H

/* Puts a handler of SIGBUS in front of the program's own, once a process; faults that are not ours
 * go on to that. Where the program ignores SIGBUS nothing is changed: what it starts would inherit
 * another answer. */
void bus_error_watch(void);

#endif
