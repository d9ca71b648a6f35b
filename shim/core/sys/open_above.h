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

static inline int open_above_is_free(int fd)
{
	return syscall(SYS_fcntl, fd, F_GETFD) < 0;
}

/* Takes the streams that are free, into held; how many. */
static inline int open_above_hold(int *held)
{
	int n = 0, fd;

	for (int stream = 0; stream < STREAMS; stream++) {
		if (!open_above_is_free(stream))
			continue;
		fd = (int)syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
		if (fd >= STREAMS) /* another thread was first */
			open_above_let_go(fd);
		else if (fd >= 0)
			held[n++] = fd;
	}
	return n;
}

/* -1: errno tells. No cancellation point. */
static inline int open_above(const char *path, int flags, mode_t mode)
{
	int error = errno, held[STREAMS], n = open_above_hold(held), fd;

	fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
	if (fd >= 0 && fd < STREAMS) { /* another thread of ours has just let go of it */
		int low = fd;
		fd = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, STREAMS);
		error = fd < 0 ? errno : error;
		syscall(SYS_close, low);
	} else if (fd < 0) {
		error = errno;
	}
	while (n)
		open_above_let_go(held[--n]);
	errno = error;
	return fd;
}

#endif
