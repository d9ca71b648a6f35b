/*
 * The recording's file: made, reserved before it is used (a page that cannot be stored would kill
 * the program with SIGBUS), grown, and, where the file system guarantees no reservation, kept in
 * memory and copied at exit.
 */
#ifndef SPY_STORAGE_H
#define SPY_STORAGE_H

#include <stdbool.h>
#include "shim/trace_map.h"

/*
 * Makes the file that CUDASPY_OUT names and maps it as spy_map. False: none to be had; one line was
 * said. In a forked child it makes the child's own; the parent's mapping stays where it was,
 * unused.
 */
bool storage_create(void);

/* Removes a file that could not be made into a recording. The mapping stays. */
void storage_discard(void);

/* Where the user finds the recording. Valid after storage_create(). */
const char *storage_path(void);

/* Copies a recording that lives in memory to where the user wants it; nothing to do for others. May
 * be called again. */
void storage_publish(void);

/* Device and inode of an open file; false: it has none. */
bool file_identity(int fd, uint64_t *device, uint64_t *inode);

/* Gives the lock back in a forked child. */
void storage_after_fork(void);

#endif
