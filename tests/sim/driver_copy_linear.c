/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of one run of bytes, and sets. */
#include "tests/sim/driver_copy.h"

enum side { ANY, HOST, DEVICE };

static CUresult linear(CUstream stream, uintptr_t dst, enum side dst_is, uintptr_t src,
                       enum side src_is, size_t bytes, bool async)
{
	struct sim_copy c = {
	        .dst = {.p = dst, .host_only = dst_is == HOST, .device_only = dst_is == DEVICE},
	        .src = {.p = src, .host_only = src_is == HOST, .device_only = src_is == DEVICE},
	        .width = bytes,
	        .height = 1,
	        .depth = 1,
	        .direction = dst_is == HOST   ? TRUTH_D2H
	                     : src_is == HOST ? TRUTH_H2D
	                                      : TRUTH_D2D,
	};

	if (bytes && (!dst || !src))
		return CUDA_ERROR_INVALID_VALUE;
	return copy_on(stream, &c, async);
}

CUresult do_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	return linear(NULL, dst, ANY, src, ANY, ByteCount, false);
}

CUresult do_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
	return linear(hStream, dst, ANY, src, ANY, ByteCount, true);
}

CUresult do_cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
	return linear(NULL, dstDevice, DEVICE, (uintptr_t)srcHost, HOST, ByteCount, false);
}

CUresult do_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                 CUstream hStream)
{
	return linear(hStream, dstDevice, DEVICE, (uintptr_t)srcHost, HOST, ByteCount, true);
}

CUresult do_cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
	return linear(NULL, (uintptr_t)dstHost, HOST, srcDevice, DEVICE, ByteCount, false);
}

CUresult do_cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                 CUstream hStream)
{
	return linear(hStream, (uintptr_t)dstHost, HOST, srcDevice, DEVICE, ByteCount, true);
}

CUresult do_cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
	return linear(NULL, dstDevice, DEVICE, srcDevice, DEVICE, ByteCount, false);
}

CUresult do_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                 CUstream hStream)
{
	return linear(hStream, dstDevice, DEVICE, srcDevice, DEVICE, ByteCount, true);
}

CUresult do_cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                         CUcontext srcContext, size_t ByteCount)
{
	if (!handle_live(HANDLE_CTX, dstContext) || !handle_live(HANDLE_CTX, srcContext))
		return CUDA_ERROR_INVALID_CONTEXT;
	return linear(NULL, dstDevice, DEVICE, srcDevice, DEVICE, ByteCount, false);
}

CUresult do_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                              CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
	if (!handle_live(HANDLE_CTX, dstContext) || !handle_live(HANDLE_CTX, srcContext))
		return CUDA_ERROR_INVALID_CONTEXT;
	return linear(hStream, dstDevice, DEVICE, srcDevice, DEVICE, ByteCount, true);
}

CUresult do_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                  CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                                  CUstream hStream)
{
	CUresult rc = CUDA_SUCCESS;

	if (!dsts || !srcs || !sizes || !count || !hStream)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++)
		rc = linear(hStream, dsts[i], ANY, srcs[i], ANY, sizes[i], true);
	return rc;
}

CUresult do_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                               CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                               size_t *failIdx, CUstream hStream)
{
	CUresult rc = CUDA_SUCCESS;

	if (!dsts || !srcs || !sizes || !count || !hStream)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++) {
		rc = linear(hStream, dsts[i], ANY, srcs[i], ANY, sizes[i], true);
		if (rc != CUDA_SUCCESS && failIdx)
			*failIdx = i;
	}
	return rc;
}

CUresult do_cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t size,
                                        CUmemcpyAttributes *attr, CUstream hStream)
{
	return attr ? linear(hStream, dst, ANY, src, ANY, size, true) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult set(CUstream stream, CUdeviceptr dst, size_t pitch, unsigned value,
                    unsigned value_bytes, size_t width, size_t height, bool async)
{
	struct sim_set s = {
	        .dst = {.p = dst, .pitch = pitch},
	        .value = value,
	        .value_bytes = value_bytes,
	        .width = width * value_bytes,
	        .height = height,
	};

	if (width && height && !dst)
		return CUDA_ERROR_INVALID_VALUE;
	if (dst % value_bytes || (height > 1 && pitch < s.width))
		return CUDA_ERROR_INVALID_VALUE;
	return set_on(stream, &s, async);
}

CUresult do_cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
	return set(NULL, dstDevice, N, uc, 1, N, 1, false);
}

CUresult do_cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
	return set(NULL, dstDevice, N, us, 2, N, 1, false);
}

CUresult do_cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
	return set(NULL, dstDevice, N, ui, 4, N, 1, false);
}

CUresult do_cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                            size_t Height)
{
	return set(NULL, dstDevice, dstPitch, uc, 1, Width, Height, false);
}

CUresult do_cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                             size_t Width, size_t Height)
{
	return set(NULL, dstDevice, dstPitch, us, 2, Width, Height, false);
}

CUresult do_cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                             size_t Height)
{
	return set(NULL, dstDevice, dstPitch, ui, 4, Width, Height, false);
}

CUresult do_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
	return set(hStream, dstDevice, N, uc, 1, N, 1, true);
}

CUresult do_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
	return set(hStream, dstDevice, N, us, 2, N, 1, true);
}

CUresult do_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
	return set(hStream, dstDevice, N, ui, 4, N, 1, true);
}

CUresult do_cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                              size_t Width, size_t Height, CUstream hStream)
{
	return set(hStream, dstDevice, dstPitch, uc, 1, Width, Height, true);
}

CUresult do_cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                               size_t Width, size_t Height, CUstream hStream)
{
	return set(hStream, dstDevice, dstPitch, us, 2, Width, Height, true);
}

CUresult do_cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                               size_t Width, size_t Height, CUstream hStream)
{
	return set(hStream, dstDevice, dstPitch, ui, 4, Width, Height, true);
}
