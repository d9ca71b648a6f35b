/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: pitched device memory with a description.  Texture and surface objects over them are
 * handles and nothing more, since no kernel reads them. */
#include "tests/sim/driver_copy.h"

struct sim_array *array_get(CUarray h)
{
	return handle_live(HANDLE_ARRAY, h) ? (struct sim_array *)h : NULL;
}

static size_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	switch (d->Format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return d->NumChannels;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2ull * d->NumChannels;
	default:
		return 4ull * d->NumChannels;
	}
}

CUresult do_cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
	const CUDA_ARRAY3D_DESCRIPTOR *d = pAllocateArray;
	struct sim_ctx *ctx = ctx_current();
	struct sim_array *a;
	size_t rows;
	CUresult rc = capture_unsafe();

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!pHandle || !d || !d->Width ||
	    (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	a = handle_new(HANDLE_ARRAY);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->desc = *d;
	a->ctx = ctx;
	a->pitch = (d->Width * element_bytes(d) + 511) / 512 * 512;
	rows = (d->Height ? d->Height : 1) * (d->Depth ? d->Depth : 1);
	rc = memory_take(ctx, MEMORY_DEVICE, NULL, a->pitch * rows, &a->memory);
	if (rc != CUDA_SUCCESS) {
		handle_free(HANDLE_ARRAY, a);
		return rc;
	}
	sim_cost(sim_config.malloc_ns);
	sim_total()->allocs++;
	*pHandle = (CUarray)a;
	return CUDA_SUCCESS;
}

CUresult do_cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {0};

	if (!pAllocateArray)
		return CUDA_ERROR_INVALID_VALUE;
	d.Width = pAllocateArray->Width;
	d.Height = pAllocateArray->Height;
	d.Format = pAllocateArray->Format;
	d.NumChannels = pAllocateArray->NumChannels;
	return do_cuArray3DCreate_v2(pHandle, &d);
}

CUresult do_cuArrayDestroy(CUarray hArray)
{
	struct sim_array *a = array_get(hArray);
	uint64_t host = 0, tail;
	CUresult rc = capture_unsafe();

	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	if (rc != CUDA_SUCCESS)
		return rc;
	tail = device_tail(a->ctx->device, &host);
	sim_wait(tail, host, false);
	memory_give((uintptr_t)a->memory);
	handle_free(HANDLE_ARRAY, a);
	sim_cost(sim_config.free_ns);
	sim_total()->frees++;
	return CUDA_SUCCESS;
}

CUresult do_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
	struct sim_array *a = array_get(hArray);

	if (!pArrayDescriptor)
		return CUDA_ERROR_INVALID_VALUE;
	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	*pArrayDescriptor = a->desc;
	return CUDA_SUCCESS;
}

CUresult do_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
	struct sim_array *a = array_get(hArray);

	if (!pArrayDescriptor)
		return CUDA_ERROR_INVALID_VALUE;
	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	pArrayDescriptor->Width = a->desc.Width;
	pArrayDescriptor->Height = a->desc.Height;
	pArrayDescriptor->Format = a->desc.Format;
	pArrayDescriptor->NumChannels = a->desc.NumChannels;
	return CUDA_SUCCESS;
}

/* A linear offset into an array, whose rows are pitched. */
static CUresult linear(CUarray h, size_t offset, size_t bytes, CUdeviceptr *out)
{
	struct sim_array *a = array_get(h);

	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	if (offset + bytes > a->pitch * (a->desc.Height ? a->desc.Height : 1))
		return CUDA_ERROR_INVALID_VALUE;
	*out = a->memory + offset;
	return CUDA_SUCCESS;
}

CUresult do_cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                            size_t ByteCount)
{
	CUdeviceptr p;
	CUresult rc = linear(dstArray, dstOffset, ByteCount, &p);

	return rc == CUDA_SUCCESS ? do_cuMemcpyDtoD_v2(p, srcDevice, ByteCount) : rc;
}

CUresult do_cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                            size_t ByteCount)
{
	CUdeviceptr p;
	CUresult rc = linear(srcArray, srcOffset, ByteCount, &p);

	return rc == CUDA_SUCCESS ? do_cuMemcpyDtoD_v2(dstDevice, p, ByteCount) : rc;
}

CUresult do_cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                            size_t ByteCount)
{
	CUdeviceptr p;
	CUresult rc = linear(dstArray, dstOffset, ByteCount, &p);

	return rc == CUDA_SUCCESS ? do_cuMemcpyHtoD_v2(p, srcHost, ByteCount) : rc;
}

CUresult do_cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
	CUdeviceptr p;
	CUresult rc = linear(srcArray, srcOffset, ByteCount, &p);

	return rc == CUDA_SUCCESS ? do_cuMemcpyDtoH_v2(dstHost, p, ByteCount) : rc;
}

CUresult do_cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                            size_t ByteCount)
{
	CUdeviceptr dst, src;
	CUresult rc = linear(dstArray, dstOffset, ByteCount, &dst);

	if (rc == CUDA_SUCCESS)
		rc = linear(srcArray, srcOffset, ByteCount, &src);
	return rc == CUDA_SUCCESS ? do_cuMemcpyDtoD_v2(dst, src, ByteCount) : rc;
}

CUresult do_cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                 size_t ByteCount, CUstream hStream)
{
	CUdeviceptr p;
	CUresult rc = linear(dstArray, dstOffset, ByteCount, &p);

	return rc == CUDA_SUCCESS ? do_cuMemcpyHtoDAsync_v2(p, srcHost, ByteCount, hStream) : rc;
}

CUresult do_cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount, CUstream hStream)
{
	CUdeviceptr p;
	CUresult rc = linear(srcArray, srcOffset, ByteCount, &p);

	return rc == CUDA_SUCCESS ? do_cuMemcpyDtoHAsync_v2(dstHost, p, ByteCount, hStream) : rc;
}

static _Atomic unsigned long long next_object = 1;

CUresult do_cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                              const CUDA_TEXTURE_DESC *pTexDesc,
                              const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
	if (!pTexObject || !pResDesc || !pTexDesc)
		return CUDA_ERROR_INVALID_VALUE;
	*pTexObject = atomic_fetch_add(&next_object, 1);
	return CUDA_SUCCESS;
}

CUresult do_cuTexObjectDestroy(CUtexObject texObject)
{
	return texObject ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
	if (!pSurfObject || !pResDesc)
		return CUDA_ERROR_INVALID_VALUE;
	*pSurfObject = atomic_fetch_add(&next_object, 1);
	return CUDA_SUCCESS;
}

CUresult do_cuSurfObjectDestroy(CUsurfObject surfObject)
{
	return surfObject ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
