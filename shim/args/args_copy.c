/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/args/args_copy_internal.h"
#include "shim/record/thread.h"

/* The device's by the name of the call, or managed: whether a blocking copy waits depends on it. */
static struct args_side managed_or_device(uint64_t address)
{
	struct args_side s = args_at(address);

	return s.memory == SPY_MEM_MANAGED ? s : args_on_device(address);
}

/* Host by the name of the call: what is not known as pinned or managed is pageable. */
static struct args_side host(const void *p)
{
	struct args_side s = args_at((uintptr_t)p);

	if (s.memory == SPY_MEM_DEVICE || s.memory == SPY_MEM_UNKNOWN)
		s.memory = SPY_MEM_PAGEABLE;
	return s;
}

/* Managed memory counts as the device's; it names the copy only where no side is plain host memory.
 */
static enum spy_direction direction_of(enum spy_memory dst, enum spy_memory src)
{
	if (dst == SPY_MEM_UNKNOWN || src == SPY_MEM_UNKNOWN)
		return SPY_DIR_UNKNOWN;
	if (args_is_host(src))
		return args_is_host(dst) ? SPY_DIR_HTOH : SPY_DIR_HTOD;
	return args_is_host(dst) ? SPY_DIR_DTOH : SPY_DIR_DTOD;
}

static enum spy_memory memory_of(enum spy_memory dst, enum spy_memory src)
{
	if (dst == SPY_MEM_PAGEABLE || src == SPY_MEM_PAGEABLE)
		return SPY_MEM_PAGEABLE;
	if (dst == SPY_MEM_PINNED || src == SPY_MEM_PINNED)
		return SPY_MEM_PINNED;
	if (dst == SPY_MEM_UNKNOWN || src == SPY_MEM_UNKNOWN)
		return SPY_MEM_UNKNOWN;
	return dst == SPY_MEM_MANAGED || src == SPY_MEM_MANAGED ? SPY_MEM_MANAGED : SPY_MEM_DEVICE;
}

/* One copy given to the GPU, or refused. Inline: each caller below knows most of its arguments. */
static inline __attribute__((always_inline)) void copied(struct spy_span *s, CUresult rc,
                                                         const struct args_transfer *c)
{
	struct spy_span *o = spy_outer();

	if (!spy_recording(o))
		return;
	struct tf_thread *th = spy_tls.thread;
	struct tf_record *r = spy_args_target(s);
	enum spy_direction direction = c->direction >= 0
	                                       ? (enum spy_direction)c->direction
	                                       : direction_of(c->dst.memory, c->src.memory);
	enum spy_memory memory = direction == SPY_DIR_PTOP
	                                 ? SPY_MEM_DEVICE
	                                 : memory_of(c->dst.memory, c->src.memory);
	if (r) {
		r->copy.bytes += c->bytes;
		r->copy.dst = c->dst.address;
		r->copy.src = c->src.address;
		/* `items` and what follows it, as the one word that it will be copied by: see
		 * ring_fill_slot(). */
		_Static_assert(offsetof(struct tf_record, copy.items) == 56 &&
		                       offsetof(struct tf_record, copy.direction) == 58 &&
		                       offsetof(struct tf_record, copy.memory) == 59 &&
		                       offsetof(struct tf_record, copy.async) == 60,
		               "the last word of a copy");
		uint64_t items = r->arg[3] & UINT16_MAX;
		r->arg[3] = (items < UINT16_MAX ? items + 1 : items) | (uint64_t)direction << 16 |
		            (uint64_t)memory << 24 | (uint64_t)c->async << 32;
		r->stream = (uintptr_t)c->stream;
	}
	if (rc != CUDA_SUCCESS)
		return;
	if (c->async && spy_is_captured(s, c->stream)) {
		spy_count(&th->captured[SPY_CLASS_COPY], 1);
		if (r)
			r->flags |= TF_CAPTURED;
		return;
	}
	struct tf_copy_stat *stat = &th->copies[TF_COPY_KIND(direction, memory, c->async)];
	spy_count(&th->items[SPY_CLASS_COPY], 1);
	spy_count(&stat->count, 1);
	spy_count(&stat->bytes, c->bytes);
	spy_count(&th->copy_bytes, c->bytes);
	if (memory == SPY_MEM_PAGEABLE)
		spy_count(&th->pageable_copies, 1);
	o->copy = stat;
}

static inline __attribute__((always_inline)) void copy(struct spy_span *s, CUresult rc,
                                                       struct args_side dst, struct args_side src,
                                                       size_t n, CUstream stream, bool async)
{
	const struct args_transfer c = {dst, src, n, stream, async, -1};

	copied(s, rc, &c);
}

void args_copy(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	copy(s, rc, args_at(dst), args_at(src), n, NULL, false);
}

void args_copy_async(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUdeviceptr src, size_t n,
                     CUstream stream)
{
	copy(s, rc, args_at(dst), args_at(src), n, stream, true);
}

void args_copy_htod(struct spy_span *s, CUresult rc, CUdeviceptr dst, const void *src, size_t n)
{
	copy(s, rc, args_on_device(dst), host(src), n, NULL, false);
}

void args_copy_htod_async(struct spy_span *s, CUresult rc, CUdeviceptr dst, const void *src,
                          size_t n, CUstream stream)
{
	copy(s, rc, args_on_device(dst), host(src), n, stream, true);
}

void args_copy_dtoh(struct spy_span *s, CUresult rc, void *dst, CUdeviceptr src, size_t n)
{
	copy(s, rc, host(dst), args_on_device(src), n, NULL, false);
}

void args_copy_dtoh_async(struct spy_span *s, CUresult rc, void *dst, CUdeviceptr src, size_t n,
                          CUstream stream)
{
	copy(s, rc, host(dst), args_on_device(src), n, stream, true);
}

