/*
 * From load to exit: when recording starts, what a forked child does, how it ends. State that the
 * whole shim shares.
 */
#ifndef SPY_LIFECYCLE_H
#define SPY_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/trace_map.h"

/* The recording of this process; base is NULL until it exists. */
extern struct tf_map spy_map;

/* Raised in every forked child: what was learned under another number belongs to the parent. */
extern uint32_t spy_generation;

/*
 * The one lock of the shim. Cold paths only (a thread's birth, growth, handles made and dropped,
 * ranges of memory); never held across a call of CUDA or of the program. A forked child starts with
 * it free.
 */
void spy_lock(void);
void spy_unlock(void);

/* Whether calls are recorded now; starts the recording of a forked child at its first call. */
bool spy_ready(void);

/* cuInit succeeded. Starts the recording, once; false where there is none (switched off, or no file
 * to be had). */
bool spy_start(void);

/* The first call of all returned. */
void spy_window_begins(unsigned call, uint64_t ticks, uint64_t now);

/* CUDASPY_RANGE: opens and shuts the gate. */
void spy_range_open(bool open);

/* Whether a result only says that the process is ending: runtimes tidy up after the driver is gone.
 * No failure. */
bool spy_too_late(int result);

/* Whether calls made now are in the range asked for. */
bool spy_in_range(void);

/* Something of ours failed: counted in the recording, shown in every report. */
void spy_count_trouble(enum spy_trouble what);

/* One line on stderr, "cudaspy: ..."; at most 20 in a process's life. Leaves errno alone. */
void spy_say(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* The clocks when the shim was loaded. */
extern struct tf_clock_triple spy_load_clock;

#endif
