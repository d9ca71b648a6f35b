/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file a descriptor is. A program may close descriptors that it does not know and get their
 * numbers for files of its own, and may put another file where one of ours was: before one is
 * written to, closed or replaced it is asked whether it still is the same. System calls, not the
 * symbols for them that glibc 2.33 renewed: statx(), and where there is none, as with old kernels,
 * or a container's filter refuses it, the older one. Shared by the shim and the reporter.
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

/* Of what `path` is in `folder`; with "" and AT_EMPTY_PATH of the descriptor. False: there is no
 * such file. */
static inline bool identify_at(int folder, const char *path, int flags, struct file_id *id)
{
	struct statx sx;
	struct stat st;

	if (!syscall(SYS_statx, folder, path, flags, STATX_INO, &sx)) {
		*id = file_id(&sx);
		return true;
	}
	if (syscall(SYS_newfstatat, folder, path, &st, flags))
		return false;
	/* As <sys/sysmacros.h> has it, whose functions are no macros everywhere. */
	const uint64_t d = st.st_dev;
	id->device = (d >> 8 & 0xfff) << 32 | (d >> 32 & 0xfffff000) << 32 | (d & 0xff) |
	             (d >> 12 & 0xffffff00);
	id->inode = st.st_ino;
	return true;
}

/* False: it is no open descriptor. */
static inline bool identify_file(int fd, struct file_id *id)
{
	return identify_at(fd, "", AT_EMPTY_PATH, id);
}

static inline bool is_file(int fd, const struct file_id *id)
{
	struct file_id now;

	return identify_file(fd, &now) && same_file(&now, id);
}

#endif
