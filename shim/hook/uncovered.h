/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways around us, and the runtimes there are: read off the loaded libraries. For the collector and
 * the exit handler, never on a program's path.
 */
#ifndef SPY_UNCOVERED_H
#define SPY_UNCOVERED_H

/* Looks through the loaded libraries for runtimes, tools and ways around us. */
void uncovered_scan_libraries(void);

#endif
