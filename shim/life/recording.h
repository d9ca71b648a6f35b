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

/* Stores a string; its offset, 0 = no room (or empty). Takes no lock of the shim. */
uint64_t recording_text(const char *text, uint64_t bytes);

/* Devices, driver version, runtimes: asked of the driver once, right after cuInit. Called under no
 * lock. */
void recording_describe_driver(void);

/* Adds a reading of all clocks; thins the older ones when the table is full. Collector and start
 * only. */
void recording_clock(int brackets);

/* Notes something that could not be intercepted, once per kind and name, counting the rest. Takes
 * the shim's lock. */
void recording_gap(uint32_t kind, const char *name, uint32_t version);

/* Looks through the loaded libraries for runtimes, tools and ways around us. Collector and exit
 * only. */
void recording_scan_libraries(void);

#endif
