/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/sys/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "shim/core/sys/open_above.h"

bool own_file_trusted(int fd, bool folder)
{
	struct statx sx;

	return !syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &sx) &&
	       (sx.stx_mode & S_IFMT) == (folder ? S_IFDIR : S_IFREG) &&
	       sx.stx_uid == (uint32_t)syscall(SYS_geteuid) && !(sx.stx_mode & (S_IWGRP | S_IWOTH));
}

static int32_t read_all(int fd, char *text, uint32_t room)
{
	uint32_t n = 0;

	while (n < room) {
		long got = syscall(SYS_read, fd, text + n, (size_t)(room - n));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got) {
			text[n] = 0;
			return (int32_t)n;
		}
		n += (uint32_t)got;
	}
	return -1;
}

int32_t own_file_read(const char *path, char *text, uint32_t room)
{
	/* Not blocking: it may be a pipe, or a terminal. */
	int fd = open_above(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	int32_t n = own_file_trusted(fd, false) ? read_all(fd, text, room) : -1;
	syscall(SYS_close, fd);
	return n;
}
