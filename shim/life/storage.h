/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording's file: made, reserved before it is used (a page that cannot be stored would kill
 * the program with SIGBUS), grown, and, where the file system guarantees no reservation, kept in
 * memory and copied at exit.
 */
#ifndef SPY_STORAGE_H
#define SPY_STORAGE_H

#include <stdbool.h>
#include "shim/core/format/trace_map.h"

/*
 * Makes the file that CUDASPY_OUT names and maps it as spy_map. False: none to be had; one line was
 * said. In a forked child it makes the child's own; the parent's mapping stays where it was,
 * unused.
 */
bool storage_create(void);

/* Removes a file that could not be made into a recording, and says why. The mapping stays. */
void storage_discard(void);

/* `wanted`, or where the recording lives in memory, at most one part in `part` of what it may take
 * there. */
uint64_t storage_share(uint64_t wanted, unsigned part);

/* Says what that share leaves less of. */
void storage_say_limits(void);

/* Where the recording is mapped, with all that it may grow to. Async-signal-safe. */
uint8_t *storage_mapped(uint64_t *bytes);

/* Whether somebody cut the file short, which is said once. */
bool storage_was_cut(void);

/* Where the user finds the recording. Valid after storage_create(). */
const char *storage_path(void);

/* Copies a recording that lives in memory to where the user wants it; nothing to do for others. May
 * be called again. `settled`: but for calls that come now nothing writes to it any more. */
void storage_publish(bool settled);

/* A page of the copy cannot be read, while it is looked at: something else takes its place. False:
 * the address is not in it. For the handler of SIGBUS. */
bool storage_replaces_copy(const void *at);

/* Not NULL: the file at that path, or where the recording lives in memory its stub, is not there
 * any more, or another one is. Then where the recording still is, or "". */
const char *storage_is_gone(void);

/* Gives the lock back in a forked child. */
void storage_after_fork(void);

#endif