void args_copy_dtod(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	copy(s, rc, managed_or_device(dst), managed_or_device(src), n, NULL, false);
}

void args_copy_dtod_async(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUdeviceptr src,
                          size_t n, CUstream stream)
{
	copy(s, rc, args_on_device(dst), args_on_device(src), n, stream, true);
}

void args_copy_dtoa(struct spy_span *s, CUresult rc, CUarray dst, size_t offset, CUdeviceptr src,
                    size_t n)
{
	copy(s, rc, args_on_device((uintptr_t)dst), args_on_device(src), n, NULL, false);
}

void args_copy_atod(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUarray src, size_t offset,
                    size_t n)
{
	copy(s, rc, args_on_device(dst), args_on_device((uintptr_t)src), n, NULL, false);
}

void args_copy_htoa(struct spy_span *s, CUresult rc, CUarray dst, size_t offset, const void *src,
                    size_t n)
{
	copy(s, rc, args_on_device((uintptr_t)dst), host(src), n, NULL, false);
}

void args_copy_htoa_async(struct spy_span *s, CUresult rc, CUarray dst, size_t offset,
                          const void *src, size_t n, CUstream stream)
{
	copy(s, rc, args_on_device((uintptr_t)dst), host(src), n, stream, true);
}

void args_copy_atoh(struct spy_span *s, CUresult rc, void *dst, CUarray src, size_t offset,
                    size_t n)
{
	copy(s, rc, host(dst), args_on_device((uintptr_t)src), n, NULL, false);
}

void args_copy_atoh_async(struct spy_span *s, CUresult rc, void *dst, CUarray src, size_t offset,
                          size_t n, CUstream stream)
{
	copy(s, rc, host(dst), args_on_device((uintptr_t)src), n, stream, true);
}

void args_copy_atoa(struct spy_span *s, CUresult rc, CUarray dst, size_t to, CUarray src,
                    size_t from, size_t n)
{
	copy(s, rc, args_on_device((uintptr_t)dst), args_on_device((uintptr_t)src), n, NULL, false);
}

/* ---- between devices ---- */

void args_copy_peer_async(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUcontext to,
                          CUdeviceptr src, CUcontext from, size_t n, CUstream stream)
{
	const struct args_transfer c = {args_on_device(dst),
	                                args_on_device(src),
	                                n,
	                                stream,
	                                true,
	                                to == from ? SPY_DIR_DTOD : SPY_DIR_PTOP};

	copied(s, rc, &c);
}

void args_copy_peer(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUcontext to, CUdeviceptr src,
                    CUcontext from, size_t n)
{
	const struct args_transfer c = {args_on_device(dst),
	                                args_on_device(src),
	                                n,
	                                NULL,
	                                false,
	                                to == from ? SPY_DIR_DTOD : SPY_DIR_PTOP};

	copied(s, rc, &c);
}

/* ---- two and three dimensions ---- */

static struct args_side described(CUmemorytype type, const void *host_address,
                                  CUdeviceptr device_address, CUarray array)
{
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		return host(host_address);
	case CU_MEMORYTYPE_ARRAY:
		return args_on_device((uintptr_t)array);
	case CU_MEMORYTYPE_UNIFIED:
		return args_at(device_address);
	default:
		return args_on_device(device_address);
	}
}

static void copied_2d(struct spy_span *s, CUresult rc, const CUDA_MEMCPY2D *p, CUstream stream,
                      bool async)
{
	if (p)
		copy(s, rc, described(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray),
		     described(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray),
		     p->WidthInBytes * p->Height, stream, async);
}

void args_copy_2d(struct spy_span *s, CUresult rc, const CUDA_MEMCPY2D *p)
{
	copied_2d(s, rc, p, NULL, false);
}

void args_copy_2d_async(struct spy_span *s, CUresult rc, const CUDA_MEMCPY2D *p, CUstream stream)
{
	copied_2d(s, rc, p, stream, true);
}

static void copied_3d(struct spy_span *s, CUresult rc, const CUDA_MEMCPY3D *p, CUstream stream,
                      bool async)
{
	if (p)
		copy(s, rc, described(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray),
		     described(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray),
		     p->WidthInBytes * p->Height * p->Depth, stream, async);
}

void args_copy_3d(struct spy_span *s, CUresult rc, const CUDA_MEMCPY3D *p)
{
	copied_3d(s, rc, p, NULL, false);
}

void args_copy_3d_async(struct spy_span *s, CUresult rc, const CUDA_MEMCPY3D *p, CUstream stream)
{
	copied_3d(s, rc, p, stream, true);
}

static void copied_3d_peer(struct spy_span *s, CUresult rc, const CUDA_MEMCPY3D_PEER *p,
                           CUstream stream, bool async)
{
	if (!p)
		return;
	struct args_transfer c = {
	        described(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray),
	        described(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray),
	        p->WidthInBytes * p->Height * p->Depth,
	        stream,
	        async,
	        -1};
	if (!args_is_host(c.dst.memory) && !args_is_host(c.src.memory) &&
	    p->dstContext != p->srcContext)
		c.direction = SPY_DIR_PTOP;
	copied(s, rc, &c);
}

void args_copy_3d_peer(struct spy_span *s, CUresult rc, const CUDA_MEMCPY3D_PEER *p)
{
	copied_3d_peer(s, rc, p, NULL, false);
}

void args_copy_3d_peer_async(struct spy_span *s, CUresult rc, const CUDA_MEMCPY3D_PEER *p,
                             CUstream stream)
{
	copied_3d_peer(s, rc, p, stream, true);
}

void args_copied(struct spy_span *s, CUresult rc, const struct args_transfer *c)
{
	copied(s, rc, c);
}
