/* SPDX-License-Identifier: Apache-2.0 */
/* Copies.  Compiled twice for the two kinds of default stream. */
#include "tests/sim/runtime.h"

/* Bytes 0 never reach the driver. */
static cudaError_t copy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	cudaError_t rc = rt_enter();

	if (rc != cudaSuccess || bytes == 0)
		return rc;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return (cudaError_t)DRV(cuMemcpyHtoD)(RT_PTR(dst), src, bytes);
	case cudaMemcpyDeviceToHost:
		return (cudaError_t)DRV(cuMemcpyDtoH)(dst, RT_PTR(src), bytes);
	case cudaMemcpyDeviceToDevice:
		return (cudaError_t)DRV(cuMemcpyDtoD)(RT_PTR(dst), RT_PTR(src), bytes);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return (cudaError_t)DRV(cuMemcpy)(RT_PTR(dst), RT_PTR(src), bytes);
	default:
		return cudaErrorInvalidMemcpyDirection;
	}
}

static cudaError_t copy_async(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
	cudaError_t rc = rt_enter();

	if (rc != cudaSuccess || bytes == 0)
		return rc;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return (cudaError_t)DRV(cuMemcpyHtoDAsync)(RT_PTR(dst), src, bytes, stream);
	case cudaMemcpyDeviceToHost:
		return (cudaError_t)DRV(cuMemcpyDtoHAsync)(dst, RT_PTR(src), bytes, stream);
	case cudaMemcpyDeviceToDevice:
		return (cudaError_t)DRV(cuMemcpyDtoDAsync)(RT_PTR(dst), RT_PTR(src), bytes, stream);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return (cudaError_t)DRV(cuMemcpyAsync)(RT_PTR(dst), RT_PTR(src), bytes, stream);
	default:
		return cudaErrorInvalidMemcpyDirection;
	}
}

SIM_API cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	return rt_leave(copy(dst, src, bytes, kind));
}

SIM_API cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes,
                                    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_leave(copy_async(dst, src, bytes, kind, stream));
}

static cudaError_t check_2d(size_t dst_pitch, size_t src_pitch, size_t width,
                            enum cudaMemcpyKind kind)
{
	if (!rt_kind_valid(kind))
		return cudaErrorInvalidMemcpyDirection;
	if (width > dst_pitch || width > src_pitch)
		return cudaErrorInvalidPitchValue;
	return rt_enter();
}

SIM_API cudaError_t cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                                 size_t width, size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D c = rt_copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind);
	cudaError_t rc = check_2d(dst_pitch, src_pitch, width, kind);

	if (rc == cudaSuccess && width && height)
		rc = (cudaError_t)DRV(cuMemcpy2DUnaligned)(&c);
	return rt_leave(rc);
}

SIM_API cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src,
                                      size_t src_pitch, size_t width, size_t height,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUDA_MEMCPY2D c = rt_copy_2d(dst, dst_pitch, src, src_pitch, width, height, kind);
	cudaError_t rc = check_2d(dst_pitch, src_pitch, width, kind);

	if (rc == cudaSuccess && width && height)
		rc = (cudaError_t)DRV(cuMemcpy2DAsync)(&c, stream);
	return rt_leave(rc);
}

SIM_API cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;

	return rt_leave(rt_enter() ?: rt_copy_3d(p, &c) ?: (cudaError_t)DRV(cuMemcpy3D)(&c));
}

SIM_API cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	CUDA_MEMCPY3D c;

	return rt_leave(rt_enter() ?: rt_copy_3d(p, &c) ?:
			(cudaError_t)DRV(cuMemcpy3DAsync)(&c, stream));
}

/* The place in a variable where a copy starts. */
static cudaError_t within(const void *symbol, size_t offset, size_t bytes, void **place)
{
	CUdeviceptr address;
	size_t size;
	cudaError_t rc = rt_enter() ?: rt_variable(symbol, &address, &size);

	if (rc != cudaSuccess)
		return rc;
	if (offset > size || bytes > size - offset)
		return cudaErrorInvalidValue;
	*place = (void *)(uintptr_t)(address + offset);
	return cudaSuccess;
}

SIM_API cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes,
                                       size_t offset, enum cudaMemcpyKind kind)
{
	void *dst;

	return rt_leave(within(symbol, offset, bytes, &dst) ?: copy(dst, src, bytes, kind));
}

SIM_API cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset,
                                         enum cudaMemcpyKind kind)
{
	void *src;

	return rt_leave(within(symbol, offset, bytes, &src) ?: copy(dst, src, bytes, kind));
}

SIM_API cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes,
                                            size_t offset, enum cudaMemcpyKind kind,
                                            cudaStream_t stream)
{
	void *dst;

	return rt_leave(within(symbol, offset, bytes, &dst)
	                        ?: copy_async(dst, src, bytes, kind, stream));
}

SIM_API cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t bytes,
                                              size_t offset, enum cudaMemcpyKind kind,
                                              cudaStream_t stream)
{
	void *src;

	return rt_leave(within(symbol, offset, bytes, &src)
	                        ?: copy_async(dst, src, bytes, kind, stream));
}

/* Between devices there is only the legacy form. */
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
static cudaError_t contexts(int dst_device, int src_device, CUcontext *dst, CUcontext *src)
{
	return rt_enter() ?: rt_context_of(dst_device, dst) ?: rt_context_of(src_device, src);
}

SIM_API cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device,
                                   size_t bytes)
{
	CUcontext to, from;

	return rt_leave(contexts(dst_device, src_device, &to, &from)
	                        ?: (cudaError_t)DRV(cuMemcpyPeer)(RT_PTR(dst), to, RT_PTR(src),
	                                                          from, bytes));
}

SIM_API cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
                                        size_t bytes, cudaStream_t stream)
{
	CUcontext to, from;

	return rt_leave(contexts(dst_device, src_device, &to, &from)
	                        ?: (cudaError_t)DRV(cuMemcpyPeerAsync)(RT_PTR(dst), to, RT_PTR(src),
	                                                               from, bytes, stream));
}
#endif
