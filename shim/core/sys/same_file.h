/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file a descriptor is. A program may close descriptors that it does not know and get their
 * numbers for files of its own, and may put another file where one of ours was: before one is
 * written to, closed or replaced it is asked whether it still is the same. One system call, not
 * the symbol for it that glibc 2.33 renewed. Shared by the shim and the reporter.
 */
#ifndef SPY_SAME_FILE_H
#define SPY_SAME_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct file_id {
	uint64_t device, inode;
};

static inline struct file_id file_id(const struct statx *sx)
{
	return (struct file_id){(uint64_t)sx->stx_dev_major << 32 | sx->stx_dev_minor, sx->stx_ino};
}

static inline bool same_file(const struct file_id *a, const struct file_id *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/* False: it is no open descriptor. */
static inline bool identify_file(int fd, struct file_id *id)
{
	struct statx sx;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &sx))
		return false;
	*id = file_id(&sx);
	return true;
}

static inline bool is_file(int fd, const struct file_id *id)
{
	struct file_id now;

	return identify_file(fd, &now) && same_file(&now, id);
}

#endif
