/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of rows and layers, between pointers and arrays. */
#include <string.h>
#include "tests/sim/driver_copy.h"

struct place {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	size_t x, y, z, pitch, height;
};

static CUresult side_of(struct copy_side *s, const struct place *p, size_t width)
{
	struct sim_array *a;
	size_t pitch = p->pitch ? p->pitch : width, height = p->height;
	uintptr_t base;

	switch (p->type) {
	case CU_MEMORYTYPE_HOST:
		base = (uintptr_t)p->host;
		s->host_only = true;
		break;
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		base = (uintptr_t)p->device;
		break;
	case CU_MEMORYTYPE_ARRAY:
		a = array_get(p->array);
		if (!a)
			return CUDA_ERROR_INVALID_HANDLE;
		base = (uintptr_t)a->memory;
		pitch = a->pitch;
		height = a->desc.Height ? a->desc.Height : 1;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (!base || pitch < width)
		return CUDA_ERROR_INVALID_VALUE;
	s->pitch = pitch;
	s->slice = pitch * (height ? height : 1);
	s->p = base + p->z * s->slice + p->y * pitch + p->x;
	return CUDA_SUCCESS;
}

static CUresult resolve(struct sim_copy *c, const struct place *dst, const struct place *src)
{
	CUresult rc = CUDA_SUCCESS;

	if (!c->width || !c->height || !c->depth)
		return CUDA_SUCCESS;
	rc = side_of(&c->dst, dst, c->width);
	return rc == CUDA_SUCCESS ? side_of(&c->src, src, c->width) : rc;
}

#define PLACE_2D(p, side)                                                                          \
	{                                                                                          \
		(p)->side##MemoryType, (p)->side##Host, (p)->side##Device, (p)->side##Array,       \
		        (p)->side##XInBytes, (p)->side##Y, 0, (p)->side##Pitch, 1                  \
	}
#define PLACE_3D(p, side)                                                                          \
	{                                                                                          \
		(p)->side##MemoryType, (p)->side##Host, (p)->side##Device, (p)->side##Array,       \
		        (p)->side##XInBytes, (p)->side##Y, (p)->side##Z, (p)->side##Pitch,         \
		        (p)->side##Height                                                          \
	}

CUresult copy_from_3d(struct sim_copy *c, const CUDA_MEMCPY3D *p)
{
	struct place dst = PLACE_3D(p, dst), src = PLACE_3D(p, src);

	*c = (struct sim_copy){.width = p->WidthInBytes, .height = p->Height, .depth = p->Depth};
	return resolve(c, &dst, &src);
}

static CUresult copy_2d(CUstream stream, const CUDA_MEMCPY2D *p, bool async)
{
	struct sim_copy c = {.depth = 1};
	CUresult rc;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	c.width = p->WidthInBytes;
	c.height = p->Height;
	rc = resolve(&c, &(struct place)PLACE_2D(p, dst), &(struct place)PLACE_2D(p, src));
	return rc == CUDA_SUCCESS ? copy_on(stream, &c, async) : rc;
}

static CUresult copy_3d(CUstream stream, const CUDA_MEMCPY3D *p, bool async)
{
	struct sim_copy c;
	CUresult rc;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	rc = copy_from_3d(&c, p);
	return rc == CUDA_SUCCESS ? copy_on(stream, &c, async) : rc;
}

static CUresult copy_3d_peer(CUstream stream, const CUDA_MEMCPY3D_PEER *p, bool async)
{
	struct sim_copy c = {0};
	CUresult rc;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	c.width = p->WidthInBytes;
	c.height = p->Height;
	c.depth = p->Depth;
	rc = resolve(&c, &(struct place)PLACE_3D(p, dst), &(struct place)PLACE_3D(p, src));
	return rc == CUDA_SUCCESS ? copy_on(stream, &c, async) : rc;
}

CUresult do_cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
	return copy_2d(NULL, pCopy, false);
}

CUresult do_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
	return copy_2d(NULL, pCopy, false);
}

CUresult do_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
	return copy_2d(hStream, pCopy, true);
}

CUresult do_cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
	return copy_3d(NULL, pCopy, false);
}

CUresult do_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
	return copy_3d(hStream, pCopy, true);
}

CUresult do_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
	return copy_3d_peer(NULL, pCopy, false);
}

CUresult do_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
	return copy_3d_peer(hStream, pCopy, true);
}

/* Elements of a batch are bytes; offsets into arrays count elements of the array. */
static CUresult operand(struct copy_side *s, const CUmemcpy3DOperand *o, const CUextent3D *extent)
{
	struct place p = {.type = CU_MEMORYTYPE_UNIFIED};

	if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
		p.device = o->op.ptr.ptr;
		p.pitch = o->op.ptr.rowLength ? o->op.ptr.rowLength : extent->width;
		p.height = o->op.ptr.layerHeight ? o->op.ptr.layerHeight : extent->height;
	} else {
		p.type = CU_MEMORYTYPE_ARRAY;
		p.array = o->op.array.array;
		p.x = o->op.array.offset.x;
		p.y = o->op.array.offset.y;
		p.z = o->op.array.offset.z;
	}
	return side_of(s, &p, extent->width);
}

static CUresult copy_op(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
	struct sim_copy c = {
	        .width = op->extent.width,
	        .height = op->extent.height,
	        .depth = op->extent.depth,
	};
	CUresult rc = operand(&c.dst, &op->dst, &op->extent);

	if (rc == CUDA_SUCCESS)
		rc = operand(&c.src, &op->src, &op->extent);
	return rc == CUDA_SUCCESS ? copy_on(stream, &c, true) : rc;
}

CUresult do_cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList,
                                    unsigned long long flags, CUstream hStream)
{
	CUresult rc = CUDA_SUCCESS;

	if (!numOps || !opList || flags || !hStream)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < numOps && rc == CUDA_SUCCESS; i++)
		rc = copy_op(&opList[i], hStream);
	return rc;
}

CUresult do_cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags,
                                          CUstream hStream)
{
	return !op || flags ? CUDA_ERROR_INVALID_VALUE : copy_op(op, hStream);
}

CUresult do_cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
                                 unsigned long long flags, CUstream hStream)
{
	return do_cuMemcpy3DBatchAsync_v2(numOps, opList, flags, hStream);
}
