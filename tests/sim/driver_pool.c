/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools and allocation in stream order. */
#include <string.h>
#include "tests/sim/driver_graph.h"

#define POOL_BLOCK (32ull << 20) /* what a pool takes from the device at a time */

static struct sim_pool *pool_get(CUmemoryPool h)
{
	return handle_live(HANDLE_POOL, h) ? (struct sim_pool *)h : NULL;
}

static struct sim_pool *pool_new(struct sim_device *d, bool is_default)
{
	struct sim_pool *p = handle_new(HANDLE_POOL);

	if (!p)
		return NULL;
	p->device = d;
	p->is_default = is_default;
	for (int i = 0; i < 3; i++)
		p->reuse[i] = 1;
	return p;
}

static struct sim_pool *default_pool(struct sim_device *d)
{
	struct sim_pool *p;

	pthread_mutex_lock(&d->lock);
	if (!d->default_pool)
		d->default_pool = pool_new(d, true);
	if (!d->pool)
		d->pool = d->default_pool;
	p = d->default_pool;
	pthread_mutex_unlock(&d->lock);
	return p;
}

static CUresult alloc(CUdeviceptr *dptr, size_t bytes, struct sim_pool *pool, CUstream stream)
{
	struct sim_stream *s;
	uint64_t used;
	CUresult rc = stream_use(stream, &s);

	if (!dptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc != CUDA_SUCCESS)
		return rc;
	if (!pool) {
		default_pool(s->ctx->device);
		pool = s->ctx->device->pool;
	}
	rc = memory_take(s->ctx, MEMORY_POOL, pool, bytes, dptr);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (unlikely(atomic_load(&s->capture))) {
		rc = capture_alloc(s, *dptr, bytes);
		if (rc != CUDA_SUCCESS)
			memory_give((uintptr_t)*dptr);
		return rc;
	}
	pthread_mutex_lock(&pool->device->lock);
	used = pool->used += bytes;
	if (used > pool->used_high)
		pool->used_high = used;
	if (used > pool->reserved)
		pool->reserved = (used + POOL_BLOCK - 1) / POOL_BLOCK * POOL_BLOCK;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	pthread_mutex_unlock(&pool->device->lock);
	sim_cost(sim_config.event_ns);
	sim_total()->allocs++;
	return CUDA_SUCCESS;
}

CUresult do_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	return alloc(dptr, bytesize, NULL, hStream);
}

CUresult do_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                    CUstream hStream)
{
	struct sim_pool *p = pool_get(pool);

	return p ? alloc(dptr, bytesize, p, hStream) : CUDA_ERROR_INVALID_VALUE;
}

/* The address can be handed out again at once: later work is submitted later. */
CUresult do_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	struct memory_range r;
	struct sim_stream *s;
	CUresult rc = stream_use(hStream, &s);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!memory_find((uintptr_t)dptr, &r) || r.start != (uintptr_t)dptr ||
	    (r.kind != MEMORY_POOL && r.kind != MEMORY_DEVICE))
		return CUDA_ERROR_INVALID_VALUE;
	if (unlikely(atomic_load(&s->capture)))
		return capture_free(s, dptr);
	if (r.pool) {
		pthread_mutex_lock(&r.pool->device->lock);
		r.pool->used -= r.bytes;
		pthread_mutex_unlock(&r.pool->device->lock);
	}
	memory_give((uintptr_t)dptr);
	sim_cost(sim_config.event_ns);
	sim_total()->frees++;
	return CUDA_SUCCESS;
}

CUresult do_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
	struct sim_pool *p;

	if (!pool || !poolProps || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(poolProps->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	p = pool_new(&sim_device[poolProps->location.id], false);
	*pool = (CUmemoryPool)p;
	return p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuMemPoolDestroy(CUmemoryPool pool)
{
	struct sim_pool *p = pool_get(pool);

	if (!p || p->is_default)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&p->device->lock);
	if (p->device->pool == p)
		p->device->pool = p->device->default_pool;
	pthread_mutex_unlock(&p->device->lock);
	handle_free(HANDLE_POOL, p);
	return CUDA_SUCCESS;
}

CUresult do_cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
	struct sim_pool *p = pool_get(pool);

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&p->device->lock);
	if (p->reserved > minBytesToKeep)
		p->reserved = p->used > minBytesToKeep ? p->used : minBytesToKeep;
	pthread_mutex_unlock(&p->device->lock);
	return CUDA_SUCCESS;
}

/* Where an attribute lives: its 64-bit or its int form. */
static void *attribute(struct sim_pool *p, CUmemPool_attribute attr, size_t *bytes)
{
	*bytes = sizeof(uint64_t);
	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*bytes = sizeof(int);
		return &p->reuse[attr - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		return &p->release_threshold;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		return &p->reserved;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return &p->reserved_high;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return &p->used;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return &p->used_high;
	default:
		return NULL;
	}
}

CUresult do_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	struct sim_pool *p = pool_get(pool);
	size_t bytes;
	void *at = p ? attribute(p, attr, &bytes) : NULL;

	if (!at || !value)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&p->device->lock);
	memcpy(value, at, bytes);
	pthread_mutex_unlock(&p->device->lock);
	return CUDA_SUCCESS;
}

CUresult do_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	struct sim_pool *p = pool_get(pool);
	size_t bytes;
	void *at = p ? attribute(p, attr, &bytes) : NULL;

	if (!at || !value || attr == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ||
	    attr == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&p->device->lock);
	memcpy(at, value, bytes);
	pthread_mutex_unlock(&p->device->lock);
	return CUDA_SUCCESS;
}

CUresult do_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	return pool_get(pool) && map ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool,
                               CUmemLocation *location)
{
	if (!flags || !location || !pool_get(memPool))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
	if (!pool_out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*pool_out = (CUmemoryPool)default_pool(&sim_device[dev]);
	return *pool_out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	CUresult rc = do_cuDeviceGetDefaultMemPool(pool, dev);

	if (rc == CUDA_SUCCESS)
		*pool = (CUmemoryPool)sim_device[dev].pool;
	return rc;
}

CUresult do_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	struct sim_pool *p = pool_get(pool);

	if (!device_valid(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!p || p->device->ordinal != dev)
		return CUDA_ERROR_INVALID_VALUE;
	default_pool(&sim_device[dev]);
	sim_device[dev].pool = p;
	return CUDA_SUCCESS;
}

CUresult do_cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
                                   CUmemAllocationType type)
{
	if (!location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return do_cuDeviceGetDefaultMemPool(pool_out, location->id);
}

CUresult do_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	if (!location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return do_cuDeviceGetMemPool(pool, location->id);
}

CUresult do_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	if (!location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return do_cuDeviceSetMemPool(location->id, pool);
}
