/* SPDX-License-Identifier: Apache-2.0 */
/* A copy as its call described it: for the args_copy*.c alone. */
#ifndef SPY_ARGS_COPY_INTERNAL_H
#define SPY_ARGS_COPY_INTERNAL_H

#include "shim/args/args.h"
#include "shim/handles/memory_map.h"

/* One side of a copy: where it is, and in which kind of memory. */
struct args_side {
	uint64_t address;
	enum spy_memory memory; /* PAGEABLE, PINNED: host; DEVICE (arrays too); MANAGED */
};

static inline struct args_side args_at(uint64_t address)
{
	return (struct args_side){address, memory_map_find(address)};
}

static inline struct args_side args_on_device(uint64_t address)
{
	return (struct args_side){address, SPY_MEM_DEVICE};
}

static inline bool args_is_host(enum spy_memory m)
{
	return m == SPY_MEM_PAGEABLE || m == SPY_MEM_PINNED;
}

struct args_transfer {
	struct args_side dst, src;
	uint64_t bytes;
	CUstream stream;
	bool async;
	int direction; /* enum spy_direction, -1: follows from the sides */
};

/* One copy given to the GPU, or refused. */
void args_copied(struct spy_span *s, CUresult rc, const struct args_transfer *c);

#endif
