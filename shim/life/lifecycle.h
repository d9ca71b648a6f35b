/*
 * From load to exit: when recording starts, what a forked child does, how it ends. State that the
 * whole shim shares.
 */
#ifndef SPY_LIFECYCLE_H
#define SPY_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/base/messages.h"
#include "shim/core/format/trace_map.h"

/* The recording of this process; base is NULL until it exists. */
extern struct tf_map spy_map;

/* Raised in every forked child: what was learned under another number belongs to the parent. */
extern uint32_t spy_generation;

/*
 * The one lock of the shim. Cold paths only (a thread's birth, growth, handles made and dropped,
 * ranges of memory); never held across a call of CUDA or of the program. Its holder is in a quiet
 * section. A forked child starts with it free.
 */
void spy_lock(void);
void spy_unlock(void);

enum spy_answer {
	SPY_ON,           /* calls are recorded */
	SPY_NOT_YET,      /* CUDA is not initialised, or another thread is starting the recording */
	SPY_OUT_OF_RANGE, /* CUDASPY_RANGE */
	SPY_NEVER,        /* there is no recording, and there will be none */
};

/*
 * Whether calls are recorded now; starts the recording of a forked child at its first call. While
 * another thread is starting one: waits for it if the caller `may_wait`, which it may only outside
 * of any other call; all threads together for at most 100 ms a start.
 */
enum spy_answer spy_ask(bool may_wait);

/* Whether this process has had a recording; whether one is being made just now. */
bool spy_started(void);
bool spy_starting(void);

/* cuInit succeeded. Starts the recording, once: true where this very call did. */
bool spy_start(void);

/* Whether the calling thread, which is attached, may write into the recording. One that was closed
 * is open again from here on: its seal is broken. False in a process that is not the recording's,
 * and where the recording was cut short. */
bool spy_still_open(void);

/* A call returned that is recorded, and stands in no table. */
void spy_lose_call(void);

/* The file was cut short under us: what is in memory goes nowhere any more. Safe in a signal's
 * handler. */
void spy_cut_short(void);
bool spy_was_cut(void);

/* The process is about to end without exit handlers, or to become another program.
 * Async-signal-safe; in a child of vfork() it does nothing. False: there was nothing to be noted.
 */
bool spy_leaves(unsigned how);
/* It did not. */
void spy_stays(void);

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
void spy_count_anomaly(enum spy_anomaly what);

#endif
