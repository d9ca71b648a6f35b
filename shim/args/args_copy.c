/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/args/args.h"
#include "shim/handles/memory_map.h"
#include "shim/record/thread.h"

/* One side of a copy: where it is, and in which kind of memory. */
struct side {
	uint64_t address;
	enum spy_memory memory; /* PAGEABLE, PINNED: host; DEVICE (arrays too); MANAGED */
};

static struct side at(uint64_t address)
{
	return (struct side){address, memory_map_find(address)};
}

static struct side device(uint64_t address)
{
	return (struct side){address, SPY_MEM_DEVICE};
}

/* The device's by the name of the call, or managed: whether a blocking copy waits depends on it. */
static struct side managed_or_device(uint64_t address)
{
	struct side s = at(address);

	return s.memory == SPY_MEM_MANAGED ? s : device(address);
}

/* Host by the name of the call: what is not known as pinned or managed is pageable. */
static struct side host(const void *p)
{
	struct side s = at((uintptr_t)p);

	if (s.memory == SPY_MEM_DEVICE || s.memory == SPY_MEM_UNKNOWN)
		s.memory = SPY_MEM_PAGEABLE;
	return s;
}

static bool is_host(enum spy_memory m)
{
	return m == SPY_MEM_PAGEABLE || m == SPY_MEM_PINNED;
}

/* Managed memory counts as the device's; it names the copy only where no side is plain host memory.
 */
static enum spy_direction direction_of(enum spy_memory dst, enum spy_memory src)
{
	if (dst == SPY_MEM_UNKNOWN || src == SPY_MEM_UNKNOWN)
		return SPY_DIR_UNKNOWN;
	if (is_host(src))
		return is_host(dst) ? SPY_DIR_HTOH : SPY_DIR_HTOD;
	return is_host(dst) ? SPY_DIR_DTOH : SPY_DIR_DTOD;
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

struct copy {
	struct side dst, src;
	uint64_t bytes;
	CUstream stream;
	bool async;
	int direction; /* enum spy_direction, -1: follows from the sides */
};

/* One copy given to the GPU, or refused. In line: each of the notes below knows most of it. */
static inline __attribute__((always_inline)) void copied(struct spy_span *s, CUresult rc,
                                                         const struct copy *c)
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
                                                       struct side dst, struct side src, size_t n,
                                                       CUstream stream, bool async)
{
	const struct copy c = {dst, src, n, stream, async, -1};

	copied(s, rc, &c);
}

void args_copy(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	copy(s, rc, at(dst), at(src), n, NULL, false);
}

void args_copy_async(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUdeviceptr src, size_t n,
                     CUstream stream)
{
	copy(s, rc, at(dst), at(src), n, stream, true);
}

void args_copy_htod(struct spy_span *s, CUresult rc, CUdeviceptr dst, const void *src, size_t n)
{
	copy(s, rc, device(dst), host(src), n, NULL, false);
}

void args_copy_htod_async(struct spy_span *s, CUresult rc, CUdeviceptr dst, const void *src,
                          size_t n, CUstream stream)
{
	copy(s, rc, device(dst), host(src), n, stream, true);
}

void args_copy_dtoh(struct spy_span *s, CUresult rc, void *dst, CUdeviceptr src, size_t n)
{
	copy(s, rc, host(dst), device(src), n, NULL, false);
}

void args_copy_dtoh_async(struct spy_span *s, CUresult rc, void *dst, CUdeviceptr src, size_t n,
                          CUstream stream)
{
	copy(s, rc, host(dst), device(src), n, stream, true);
}

void args_copy_dtod(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	copy(s, rc, managed_or_device(dst), managed_or_device(src), n, NULL, false);
}

void args_copy_dtod_async(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUdeviceptr src,
                          size_t n, CUstream stream)
{
	copy(s, rc, device(dst), device(src), n, stream, true);
}

void args_copy_dtoa(struct spy_span *s, CUresult rc, CUarray dst, size_t offset, CUdeviceptr src,
                    size_t n)
{
	copy(s, rc, device((uintptr_t)dst), device(src), n, NULL, false);
}

void args_copy_atod(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUarray src, size_t offset,
                    size_t n)
{
	copy(s, rc, device(dst), device((uintptr_t)src), n, NULL, false);
}

void args_copy_htoa(struct spy_span *s, CUresult rc, CUarray dst, size_t offset, const void *src,
                    size_t n)
{
	copy(s, rc, device((uintptr_t)dst), host(src), n, NULL, false);
}

void args_copy_htoa_async(struct spy_span *s, CUresult rc, CUarray dst, size_t offset,
                          const void *src, size_t n, CUstream stream)
{
	copy(s, rc, device((uintptr_t)dst), host(src), n, stream, true);
}

void args_copy_atoh(struct spy_span *s, CUresult rc, void *dst, CUarray src, size_t offset,
                    size_t n)
{
	copy(s, rc, host(dst), device((uintptr_t)src), n, NULL, false);
}

void args_copy_atoh_async(struct spy_span *s, CUresult rc, void *dst, CUarray src, size_t offset,
                          size_t n, CUstream stream)
{
	copy(s, rc, host(dst), device((uintptr_t)src), n, stream, true);
}

