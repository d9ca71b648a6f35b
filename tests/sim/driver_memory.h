/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver knows of memory: every range it handed out or was told of, in one sorted table.
 * Included by the driver's sources that allocate, copy or answer questions about pointers. */
#pragma once
#include "tests/sim/driver.h"

enum memory_kind {
	MEMORY_NONE, /* unknown to the driver: pageable host memory */
	MEMORY_DEVICE,
	MEMORY_POOL,       /* device memory of a pool */
	MEMORY_MAPPED,     /* virtual memory with physical memory behind it */
	MEMORY_HOST,       /* pinned, ours */
	MEMORY_REGISTERED, /* pinned, the program's */
	MEMORY_MANAGED,
};

struct memory_range {
	uintptr_t start;
	size_t bytes; /* as asked for */
	enum memory_kind kind;
	struct sim_device *device;
	struct sim_ctx *ctx;
	unsigned flags;
	unsigned long long id;
	struct sim_pool *pool;
	char *data; /* the contents, or NULL when none are kept */
	bool data_owned;
	struct sim_physical *physical; /* of a mapping */
};

struct sim_pool {
	struct sim_handle handle;
	struct sim_device *device;
	bool is_default;
	uint64_t release_threshold, used, used_high, reserved, reserved_high;
	int reuse[3];
};

struct sim_physical {
	struct sim_handle handle;
	struct sim_device *device;
	size_t bytes;
	unsigned uses;
	bool released;
	char *data;
	CUmemAllocationProp prop;
};

static inline bool memory_is_device(enum memory_kind kind)
{
	return kind == MEMORY_DEVICE || kind == MEMORY_POOL || kind == MEMORY_MAPPED;
}

/* Address space of a device; host access to it faults.  0 when there is none left. */
uintptr_t space_take(struct sim_device *d, size_t bytes);
void space_give(struct sim_device *d, uintptr_t start, size_t bytes);
/* Whether p lies in the address space of any device. */
bool space_holds(uintptr_t p);

/* Memory for contents within the limit, zeroed, or NULL. */
char *data_take(size_t bytes);
void data_give(char *data, size_t bytes);

/* Device memory with a range; the answers are CUDA_ERROR_OUT_OF_MEMORY or success. */
CUresult memory_take(struct sim_ctx *ctx, enum memory_kind kind, struct sim_pool *pool,
                     size_t bytes, CUdeviceptr *out);
/* Removes the range that starts at p and gives back what is behind it, without waiting. */
bool memory_give(uintptr_t p);

bool memory_add(const struct memory_range *r);
/* The range that contains p. */
bool memory_find(uintptr_t p, struct memory_range *out);
void memory_free_ctx(struct sim_ctx *ctx);
uint64_t memory_used(struct sim_device *d);
/* Counts device memory in use; false when there is not so much. */
bool memory_charge(struct sim_device *d, int64_t bytes);
unsigned long long memory_next_id(void);
