/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling a new recording: header, tables, areas; and adding to its tables while the program runs.
 * For the shim's cold paths; each function says who may call it.
 */
#ifndef SPY_RECORDING_H
#define SPY_RECORDING_H

#include "shim/core/format/trace_map.h"

/* Writes header, table of calls and areas into the freshly mapped file; false: no room. Called once
 * per process. */
bool recording_fill(uint64_t load_tick, uint64_t forked_from);

/* Devices, driver version, runtimes: asked of the driver once, right after cuInit. Called under no
 * lock. */
void recording_describe_driver(void);

/* Adds a reading of all clocks; thins the older ones when the table is full. Collector and start
 * only. */
void recording_clock(int brackets);

#endif
