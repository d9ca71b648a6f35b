/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory: addresses reserved, physical memory made, the two mapped; managed memory's hints.
 */
#include <string.h>
#include "tests/sim/driver_memory.h"

#define GRANULE (2ull << 20)

struct reservation {
	uintptr_t start;
	size_t bytes;
	struct sim_device *device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reservation reservation[4096];
static unsigned reservations;

static struct sim_physical *physical_get(CUmemGenericAllocationHandle h)
{
	void *p = (void *)(uintptr_t)h;

	return handle_live(HANDLE_PHYSICAL, p) ? p : NULL;
}

/* With the lock held: the reservation that holds all of the range. */
static struct reservation *reserved(uintptr_t start, size_t bytes)
{
	for (unsigned i = 0; i < reservations; i++) {
		struct reservation *r = &reservation[i];

		if (start >= r->start && start + bytes <= r->start + r->bytes)
			return r;
	}
	return NULL;
}

CUresult do_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                          CUmemAllocationGranularity_flags option)
{
	if (!granularity || !prop)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = GRANULE;
	return CUDA_SUCCESS;
}

CUresult do_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                                unsigned long long flags)
{
	struct sim_ctx *ctx = ctx_current();
	struct sim_device *d = ctx ? ctx->device : &sim_device[0];
	CUresult rc = CUDA_SUCCESS;
	uintptr_t p;

	if (!ptr || !size || size % GRANULE || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	p = reservations < sizeof(reservation) / sizeof(reservation[0]) ? space_take(d, size) : 0;
	if (p)
		reservation[reservations++] = (struct reservation){
		        .start = p,
		        .bytes = size,
		        .device = d,
		};
	else
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&lock);
	*ptr = (CUdeviceptr)p;
	return rc;
}

CUresult do_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < reservations; i++) {
		struct reservation *r = &reservation[i];

		if (r->start != (uintptr_t)ptr || r->bytes != size)
			continue;
		space_give(r->device, r->start, r->bytes);
		*r = reservation[--reservations];
		rc = CUDA_SUCCESS;
		break;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUresult do_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                        const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct sim_physical *p;
	CUresult rc = capture_unsafe();

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!handle || !prop || !size || size % GRANULE || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !device_valid(prop->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	p = handle_new(HANDLE_PHYSICAL);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->device =
	        &sim_device[prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? prop->location.id
	                                                                       : 0];
	p->bytes = size;
	p->prop = *prop;
	if (!memory_charge(p->device, (int64_t)size)) {
		handle_free(HANDLE_PHYSICAL, p);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->data = data_take(size);
	p->uses = 1;
	sim_cost(sim_config.malloc_ns);
	sim_total()->allocs++;
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)p;
	return CUDA_SUCCESS;
}

/* With the lock held: the memory goes when nobody holds or maps it. */
static void let_go(struct sim_physical *p)
{
	if (--p->uses)
		return;
	data_settle();
	memory_charge(p->device, -(int64_t)p->bytes);
	data_give(p->data, p->bytes);
	handle_free(HANDLE_PHYSICAL, p);
}

CUresult do_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct sim_physical *p = physical_get(handle);

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	let_go(p);
	pthread_mutex_unlock(&lock);
	sim_total()->frees++;
	return CUDA_SUCCESS;
}

CUresult do_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                     CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct sim_physical *p = physical_get(handle);
	struct memory_range r = {
	        .start = (uintptr_t)ptr,
	        .bytes = size,
	        .kind = MEMORY_MAPPED,
	        .physical = p,
	        .id = memory_next_id(),
	};
	CUresult rc = CUDA_SUCCESS;

	if (!p || flags || offset || !size || size > p->bytes)
		return CUDA_ERROR_INVALID_VALUE;
	r.device = p->device;
	r.data = p->data;
	pthread_mutex_lock(&lock);
	if (!reserved(r.start, size) || !memory_add(&r))
		rc = CUDA_ERROR_INVALID_VALUE;
	else
		p->uses++;
	pthread_mutex_unlock(&lock);
	return rc;
}

/* The range must be made of whole mappings. */
CUresult do_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	uintptr_t at = (uintptr_t)ptr, end = at + size;
	struct memory_range r;

	while (at < end) {
		if (!memory_find(at, &r) || r.kind != MEMORY_MAPPED || r.start != at ||
		    r.start + r.bytes > end)
			return CUDA_ERROR_INVALID_VALUE;
		at += r.bytes;
		memory_give(r.start);
		pthread_mutex_lock(&lock);
		let_go(r.physical);
		pthread_mutex_unlock(&lock);
	}
	return CUDA_SUCCESS;
}

CUresult do_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	struct memory_range r;

	if (!desc || !count || !memory_find((uintptr_t)ptr, &r))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult do_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                           CUdeviceptr ptr)
{
	struct memory_range r;

	if (!flags || !location || !memory_find((uintptr_t)ptr, &r))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}

CUresult do_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                   CUmemGenericAllocationHandle handle)
{
	struct sim_physical *p = physical_get(handle);

	if (!prop || !p)
		return CUDA_ERROR_INVALID_VALUE;
	*prop = p->prop;
	return CUDA_SUCCESS;
}

CUresult do_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	struct memory_range r;

	if (!handle || !memory_find((uintptr_t)addr, &r) || !r.physical)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	r.physical->uses++;
	pthread_mutex_unlock(&lock);
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)r.physical;
	return CUDA_SUCCESS;
}

static CUresult hint(CUdeviceptr p, size_t count)
{
	struct memory_range r;

	if (!count || !memory_find((uintptr_t)p, &r) || r.kind != MEMORY_MANAGED)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult do_cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
	return hint(devPtr, count);
}

CUresult do_cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                           CUmemLocation location)
{
	return hint(devPtr, count);
}

/* Takes a place in the stream, as long as the pages need to move. */
static CUresult prefetch(CUdeviceptr p, size_t count, CUstream stream)
{
	struct sim_work w = {.kind = TL_NONE, .engine = TL_H2D};
	struct sim_stream *s;
	CUresult rc = stream_use(stream, &s);

	if (rc == CUDA_SUCCESS)
		rc = hint(p, count);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (unlikely(atomic_load(&s->capture)))
		return capture_breaks(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	w.gpu_ns = (uint64_t)((double)count / sim_config.pcie);
	stream_submit(s, &w);
	return CUDA_SUCCESS;
}

CUresult do_cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                               CUstream hStream)
{
	return prefetch(devPtr, count, hStream);
}

CUresult do_cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                  unsigned int flags, CUstream hStream)
{
	return prefetch(devPtr, count, hStream);
}
