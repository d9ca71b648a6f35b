/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small file that the user's own programs keep for one another, read with care: whoever else
 * could write to it is not believed. System calls alone, none of them a cancellation point. Shared
 * by the shim and the reporter.
 */
#ifndef SPY_OWN_FILE_H
#define SPY_OWN_FILE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * All of a file that is shorter than `room`: how many bytes, and a NUL behind them. 0: there is
 * none, or nothing in it. -1: there is one that is not to be believed (a link or something else
 * than a file, not the user's own, writable by others, too long) or cannot be read. Waits for
 * nothing.
 */
int32_t own_file_read(const char *path, char *text, uint32_t room);

/* Whether an open file or folder is the user's own and nobody else can write to it. */
bool own_file_trusted(int fd, bool folder);

#endif
