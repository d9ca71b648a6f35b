/* SPDX-License-Identifier: Apache-2.0 */
/* What surrounds a launch: the configuration that <<<>>> leaves for the stub, kernels by host
 * address, their attributes and occupancy. */
#include <string.h>
#include "tests/sim/runtime.h"

SIM_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                             struct CUstream_st *stream);
SIM_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes,
                                               void *stream);

/* A stack, as an argument of a launch may itself launch. */
SIM_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                             struct CUstream_st *stream)
{
	struct rt_thread *t = &rt_self;

	if (t->configs == RT_CONFIGS)
		return rt_leave(cudaErrorLaunchFailure);
	t->config[t->configs++] = (struct rt_config){grid, block, shared_bytes, stream};
	return cudaSuccess;
}

SIM_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes,
                                               void *stream)
{
	struct rt_thread *t = &rt_self;
	const struct rt_config *c;

	if (t->configs == 0)
		return rt_leave(cudaErrorMissingConfiguration);
	c = &t->config[--t->configs];
	*grid = c->grid;
	*block = c->block;
	*shared_bytes = c->shared_bytes;
	*(cudaStream_t *)stream = c->stream;
	return cudaSuccess;
}

#if SIM_CUDART >= 12
SIM_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func);

SIM_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
	return rt_leave(rt_enter() ?: rt_kernel(func, (CUfunction *)kernel));
}

SIM_API cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
	return rt_leave(rt_enter() ?: rt_kernel(func, (CUfunction *)kernel));
}
#endif

/* Since 12 what the registry hands out is a CUkernel; a few calls want the context's function. */
static cudaError_t function_of(const void *func, CUfunction *function)
{
	cudaError_t rc = rt_enter() ?: rt_kernel(func, function);

	if (rc == cudaSuccess && SIM_CUDART >= 12)
		rc = (cudaError_t)DRV(cuKernelGetFunction)(function, (CUkernel)*function);
	return rc;
}

SIM_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol)
{
	return rt_leave(function_of(symbol, function));
}

SIM_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *func)
{
	CUfunction function;
	int value[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT + 1] = {0};
	cudaError_t rc = out ? function_of(func, &function) : cudaErrorInvalidValue;

	for (unsigned i = 0; rc == cudaSuccess && i < sizeof(value) / sizeof(value[0]); i++)
		rc = (cudaError_t)DRV(cuFuncGetAttribute)(&value[i], i, function);
	if (rc != cudaSuccess)
		return rt_leave(rc);
	memset(out, 0, sizeof(*out));
	out->maxThreadsPerBlock = value[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
	out->sharedSizeBytes = value[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
	out->constSizeBytes = value[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES];
	out->localSizeBytes = value[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES];
	out->numRegs = value[CU_FUNC_ATTRIBUTE_NUM_REGS];
	out->ptxVersion = value[CU_FUNC_ATTRIBUTE_PTX_VERSION];
	out->binaryVersion = value[CU_FUNC_ATTRIBUTE_BINARY_VERSION];
	out->cacheModeCA = value[CU_FUNC_ATTRIBUTE_CACHE_MODE_CA];
	out->maxDynamicSharedSizeBytes = value[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
	out->preferredShmemCarveout = value[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT];
	return cudaSuccess;
}

SIM_API cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attribute,
                                         int value)
{
	CUfunction function;
	cudaError_t rc = function_of(func, &function);

	return rt_leave(rc
	                        ?: (cudaError_t)DRV(cuFuncSetAttribute)(
	                                   function, (CUfunction_attribute)attribute, value));
}

SIM_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        int *blocks, const void *func, int block_size, size_t shared_bytes, unsigned flags)
{
	CUfunction function;
	cudaError_t rc = function_of(func, &function);

	return rt_leave(
	        rc
	                ?: (cudaError_t)DRV(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(
	                           blocks, function, block_size, shared_bytes, flags));
}

SIM_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func,
                                                                  int block_size,
                                                                  size_t shared_bytes)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	        blocks, func, block_size, shared_bytes, CU_OCCUPANCY_DEFAULT);
}
