/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory, managed memory and pinned host memory. */
#include <string.h>
#include <sys/mman.h>
#include "tests/sim/driver_memory.h"

/* What a synchronising call does first: it waits until the whole device is idle. */
static void drain(struct sim_device *d)
{
	uint64_t host = 0, tail = device_tail(d, &host);

	sim_wait(tail, host, false);
}

static CUresult alloc(CUdeviceptr *out, size_t bytes)
{
	uint64_t from = sim_tl_now();
	struct sim_ctx *ctx = ctx_current();
	CUresult rc = capture_unsafe();

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!out || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	rc = memory_take(ctx, MEMORY_DEVICE, NULL, bytes, out);
	sim_cost_since(from, sim_config.malloc_ns);
	if (rc == CUDA_SUCCESS)
		sim_total()->allocs++;
	return rc;
}

CUresult do_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	return alloc(dptr, bytesize);
}

CUresult do_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                               size_t Height, unsigned int ElementSizeBytes)
{
	size_t pitch = (WidthInBytes + 511) / 512 * 512;

	if (!pPitch || !WidthInBytes || !Height ||
	    (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16))
		return CUDA_ERROR_INVALID_VALUE;
	*pPitch = pitch;
	return alloc(dptr, pitch * Height);
}

static CUresult free_pointer(uintptr_t p, bool host)
{
	struct memory_range r;
	CUresult rc = capture_unsafe();
	bool ours;

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!p && !host)
		return CUDA_SUCCESS;
	if (!memory_find(p, &r) || r.start != p)
		return CUDA_ERROR_INVALID_VALUE;
	ours = host ? r.kind == MEMORY_HOST
	            : r.kind == MEMORY_DEVICE || r.kind == MEMORY_MANAGED || r.kind == MEMORY_POOL;
	if (!ours)
		return CUDA_ERROR_INVALID_VALUE;
	drain(r.device);
	if (r.pool) {
		pthread_mutex_lock(&r.pool->device->lock);
		r.pool->used -= r.bytes;
		pthread_mutex_unlock(&r.pool->device->lock);
	}
	memory_give(p);
	sim_cost(sim_config.free_ns);
	sim_total()->frees++;
	return CUDA_SUCCESS;
}

CUresult do_cuMemFree_v2(CUdeviceptr dptr)
{
	if (!ctx_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	return free_pointer((uintptr_t)dptr, false);
}

CUresult do_cuMemFreeHost(void *p)
{
	return free_pointer((uintptr_t)p, true);
}

CUresult do_cuMemGetInfo_v2(size_t *free, size_t *total)
{
	struct sim_ctx *ctx = ctx_current();

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (free)
		*free = sim_config.memory_bytes - memory_used(ctx->device);
	if (total)
		*total = sim_config.memory_bytes;
	return CUDA_SUCCESS;
}

CUresult do_cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
	struct memory_range r;

	if (!memory_find((uintptr_t)dptr, &r))
		return CUDA_ERROR_NOT_FOUND;
	if (pbase)
		*pbase = (CUdeviceptr)r.start;
	if (psize)
		*psize = r.bytes;
	return CUDA_SUCCESS;
}

/* Real memory of the host, known to the driver. */
static CUresult host_memory(void **out, size_t bytes, enum memory_kind kind, unsigned flags)
{
	uint64_t from = sim_tl_now();
	struct sim_ctx *ctx = ctx_current();
	struct memory_range r = {.bytes = bytes, .kind = kind, .flags = flags, .ctx = ctx};
	CUresult rc = capture_unsafe();
	void *p;

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!out || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r.start = (uintptr_t)p;
	r.data = p;
	r.device = ctx->device;
	r.id = memory_next_id();
	if (!memory_add(&r)) {
		munmap(p, bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = p;
	sim_cost_since(from, sim_config.host_alloc_ns);
	sim_total()->allocs++;
	return CUDA_SUCCESS;
}

CUresult do_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return host_memory((void **)dptr, bytesize, MEMORY_MANAGED, flags);
}

CUresult do_cuMemAllocHost_v2(void **pp, size_t bytesize)
{
	return host_memory(pp, bytesize, MEMORY_HOST, 0);
}

CUresult do_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
	if (Flags > 7)
		return CUDA_ERROR_INVALID_VALUE;
	return host_memory(pp, bytesize, MEMORY_HOST, Flags);
}

CUresult do_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
	uint64_t from = sim_tl_now();
	struct sim_ctx *ctx = ctx_current();
	struct memory_range r = {
	        .start = (uintptr_t)p,
	        .bytes = bytesize,
	        .kind = MEMORY_REGISTERED,
	        .flags = Flags,
	        .ctx = ctx,
	        .data = p,
	        .id = memory_next_id(),
	};
	CUresult rc = capture_unsafe();

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!p || !bytesize || Flags > 15)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	r.device = ctx->device;
	if (!memory_add(&r))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	sim_cost_since(from, sim_config.host_alloc_ns);
	sim_total()->allocs++;
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostUnregister(void *p)
{
	struct memory_range r;
	CUresult rc = capture_unsafe();

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory_find((uintptr_t)p, &r) || r.kind != MEMORY_REGISTERED ||
	    r.start != (uintptr_t)p)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	drain(r.device);
	memory_give((uintptr_t)p);
	sim_cost(sim_config.free_ns);
	sim_total()->frees++;
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
	struct memory_range r;

	if (!pdptr || Flags || !memory_find((uintptr_t)p, &r) || memory_is_device(r.kind))
		return CUDA_ERROR_INVALID_VALUE;
	*pdptr = (CUdeviceptr)p;
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
	struct memory_range r;

	if (!pFlags || !memory_find((uintptr_t)p, &r) || r.kind != MEMORY_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	*pFlags = r.flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return CUDA_SUCCESS;
}
