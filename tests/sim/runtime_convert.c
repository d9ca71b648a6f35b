/* SPDX-License-Identifier: Apache-2.0 */
/* Runtime structures turned into the driver's: copies of two and three dimensions. */
#include <string.h>
#include "tests/sim/runtime.h"

bool rt_kind_valid(enum cudaMemcpyKind kind)
{
	return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

static CUmemorytype source_type(enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToHost:
	case cudaMemcpyHostToDevice:
		return CU_MEMORYTYPE_HOST;
	case cudaMemcpyDeviceToHost:
	case cudaMemcpyDeviceToDevice:
		return CU_MEMORYTYPE_DEVICE;
	default:
		return CU_MEMORYTYPE_UNIFIED;
	}
}

static CUmemorytype target_type(enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToHost:
	case cudaMemcpyDeviceToHost:
		return CU_MEMORYTYPE_HOST;
	case cudaMemcpyHostToDevice:
	case cudaMemcpyDeviceToDevice:
		return CU_MEMORYTYPE_DEVICE;
	default:
		return CU_MEMORYTYPE_UNIFIED;
	}
}

CUDA_MEMCPY2D rt_copy_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return (CUDA_MEMCPY2D){
	        .srcMemoryType = source_type(kind),
	        .srcHost = src,
	        .srcDevice = RT_PTR(src),
	        .srcPitch = src_pitch,
	        .dstMemoryType = target_type(kind),
	        .dstHost = dst,
	        .dstDevice = RT_PTR(dst),
	        .dstPitch = dst_pitch,
	        .WidthInBytes = width,
	        .Height = height,
	};
}

/* Between pitched pointers only: the simulation has no arrays. */
cudaError_t rt_copy_3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *out)
{
	if (!p || !rt_kind_valid(p->kind))
		return cudaErrorInvalidMemcpyDirection;
	if (p->srcArray || p->dstArray)
		return cudaErrorNotSupported;
	if (!p->srcPtr.ptr || !p->dstPtr.ptr)
		return cudaErrorInvalidValue;
	*out = (CUDA_MEMCPY3D){
	        .srcXInBytes = p->srcPos.x,
	        .srcY = p->srcPos.y,
	        .srcZ = p->srcPos.z,
	        .srcMemoryType = source_type(p->kind),
	        .srcHost = p->srcPtr.ptr,
	        .srcDevice = RT_PTR(p->srcPtr.ptr),
	        .srcPitch = p->srcPtr.pitch,
	        .srcHeight = p->srcPtr.ysize,
	        .dstXInBytes = p->dstPos.x,
	        .dstY = p->dstPos.y,
	        .dstZ = p->dstPos.z,
	        .dstMemoryType = target_type(p->kind),
	        .dstHost = p->dstPtr.ptr,
	        .dstDevice = RT_PTR(p->dstPtr.ptr),
	        .dstPitch = p->dstPtr.pitch,
	        .dstHeight = p->dstPtr.ysize,
	        .WidthInBytes = p->extent.width,
	        .Height = p->extent.height,
	        .Depth = p->extent.depth,
	};
	return cudaSuccess;
}
