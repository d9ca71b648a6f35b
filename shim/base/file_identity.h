/*
 * Which file a descriptor is: programs close descriptors that are not theirs, and get the number
 * for a file of their own. For the shim's cold paths.
 */
#ifndef SPY_FILE_IDENTITY_H
#define SPY_FILE_IDENTITY_H

#include <linux/stat.h>
#include <stdbool.h>
#include <stdint.h>

/* Device and inode of an open file; false: it has none. Errno is not kept. */
bool file_identity(int fd, uint64_t *device, uint64_t *inode);

/* The device in what statx() told. */
static inline uint64_t file_device(const struct statx *sx)
{
	return (uint64_t)sx->stx_dev_major << 32 | sx->stx_dev_minor;
}

#endif
