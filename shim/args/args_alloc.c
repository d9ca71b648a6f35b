/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/args/args.h"
#include "shim/handles/contexts.h"
#include "shim/handles/memory_map.h"
#include "shim/handles/registry.h"

/*
 * Ranges of memory are learned after an allocation succeeded and forgotten before a free is made:
 * from its return on another thread may get the same addresses. A free that fails gives its range
 * back.
 */

static void fill(struct spy_span *s, uint64_t address, uint64_t bytes, enum spy_memory memory,
                 bool is_free)
{
	struct tf_record *r = spy_args_target(s);

	if (!r)
		return;
	r->alloc.address = address;
	r->alloc.bytes = bytes;
	r->alloc.memory = (uint8_t)memory;
	r->alloc.is_free = is_free;
	r->alloc.reserved[0] = 0;
}

static void gained(struct spy_span *s, CUresult rc, uint64_t address, uint64_t bytes,
                   enum spy_memory memory, bool sized)
{
	if (rc != CUDA_SUCCESS || !address) {
		fill(s, 0, bytes, memory, false);
		return;
	}
	const struct memory_range range = {address, address + bytes, contexts_current(), memory,
	                                   sized};
	memory_map_add(&range);
	fill(s, address, sized ? bytes : 0, memory, false);
	if (sized && memory == SPY_MEM_DEVICE && spy_recording(spy_outer()))
		spy_count(&spy_tls.thread->allocated_bytes, bytes);
}

/* Between before_X() and args_X() the span keeps the forgotten range. */
static void forget(struct spy_span *s, uint64_t address)
{
	struct memory_range range = {0};

	memory_map_remove(address, &range);
	s->kept[0] = range.start;
	s->kept[1] = range.end;
	s->kept[2] = range.context;
	s->kept[3] = (uint64_t)range.sized << 32 | range.memory;
}

static void lost(struct spy_span *s, CUresult rc, uint64_t address)
{
	const struct memory_range range = {s->kept[0], s->kept[1], s->kept[2], (uint32_t)s->kept[3],
	                                   s->kept[3] >> 32};
	uint64_t bytes = range.sized ? range.end - range.start : 0;

	if (rc != CUDA_SUCCESS && range.start)
		memory_map_add(&range);
	else if (range.memory == SPY_MEM_DEVICE && spy_recording(spy_outer()))
		spy_count(&spy_tls.thread->freed_bytes, bytes);
	fill(s, address, bytes, range.start ? range.memory : SPY_MEM_UNKNOWN, true);
}

/* ---- device ---- */

void args_alloc(struct spy_span *s, CUresult rc, CUdeviceptr *p, size_t n)
{
	gained(s, rc, rc == CUDA_SUCCESS && p ? *p : 0, n, SPY_MEM_DEVICE, true);
}

void args_alloc_pitch(struct spy_span *s, CUresult rc, CUdeviceptr *p, size_t *pitch, size_t width,
                      size_t height, unsigned element)
{
	size_t row = rc == CUDA_SUCCESS && pitch ? *pitch : width;

	gained(s, rc, rc == CUDA_SUCCESS && p ? *p : 0, row * height, SPY_MEM_DEVICE, true);
}

void args_alloc_managed(struct spy_span *s, CUresult rc, CUdeviceptr *p, size_t n, unsigned flags)
{
	gained(s, rc, rc == CUDA_SUCCESS && p ? *p : 0, n, SPY_MEM_MANAGED, true);
}

/* Whether a graph will allocate or free instead of this call: it counts as no allocation. */
static bool goes_into_graph(struct spy_span *s, CUresult rc, CUstream stream)
{
	struct spy_span *o = spy_outer();

	if (rc != CUDA_SUCCESS || !spy_recording(o) || !spy_is_captured(s, stream))
		return false;
	spy_count(&spy_tls.thread->captured[SPY_CLASS_ALLOC], 1);
	if (o->cls == s->cls)
		o->rec->flags |= TF_CAPTURED;
	return true;
}

/* Under capture the address is a promise of the graph, whose memory is no part of what is allocated
 * and freed; it is device memory all the same. */
void args_alloc_async(struct spy_span *s, CUresult rc, CUdeviceptr *p, size_t n, CUstream stream)
{
	bool sized = !goes_into_graph(s, rc, stream);

	gained(s, rc, rc == CUDA_SUCCESS && p ? *p : 0, n, SPY_MEM_DEVICE, sized);
	args_stream(s, rc, stream);
}

void args_alloc_from_pool(struct spy_span *s, CUresult rc, CUdeviceptr *p, size_t n,
                          CUmemoryPool pool, CUstream stream)
{
	args_alloc_async(s, rc, p, n, stream);
}

void before_free(struct spy_span *s, CUdeviceptr p)
{
	forget(s, p);
}

void args_free(struct spy_span *s, CUresult rc, CUdeviceptr p)
{
	lost(s, rc, p);
}

void before_free_async(struct spy_span *s, CUdeviceptr p, CUstream stream)
{
	forget(s, p);
}

