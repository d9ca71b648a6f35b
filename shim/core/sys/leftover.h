/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a killed process left in memory: a recording whose live data lies in /dev/shm or the user's
 * runtime folder, with a stub in its place. Once nobody uses it any more it is moved to where the
 * user wanted it. Shared by the shim, whose next run tidies up, and the reporter, which meets the
 * stub.
 *
 * System calls alone, none of them a cancellation point; no allocation, no stdio. Errno is not
 * kept.
 */
#ifndef SPY_LEFTOVER_H
#define SPY_LEFTOVER_H

#include <stdbool.h>

/* The names of live data: in between stand the process' number and a random one. */
#define LEFTOVER_BEGINS "cudaspy-"
#define LEFTOVER_ENDS   ".live"

/*
 * Whether nobody has the file open or mapped for writing, by the kernel's word, whatever pid
 * namespace that may be in. `fd`: opened for reading by the caller alone. False where the kernel
 * cannot be asked, and of files of others.
 */
bool leftover_unused(int fd);

/* Whether somebody has: as sure, and false where the kernel cannot be asked. */
bool leftover_used(int fd);

/*
 * Moves the live data at the absolute path `live` to its stub, if it is unused and the stub still
 * names it. Nothing is changed where that fails. Trusts nothing in the file.
 */
bool leftover_move(const char *live);

/* Does so with the live data in a folder, an absolute path; of very much with a part. */
void leftover_tidy(const char *folder);

/*
 * Makes the file `path` for a copy to be written into; a descriptor, or -1 and errno. It is locked
 * as long as it is open: by that others see that its maker lives. One whose maker was killed is
 * replaced; a file of somebody else's never is. Rename or remove it before it is closed.
 */
int leftover_open_part(const char *path);

/* What was written into it is stored, as far as closing it would tell. */
bool leftover_is_written(int part);

#endif
