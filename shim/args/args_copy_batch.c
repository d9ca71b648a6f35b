/* SPDX-License-Identifier: Apache-2.0 */
/* Copies with attributes, and batches of them: each item is a copy of its own. */
#include "shim/args/args_copy_internal.h"

static void copy_async(struct spy_span *s, CUresult rc, struct args_side dst, struct args_side src,
                       size_t n, CUstream stream)
{
	const struct args_transfer c = {dst, src, n, stream, true, -1};

	args_copied(s, rc, &c);
}

#if CUDA_VERSION >= 12080
void args_copy_batch(struct spy_span *s, CUresult rc, CUdeviceptr *dsts, CUdeviceptr *srcs,
                     size_t *sizes, size_t items, CUmemcpyAttributes *attributes, size_t *indices,
                     size_t attribute_count, CUstream stream)
{
	for (size_t i = 0; dsts && srcs && sizes && i < items; i++)
		copy_async(s, rc, args_at(dsts[i]), args_at(srcs[i]), sizes[i], stream);
}

void args_copy_batch_v1(struct spy_span *s, CUresult rc, CUdeviceptr *dsts, CUdeviceptr *srcs,
                        size_t *sizes, size_t items, CUmemcpyAttributes *attributes,
                        size_t *indices, size_t attribute_count, size_t *fail, CUstream stream)
{
	args_copy_batch(s, rc, dsts, srcs, sizes, items, attributes, indices, attribute_count,
	                stream);
}

static struct args_side operand(const CUmemcpy3DOperand *o)
{
	return o->type == CU_MEMCPY_OPERAND_TYPE_POINTER
	               ? args_at(o->op.ptr.ptr)
	               : args_on_device((uintptr_t)o->op.array.array);
}

void args_copy_3d_batch(struct spy_span *s, CUresult rc, size_t items, CUDA_MEMCPY3D_BATCH_OP *ops,
                        unsigned long long flags, CUstream stream)
{
	for (size_t i = 0; ops && i < items; i++)
		copy_async(s, rc, operand(&ops[i].dst), operand(&ops[i].src),
		           ops[i].extent.width * ops[i].extent.height * ops[i].extent.depth,
		           stream);
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
	copy_async(s, rc, args_at(dst), args_at(src), n, stream);
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
static struct args_side fabric_operand(const CUfabricCpyOperand *o)
{
	return is_endpoint(o) ? args_on_device(0) : args_at(o->op.ptr.ptr);
}

void args_copy_fabric_batch(struct spy_span *s, CUresult rc, size_t items,
                            CUDA_FABRIC_COPY_BATCH_OP *ops, unsigned long long flags,
                            CUstream stream)
{
	for (size_t i = 0; ops && i < items; i++) {
		struct args_transfer c = {fabric_operand(&ops[i].dst),
		                          fabric_operand(&ops[i].src),
		                          ops[i].size,
		                          stream,
		                          true,
		                          -1};
		if ((is_endpoint(&ops[i].dst) || is_endpoint(&ops[i].src)) &&
		    !args_is_host(c.dst.memory) && !args_is_host(c.src.memory))
			c.direction = SPY_DIR_PTOP;
		args_copied(s, rc, &c);
	}
}
#endif