/* What a graph frees, it frees again at each launch: the range stays known. */
void args_free_async(struct spy_span *s, CUresult rc, CUdeviceptr p, CUstream stream)
{
	if (goes_into_graph(s, rc, stream)) {
		const struct memory_range range = {s->kept[0], s->kept[1], s->kept[2],
		                                   (uint32_t)s->kept[3], false};
		if (range.start)
			memory_map_add(&range);
		fill(s, p, 0, range.start ? range.memory : SPY_MEM_UNKNOWN, true);
	} else {
		lost(s, rc, p);
	}
	args_stream(s, rc, stream);
}

/* ---- host ---- */

void args_alloc_host(struct spy_span *s, CUresult rc, void **p, size_t n)
{
	gained(s, rc, rc == CUDA_SUCCESS && p ? (uintptr_t)*p : 0, n, SPY_MEM_PINNED, true);
}

void args_alloc_host_flags(struct spy_span *s, CUresult rc, void **p, size_t n, unsigned flags)
{
	args_alloc_host(s, rc, p, n);
}

void args_host_register(struct spy_span *s, CUresult rc, void *p, size_t n, unsigned flags)
{
	gained(s, rc, (uintptr_t)p, n, SPY_MEM_PINNED, true);
}

void before_host_unregister(struct spy_span *s, void *p)
{
	forget(s, (uintptr_t)p);
}

void args_host_unregister(struct spy_span *s, CUresult rc, void *p)
{
	lost(s, rc, (uintptr_t)p);
}

void before_free_host(struct spy_span *s, void *p)
{
	forget(s, (uintptr_t)p);
}

void args_free_host(struct spy_span *s, CUresult rc, void *p)
{
	lost(s, rc, (uintptr_t)p);
}

/* ---- virtual memory: the kind belongs to the physical memory, the address to the mapping ---- */

void args_physical_create(struct spy_span *s, CUresult rc, CUmemGenericAllocationHandle *handle,
                          size_t n, const CUmemAllocationProp *prop, unsigned long long flags)
{
	enum spy_memory memory = prop && prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE
	                                 ? SPY_MEM_PINNED
	                                 : SPY_MEM_DEVICE;

	if (rc == CUDA_SUCCESS && handle)
		registry_put(HANDLE_PHYSICAL, *handle, memory, 0, 0);
	fill(s, 0, n, memory, false);
}

void before_physical_release(struct spy_span *s, CUmemGenericAllocationHandle handle)
{
	registry_drop(HANDLE_PHYSICAL, handle);
}

void args_physical_release(struct spy_span *s, CUresult rc, CUmemGenericAllocationHandle handle)
{
	fill(s, 0, 0, SPY_MEM_UNKNOWN, true);
}

void args_map(struct spy_span *s, CUresult rc, CUdeviceptr p, size_t n, size_t offset,
              CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	uint32_t memory = SPY_MEM_DEVICE;

	registry_get(HANDLE_PHYSICAL, handle, &memory);
	gained(s, rc, p, n, memory, true);
}

/* May cover several mappings, whole ones only. */
void before_unmap(struct spy_span *s, CUdeviceptr p, size_t n)
{
	struct memory_range range;

	s->kept[0] = 0;
	for (CUdeviceptr at = p; at < p + n && memory_map_remove(at, &range); at = range.end)
		s->kept[0] += range.end - range.start;
}

void args_unmap(struct spy_span *s, CUresult rc, CUdeviceptr p, size_t n)
{
	uint64_t bytes = s->kept[0];

	if (rc != CUDA_SUCCESS) {
		const struct memory_range range = {p, p + n, contexts_current(), SPY_MEM_DEVICE,
		                                   true};
		if (bytes)
			memory_map_add(&range);
	} else if (spy_recording(spy_outer())) {
		spy_tls.thread->freed_bytes += bytes;
	}
	fill(s, p, bytes, SPY_MEM_DEVICE, true);
}

/* ---- from elsewhere: the address is known, the size is not ---- */

#define GUESSED_BYTES (2u << 20) /* what an exporter allocates at least */

void args_ipc_open(struct spy_span *s, CUresult rc, CUdeviceptr *p, CUipcMemHandle handle,
                   unsigned flags)
{
	gained(s, rc, rc == CUDA_SUCCESS && p ? *p : 0, GUESSED_BYTES, SPY_MEM_DEVICE, false);
}

void before_ipc_close(struct spy_span *s, CUdeviceptr p)
{
	forget(s, p);
}

void args_ipc_close(struct spy_span *s, CUresult rc, CUdeviceptr p)
{
	lost(s, rc, p);
}

void args_pool_import(struct spy_span *s, CUresult rc, CUdeviceptr *p, CUmemoryPool pool,
                      CUmemPoolPtrExportData *data)
{
	gained(s, rc, rc == CUDA_SUCCESS && p ? *p : 0, GUESSED_BYTES, SPY_MEM_DEVICE, false);
}

void args_external_buffer(struct spy_span *s, CUresult rc, CUdeviceptr *p, CUexternalMemory memory,
                          const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
	gained(s, rc, rc == CUDA_SUCCESS && p ? *p : 0, desc ? desc->size : 0, SPY_MEM_DEVICE,
	       true);
}

void args_graphics_pointer(struct spy_span *s, CUresult rc, CUdeviceptr *p, size_t *n,
                           CUgraphicsResource resource)
{
	if (rc == CUDA_SUCCESS && p && n && *p) {
		const struct memory_range range = {*p, *p + *n, 0, SPY_MEM_DEVICE, true};
		memory_map_add(&range);
	}
}