void args_copy_atoa(struct spy_span *s, CUresult rc, CUarray dst, size_t to, CUarray src,
                    size_t from, size_t n)
{
	copy(s, rc, device((uintptr_t)dst), device((uintptr_t)src), n, NULL, false);
}

/* ---- between devices ---- */

void args_copy_peer_async(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUcontext to,
                          CUdeviceptr src, CUcontext from, size_t n, CUstream stream)
{
	const struct copy c = {device(dst), device(src), n,
	                       stream,      true,        to == from ? SPY_DIR_DTOD : SPY_DIR_PTOP};

	copied(s, rc, &c);
}

void args_copy_peer(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUcontext to, CUdeviceptr src,
                    CUcontext from, size_t n)
{
	const struct copy c = {device(dst), device(src), n,
	                       NULL,        false,       to == from ? SPY_DIR_DTOD : SPY_DIR_PTOP};

	copied(s, rc, &c);
}

/* ---- two and three dimensions ---- */

static struct side described(CUmemorytype type, const void *host_address,
                             CUdeviceptr device_address, CUarray array)
{
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		return host(host_address);
	case CU_MEMORYTYPE_ARRAY:
		return device((uintptr_t)array);
	case CU_MEMORYTYPE_UNIFIED:
		return at(device_address);
	default:
		return device(device_address);
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
	struct copy c = {described(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray),
	                 described(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray),
	                 p->WidthInBytes * p->Height * p->Depth,
	                 stream,
	                 async,
	                 -1};
	if (!is_host(c.dst.memory) && !is_host(c.src.memory) && p->dstContext != p->srcContext)
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

/* ---- batches: each item is a copy of its own ---- */

#if CUDA_VERSION >= 12080
void args_copy_batch(struct spy_span *s, CUresult rc, CUdeviceptr *dsts, CUdeviceptr *srcs,
                     size_t *sizes, size_t items, CUmemcpyAttributes *attributes, size_t *indices,
                     size_t attribute_count, CUstream stream)
{
	for (size_t i = 0; dsts && srcs && sizes && i < items; i++)
		copy(s, rc, at(dsts[i]), at(srcs[i]), sizes[i], stream, true);
}

void args_copy_batch_v1(struct spy_span *s, CUresult rc, CUdeviceptr *dsts, CUdeviceptr *srcs,
                        size_t *sizes, size_t items, CUmemcpyAttributes *attributes,
                        size_t *indices, size_t attribute_count, size_t *fail, CUstream stream)
{
	args_copy_batch(s, rc, dsts, srcs, sizes, items, attributes, indices, attribute_count,
	                stream);
}

static struct side operand(const CUmemcpy3DOperand *o)
{
	return o->type == CU_MEMCPY_OPERAND_TYPE_POINTER ? at(o->op.ptr.ptr)
	                                                 : device((uintptr_t)o->op.array.array);
}

void args_copy_3d_batch(struct spy_span *s, CUresult rc, size_t items, CUDA_MEMCPY3D_BATCH_OP *ops,
                        unsigned long long flags, CUstream stream)
{
	for (size_t i = 0; ops && i < items; i++)
		copy(s, rc, operand(&ops[i].dst), operand(&ops[i].src),
		     ops[i].extent.width * ops[i].extent.height * ops[i].extent.depth, stream,
		     true);
}

void args_copy_3d_batch_v1(struct spy_span *s, CUresult rc, size_t items,
                           CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, unsigned long long flags,
                           CUstream stream)
{
	args_copy_3d_batch(s, rc, items, ops, flags, stream);
}

void args_copy_attributes(struct spy_span *s, CUresult rc, CUdeviceptr dst, CUdeviceptr src,
                          size_t n, CUmemcpyAttributes *attributes, CUstream stream)
{
	copy(s, rc, at(dst), at(src), n, stream, true);
}

void args_copy_3d_attributes(struct spy_span *s, CUresult rc, CUDA_MEMCPY3D_BATCH_OP *op,
                             unsigned long long flags, CUstream stream)
{
	args_copy_3d_batch(s, rc, 1, op, flags, stream);
}
#endif

#if CUDA_VERSION >= 13050
static bool is_endpoint(const CUfabricCpyOperand *o)
{
	return o->type == CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT;
}

/* A logical endpoint is memory of other devices, and has an id instead of an address. */
static struct side fabric_operand(const CUfabricCpyOperand *o)
{
	return is_endpoint(o) ? device(0) : at(o->op.ptr.ptr);
}

void args_copy_fabric_batch(struct spy_span *s, CUresult rc, size_t items,
                            CUDA_FABRIC_COPY_BATCH_OP *ops, unsigned long long flags,
                            CUstream stream)
{
	for (size_t i = 0; ops && i < items; i++) {
		struct copy c = {fabric_operand(&ops[i].dst),
		                 fabric_operand(&ops[i].src),
		                 ops[i].size,
		                 stream,
		                 true,
		                 -1};
		if ((is_endpoint(&ops[i].dst) || is_endpoint(&ops[i].src)) &&
		    !is_host(c.dst.memory) && !is_host(c.src.memory))
			c.direction = SPY_DIR_PTOP;
		copied(s, rc, &c);
	}
}
#endif
