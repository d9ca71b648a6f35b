/* SPDX-License-Identifier: Apache-2.0 */
/* What a file system has for the recording, and what it promises. */
#include "shim/life/storage_internal.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include "shim/base/guard.h"
#include "shim/base/sys.h"

bool storage_reservation_holds(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	return (unsigned long)fs.f_type == EXT4_SUPER_MAGIC ||
	       (unsigned long)fs.f_type == XFS_SUPER_MAGIC ||
	       (unsigned long)fs.f_type == TMPFS_MAGIC;
}

bool storage_is_short(int fd, uint64_t end)
{
	struct statx sx;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO | STATX_SIZE | STATX_BLOCKS, &sx))
		return false;
	struct file_id id = file_id(&sx);
	return same_file(&id, &storage_file.live_id) &&
	       (sx.stx_size < end || (storage_file.blocks_tell && sx.stx_blocks * 512 < end));
}

uint64_t storage_memory_share(int fd, uint64_t own)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) || !fs.f_blocks)
		return UINT64_MAX;
	return ((uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize + own) / MEMORY_SHARE;
}

int storage_reserve(int fd, uint64_t from, uint64_t bytes)
{
	struct guard guard;

	guard_begin(&guard);
	/* A cancellation point, but for who is in a quiet section. */
	int error = fallocate(fd, 0, (off_t)from, (off_t)bytes) ? -errno : 0;
	guard_end(&guard, error);
	return error;
}
