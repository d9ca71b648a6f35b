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

bool cuda_copy_holds(struct cuda_copy c)
{
	if (c.direction == SPY_DIR_DTOD || c.direction == SPY_DIR_PTOP)
		return false;
	if (!c.async)
		return c.memory == SPY_MEM_PAGEABLE || c.memory == SPY_MEM_PINNED;
	return c.memory == SPY_MEM_PAGEABLE &&
	       (c.direction == SPY_DIR_DTOH || c.bytes > CUDA_COPY_INLINE_BYTES);
}
