/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/cuda/copies.h"

bool cuda_copy_is_inline(struct cuda_copy c)
{
	return c.memory == SPY_MEM_PAGEABLE && c.direction == SPY_DIR_HTOD &&
	       c.bytes <= CUDA_COPY_INLINE_BYTES;
}

bool cuda_copy_is_staged(struct cuda_copy c)
{
	return c.memory == SPY_MEM_PAGEABLE &&
	       (c.direction == SPY_DIR_DTOH ||
	        (c.direction == SPY_DIR_HTOD && !cuda_copy_is_inline(c)));
}

unsigned cuda_copy_buffers(struct cuda_copy c)
{
	if (!c.async || c.direction != SPY_DIR_HTOD || !cuda_copy_is_staged(c) ||
	    c.bytes > CUDA_STAGING_BUFFERS * CUDA_STAGING_BYTES)
		return 0;
	return c.bytes > CUDA_STAGING_BYTES ? 2 : 1;
}

bool cuda_copy_holds(struct cuda_copy c)
{
	switch (c.direction) {
	case SPY_DIR_HTOH: /* the host makes it */
		return true;
	case SPY_DIR_PTOP:
		return false;
	case SPY_DIR_DTOD:
		return !c.async && c.memory == SPY_MEM_MANAGED;
	default:
		break;
	}
	if (!c.async)
		return c.memory == SPY_MEM_PAGEABLE || c.memory == SPY_MEM_PINNED;
	return c.memory == SPY_MEM_PAGEABLE &&
	       (c.direction == SPY_DIR_DTOH || c.bytes > CUDA_STAGING_BUFFERS * CUDA_STAGING_BYTES);
}

bool cuda_set_holds(struct cuda_copy set)
{
	return !set.async && (set.memory == SPY_MEM_MANAGED || set.memory == SPY_MEM_PINNED);
}
