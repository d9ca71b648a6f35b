/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: allocated, freed, registered, asked about.  What is ordered in a stream is elsewhere. */
#include <string.h>
#include "tests/sim/runtime.h"

/* A row of a pitched allocation holds elements of this size, as far as alignment goes. */
#define PITCH_ELEMENT_BYTES 4

/* The real runtime answers an empty request itself. */
SIM_API cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
	CUdeviceptr address = 0;
	cudaError_t rc = ptr ? rt_enter() : cudaErrorInvalidValue;

	if (rc == cudaSuccess && bytes)
		rc = (cudaError_t)DRV(cuMemAlloc)(&address, bytes);
	if (rc == cudaSuccess)
		*ptr = (void *)(uintptr_t)address;
	return rt_leave(rc);
}

SIM_API cudaError_t cudaFree(void *ptr)
{
	cudaError_t rc = rt_enter();

	if (rc == cudaSuccess && ptr)
		rc = (cudaError_t)DRV(cuMemFree)(RT_PTR(ptr));
	return rt_leave(rc);
}

SIM_API cudaError_t cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
	CUdeviceptr address = 0;
	cudaError_t rc = ptr && pitch ? rt_enter() : cudaErrorInvalidValue;

	if (rc == cudaSuccess && width && height)
		rc = (cudaError_t)DRV(cuMemAllocPitch)(&address, pitch, width, height,
		                                       PITCH_ELEMENT_BYTES);
	else if (rc == cudaSuccess)
		*pitch = 0;
	if (rc == cudaSuccess)
		*ptr = (void *)(uintptr_t)address;
	return rt_leave(rc);
}

SIM_API cudaError_t cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
	cudaError_t rc;

	if (!out)
		return rt_leave(cudaErrorInvalidValue);
	rc = cudaMallocPitch(&out->ptr, &out->pitch, extent.width, extent.height * extent.depth);
	out->xsize = extent.width;
	out->ysize = extent.height;
	return rc;
}

SIM_API cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned flags)
{
	CUdeviceptr address;
	cudaError_t rc = ptr && bytes ? rt_enter() : cudaErrorInvalidValue;

	if (rc == cudaSuccess)
		rc = (cudaError_t)DRV(cuMemAllocManaged)(&address, bytes, flags);
	if (rc == cudaSuccess)
		*ptr = (void *)(uintptr_t)address;
	return rt_leave(rc);
}

SIM_API cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
	cudaError_t rc = ptr ? rt_enter() : cudaErrorInvalidValue;

	if (rc == cudaSuccess && bytes)
		rc = (cudaError_t)DRV(cuMemHostAlloc)(ptr, bytes, flags);
	else if (rc == cudaSuccess)
		*ptr = NULL;
	return rt_leave(rc);
}

SIM_API cudaError_t cudaMallocHost(void **ptr, size_t bytes)
{
	return cudaHostAlloc(ptr, bytes, cudaHostAllocDefault);
}

SIM_API cudaError_t cudaFreeHost(void *ptr)
{
	cudaError_t rc = rt_enter();

	if (rc == cudaSuccess && ptr)
		rc = (cudaError_t)DRV(cuMemFreeHost)(ptr);
	return rt_leave(rc);
}

SIM_API cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned flags)
{
	return RT_FORWARD(cuMemHostRegister, ptr, bytes, flags);
}

SIM_API cudaError_t cudaHostUnregister(void *ptr)
{
	return RT_FORWARD(cuMemHostUnregister, ptr);
}

SIM_API cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
	return RT_FORWARD(cuMemHostGetDevicePointer, (CUdeviceptr *)device, host, flags);
}

SIM_API cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	return RT_FORWARD(cuMemGetInfo, free_bytes, total_bytes);
}

/* An address that CUDA does not know is no error here: it is "unregistered" host memory. */
SIM_API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *ptr)
{
	unsigned type = 0, managed = 0;
	int device = -2;
	void *attributes[] = {&type, &managed, &device, NULL, NULL};
	CUpointer_attribute wanted[] = {
	        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
	        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
	        CU_POINTER_ATTRIBUTE_HOST_POINTER};
	cudaError_t rc = out ? rt_enter() : cudaErrorInvalidValue;

	if (rc != cudaSuccess)
		return rt_leave(rc);
	memset(out, 0, sizeof(*out));
	attributes[3] = &out->devicePointer;
	attributes[4] = &out->hostPointer;
	rc = (cudaError_t)DRV(cuPointerGetAttributes)(5, wanted, attributes, RT_PTR(ptr));
	out->device = device;
	if (rc != cudaSuccess || type == 0) {
		out->type = cudaMemoryTypeUnregistered;
		out->hostPointer = (void *)ptr;
		return cudaSuccess;
	}
	out->type = managed                      ? cudaMemoryTypeManaged
	            : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
	                                         : cudaMemoryTypeDevice;
	return cudaSuccess;
}

SIM_API cudaError_t cudaGetSymbolAddress(void **ptr, const void *symbol)
{
	CUdeviceptr address;
	size_t bytes;
	cudaError_t rc = rt_enter() ?: rt_variable(symbol, &address, &bytes);

	if (rc == cudaSuccess)
		*ptr = (void *)(uintptr_t)address;
	return rt_leave(rc);
}

SIM_API cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
	CUdeviceptr address;

	return rt_leave(rt_enter() ?: rt_variable(symbol, &address, bytes));
}
