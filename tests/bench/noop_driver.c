/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 in which nothing happens: every call returns at once, so that what is left of a
 * call's time is what the program, the runtime and whoever watches add to it. For the benchmarks.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <string.h>

#define API __attribute__((visibility("default")))

API extern const int cudaspy_simulated_driver;
const int cudaspy_simulated_driver = 1;

/* Handles that are told apart and never followed. */
static char device_memory[1 << 16], host_memory[1 << 16], context, module, library, function,
        stream;

API CUresult cuInit(unsigned int flags)
{
	return CUDA_SUCCESS;
}

API CUresult cuDriverGetVersion(int *version)
{
	*version = 13000;
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGetCount(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
	strncpy(name, "Simulated GPU (does nothing)", (size_t)bytes);
	return CUDA_SUCCESS;
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	*bytes = 1ull << 30;
	return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
	*ctx = (CUcontext)&context;
	return CUDA_SUCCESS;
}

API CUresult cuCtxSetCurrent(CUcontext ctx)
{
	return CUDA_SUCCESS;
}

API CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	*ctx = (CUcontext)&context;
	return CUDA_SUCCESS;
}

API CUresult cuCtxGetDevice(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

API CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
	*m = (CUmodule)&module;
	return CUDA_SUCCESS;
}

API CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	*f = (CUfunction)&function;
	return CUDA_SUCCESS;
}

API CUresult cuLibraryLoadData(CUlibrary *l, const void *code, CUjit_option *jit, void **jit_values,
                               unsigned int jit_count, CUlibraryOption *options, void **values,
                               unsigned int count)
{
	*l = (CUlibrary)&library;
	return CUDA_SUCCESS;
}

API CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary l, const char *name)
{
	*kernel = (CUkernel)&function;
	return CUDA_SUCCESS;
}

API CUresult cuLibraryUnload(CUlibrary l)
{
	return CUDA_SUCCESS;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes)
{
	*p = (CUdeviceptr)(unsigned long)device_memory;
	return CUDA_SUCCESS;
}

/* As a pool: each time another place of a few, and again. */
API CUresult cuMemAllocAsync(CUdeviceptr *p, size_t bytes, CUstream s)
{
	static unsigned next;

	*p = (CUdeviceptr)(unsigned long)&device_memory[next++ % 8 * 8192];
	return CUDA_SUCCESS;
}

API CUresult cuMemFreeAsync(CUdeviceptr p, CUstream s)
{
	return CUDA_SUCCESS;
}

API CUresult cuMemHostAlloc(void **p, size_t bytes, unsigned int flags)
{
	*p = host_memory;
	return CUDA_SUCCESS;
}

API CUresult cuStreamCreate(CUstream *s, unsigned int flags)
{
	*s = (CUstream)&stream;
	return CUDA_SUCCESS;
}

API CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                            unsigned int bx, unsigned int by, unsigned int bz,
                            unsigned int shared_bytes, CUstream s, void **params, void **extra)
{
	return CUDA_SUCCESS;
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream s)
{
	return CUDA_SUCCESS;
}

API CUresult cuStreamSynchronize(CUstream s)
{
	return CUDA_SUCCESS;
}

/* ---- the look-up
 * ---------------------------------------------------------------------------------------------------
 */

API CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *status);
API CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags);

static const struct entry {
	const char *asked; /* without the version of the ABI */
	void *function;
} entries[] = {
        {"cuCtxGetCurrent", (void *)cuCtxGetCurrent},
        {"cuCtxGetDevice", (void *)cuCtxGetDevice},
        {"cuCtxSetCurrent", (void *)cuCtxSetCurrent},
        {"cuDeviceGet", (void *)cuDeviceGet},
        {"cuDeviceGetCount", (void *)cuDeviceGetCount},
        {"cuDeviceGetName", (void *)cuDeviceGetName},
        {"cuDevicePrimaryCtxRetain", (void *)cuDevicePrimaryCtxRetain},
        {"cuDeviceTotalMem", (void *)cuDeviceTotalMem_v2},
        {"cuDriverGetVersion", (void *)cuDriverGetVersion},
        {"cuGetProcAddress", (void *)cuGetProcAddress_v2},
        {"cuInit", (void *)cuInit},
        {"cuLaunchKernel", (void *)cuLaunchKernel},
        {"cuLibraryGetKernel", (void *)cuLibraryGetKernel},
        {"cuLibraryLoadData", (void *)cuLibraryLoadData},
        {"cuLibraryUnload", (void *)cuLibraryUnload},
        {"cuMemAlloc", (void *)cuMemAlloc_v2},
        {"cuMemAllocAsync", (void *)cuMemAllocAsync},
        {"cuMemFreeAsync", (void *)cuMemFreeAsync},
        {"cuMemHostAlloc", (void *)cuMemHostAlloc},
        {"cuMemcpyHtoDAsync", (void *)cuMemcpyHtoDAsync_v2},
        {"cuModuleGetFunction", (void *)cuModuleGetFunction},
        {"cuModuleLoadData", (void *)cuModuleLoadData},
        {"cuStreamCreate", (void *)cuStreamCreate},
        {"cuStreamSynchronize", (void *)cuStreamSynchronize},
};

API CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *status)
{
	*pfn = NULL;
	for (unsigned i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (!strcmp(entries[i].asked, symbol))
			*pfn = entries[i].function;
	if (status)
		*status = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *pfn || !*symbol ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	return cuGetProcAddress_v2(symbol, pfn, version, flags, NULL);
}
