/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: chosen, described, reset, waited for; versions and the profiler's switch. */
#include <string.h>
#include <cuda_profiler_api.h>
#include "tests/sim/runtime.h"

SIM_API cudaError_t cudaGetDeviceCount(int *count)
{
	cudaError_t rc = rt_init();

	if (rc == cudaSuccess || rc == cudaErrorNoDevice)
		*count = rt_device_count();
	return rt_leave(rc);
}

SIM_API cudaError_t cudaGetDevice(int *device)
{
	cudaError_t rc = rt_init();

	if (rc == cudaSuccess)
		*device = rt_self.device;
	return rt_leave(rc);
}

SIM_API cudaError_t cudaSetDevice(int device)
{
	return rt_leave(rt_set_device(device));
}

SIM_API cudaError_t cudaDeviceReset(void)
{
	return rt_leave(rt_reset_device());
}

/* 13 names the context, the earlier ones mean the current one. */
SIM_API cudaError_t cudaDeviceSynchronize(void)
{
	cudaError_t rc = rt_enter();

	if (rc != cudaSuccess)
		return rt_leave(rc);
	if (SIM_CUDART >= 13)
		rc = (cudaError_t)DRV_AS(cuCtxSynchronize_v2, CUresult(CUcontext))(rt_current());
	else
		rc = (cudaError_t)DRV_AS(cuCtxSynchronize, CUresult(void))();
	return rt_leave(rc);
}

static cudaError_t check_device(int device)
{
	cudaError_t rc = rt_init();

	if (rc == cudaSuccess && (device < 0 || device >= rt_device_count()))
		rc = cudaErrorInvalidDevice;
	return rc;
}

/* The attributes have one numbering. */
SIM_API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	return rt_leave(
	        check_device(device)
	                ?: (cudaError_t)DRV(cuDeviceGetAttribute)(
	                           value, (CUdevice_attribute)attribute, rt_device(device)));
}

struct property {
	CUdevice_attribute attribute;
	size_t offset;
	size_t bytes;
};

#define PROPERTY(attribute, member)                                                                \
	{                                                                                          \
		CU_DEVICE_ATTRIBUTE_##attribute, offsetof(struct cudaDeviceProp, member),          \
		        sizeof(((struct cudaDeviceProp *)0)->member)                               \
	}

static const struct property properties[] = {
        PROPERTY(MAX_SHARED_MEMORY_PER_BLOCK, sharedMemPerBlock),
        PROPERTY(MAX_REGISTERS_PER_BLOCK, regsPerBlock),
        PROPERTY(WARP_SIZE, warpSize),
        PROPERTY(MAX_PITCH, memPitch),
        PROPERTY(MAX_THREADS_PER_BLOCK, maxThreadsPerBlock),
        PROPERTY(MAX_BLOCK_DIM_X, maxThreadsDim[0]),
        PROPERTY(MAX_BLOCK_DIM_Y, maxThreadsDim[1]),
        PROPERTY(MAX_BLOCK_DIM_Z, maxThreadsDim[2]),
        PROPERTY(MAX_GRID_DIM_X, maxGridSize[0]),
        PROPERTY(MAX_GRID_DIM_Y, maxGridSize[1]),
        PROPERTY(MAX_GRID_DIM_Z, maxGridSize[2]),
        PROPERTY(TOTAL_CONSTANT_MEMORY, totalConstMem),
        PROPERTY(COMPUTE_CAPABILITY_MAJOR, major),
        PROPERTY(COMPUTE_CAPABILITY_MINOR, minor),
        PROPERTY(TEXTURE_ALIGNMENT, textureAlignment),
        PROPERTY(MULTIPROCESSOR_COUNT, multiProcessorCount),
        PROPERTY(INTEGRATED, integrated),
        PROPERTY(CAN_MAP_HOST_MEMORY, canMapHostMemory),
        PROPERTY(CONCURRENT_KERNELS, concurrentKernels),
        PROPERTY(PCI_BUS_ID, pciBusID),
        PROPERTY(PCI_DEVICE_ID, pciDeviceID),
        PROPERTY(PCI_DOMAIN_ID, pciDomainID),
        PROPERTY(ASYNC_ENGINE_COUNT, asyncEngineCount),
        PROPERTY(UNIFIED_ADDRESSING, unifiedAddressing),
        PROPERTY(GLOBAL_MEMORY_BUS_WIDTH, memoryBusWidth),
        PROPERTY(L2_CACHE_SIZE, l2CacheSize),
        PROPERTY(MAX_THREADS_PER_MULTIPROCESSOR, maxThreadsPerMultiProcessor),
        PROPERTY(STREAM_PRIORITIES_SUPPORTED, streamPrioritiesSupported),
        PROPERTY(MANAGED_MEMORY, managedMemory),
        PROPERTY(COOPERATIVE_LAUNCH, cooperativeLaunch),
        PROPERTY(MEMORY_POOLS_SUPPORTED, memoryPoolsSupported),
};

/* Fills the structure of the toolkit this was built with, as programs of the simulation are too. */
SIM_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
	cudaError_t rc = out ? check_device(device) : cudaErrorInvalidValue;
	CUdevice handle;

	if (rc != cudaSuccess)
		return rt_leave(rc);
	handle = rt_device(device);
	memset(out, 0, sizeof(*out));
	rc = (cudaError_t)DRV(cuDeviceGetName)(out->name, sizeof(out->name), handle);
	rc = rc ?: (cudaError_t)DRV(cuDeviceTotalMem)(&out->totalGlobalMem, handle);
	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++) {
		const struct property *p = &properties[i];
		char *member = (char *)out + p->offset;
		int value = 0;

		/* What a driver does not know stays 0. */
		DRV(cuDeviceGetAttribute)(&value, p->attribute, handle);
		if (p->bytes == sizeof(size_t))
			*(size_t *)member = value;
		else
			*(int *)member = value;
	}
	return rt_leave(rc);
}

#if SIM_CUDART == 12 && CUDART_VERSION >= 13000
SIM_API cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *out, int device);

/* The name by which headers of 12 call it. */
SIM_API cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *out, int device)
{
	return cudaGetDeviceProperties(out, device);
}
#endif

SIM_API cudaError_t cudaRuntimeGetVersion(int *version)
{
	static const int versions[] = {[11] = 11080, [12] = 12090, [13] = 13000};

	if (!version)
		return rt_leave(cudaErrorInvalidValue);
	*version = versions[SIM_CUDART];
	return cudaSuccess;
}

/* No driver is no error: the version is 0. */
SIM_API cudaError_t cudaDriverGetVersion(int *version)
{
	if (!version)
		return rt_leave(cudaErrorInvalidValue);
	*version = 0;
	rt_init();
	if (rt_slot[SLOT_cuDriverGetVersion])
		DRV(cuDriverGetVersion)(version);
	return cudaSuccess;
}

SIM_API cudaError_t cudaProfilerStart(void)
{
	return rt_leave(rt_enter() ?: (cudaError_t)DRV_AS(cuProfilerStart, CUresult(void))());
}

SIM_API cudaError_t cudaProfilerStop(void)
{
	return rt_leave(rt_enter() ?: (cudaError_t)DRV_AS(cuProfilerStop, CUresult(void))());
}
