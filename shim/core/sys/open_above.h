/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of ours is never standard input, output or error: where the program closed one of these
 * its number is the next that is given out, and what the program prints to it, in another thread,
 * would go into the file. So the free ones among them are held meanwhile by descriptors that
 * nothing can be written to or read from (O_PATH), as nothing can with a closed one.
 */
#ifndef SPY_OPEN_ABOVE_H
#define SPY_OPEN_ABOVE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef O_PATH
#define O_PATH 010000000 /* behind _GNU_SOURCE */
#endif
#define STREAMS 3

/* Unless the program has put something else there meanwhile. */
static inline void open_above_let_go(int fd)
{
	long flags = syscall(SYS_fcntl, fd, F_GETFL);

	if (flags >= 0 && (flags & O_PATH))
		syscall(SYS_close, fd);
}

/* -1: errno tells. No cancellation point. */
static inline int open_above(const char *path, int flags, mode_t mode)
{
	int held[STREAMS + 1], n = 0, fd, error;

	do
		held[n] = (int)syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
	while (held[n] >= 0 && held[n] < STREAMS && ++n < STREAMS);
	if (n < STREAMS && held[n] >= 0) /* the first above them */
		open_above_let_go(held[n]);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
	error = errno;
	if (fd >= 0 && fd < STREAMS) { /* another thread of ours has just let go of it */
		int low = fd;
		fd = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, STREAMS);
		error = errno;
		syscall(SYS_close, low);
	}
	while (n)
		open_above_let_go(held[--n]);
	errno = error;
	return fd;
}

#endif
