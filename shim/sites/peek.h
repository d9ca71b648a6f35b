/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading memory of this process that may not be there: the kernel copies, and says no where there
 * is nothing. For shim/sites alone.
 */
#ifndef SPY_PEEK_H
#define SPY_PEEK_H

#include <stdbool.h>
#include <sys/uio.h>
#include "shim/base/sys.h"

/* All `bytes` bytes at `from`, or false. errno may change. */
static inline bool peek(uint64_t pid, uintptr_t from, void *to, size_t bytes)
{
	const struct iovec local = {to, bytes}, remote = {(void *)from, bytes};

	return syscall(SYS_process_vm_readv, pid, &local, 1ul, &remote, 1ul, 0ul) == (long)bytes;
}

#endif
