/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of ours is never standard input, output or error: where the program closed one of these
 * its number is the next that is given out, and what the program prints to it, in another thread,
 * would go into the file. So the free ones among them are held meanwhile by descriptors that
 * nothing can be written to or read from (O_PATH), as nothing can with a closed one.
 *
 * Nor has it, for longer than it takes to move it, a number that the program gets next. One that
 * closes descriptors which it did not open gets the lowest free numbers for its own files, and what
 * we write, or reserve, would be theirs. At a far number there is nothing then, which is an error.
 */
#ifndef SPY_OPEN_ABOVE_H
#define SPY_OPEN_ABOVE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include "shim/core/sys/same_file.h"

#ifndef O_PATH
#define O_PATH 010000000 /* behind _GNU_SOURCE */
#endif
#define STREAMS 3
#define FAR     896 /* below 1024, the usual limit: the kernel's table grows to that at most */

/* Unless the program has put something else there meanwhile. */
static inline void open_above_let_go(int fd)
{
	long flags = syscall(SYS_fcntl, fd, F_GETFL);

	if (flags >= 0 && (flags & O_PATH))
		syscall(SYS_close, fd);
}

static inline int open_above_is_free(int fd)
{
	return syscall(SYS_fcntl, fd, F_GETFD) < 0 && errno == EBADF; /* else it is refused */
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

/* Moves the file away from `near`, as far as the limit of descriptors lets; where it cannot, it
 * stays if that is no stream. Its number; -1: errno tells. */
static inline int open_above_move(int near)
{
	struct file_id id;
	int far = -1;

	for (int least = FAR; far < 0 && least >= STREAMS; least /= 2)
		far = (int)syscall(SYS_fcntl, near, F_DUPFD_CLOEXEC, least);
	if (far < 0 && near >= STREAMS && errno != EBADF)
		return near;
	/* Not where the program has put a file of its own meanwhile, as far as that can be asked.
	 */
	if (far < 0 ? errno != EBADF : !identify_file(far, &id) || is_file(near, &id))
		syscall(SYS_close, near);
	return far;
}

/* -1: errno tells. No cancellation point. */
static inline int open_above(const char *path, int flags, mode_t mode)
{
	int error = errno, held[STREAMS], n = open_above_hold(held), fd;

	fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
	if (fd >= 0)
		fd = open_above_move(fd);
	if (fd < 0)
		error = errno;
	while (n)
		open_above_let_go(held[--n]);
	errno = error;
	return fd;
}

#endif
