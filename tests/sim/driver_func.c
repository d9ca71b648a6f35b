/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of a function or kernel; occupancy. */
#include "tests/sim/driver.h"

#define THREADS_PER_SM 2048
#define SHARED_PER_SM  233472
#define REGISTERS      32

CUresult func_attribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
	struct sim_func *f;
	CUresult rc = func_get(hfunc, &f);

	if (!pi || (int)attrib < 0 || attrib >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc != CUDA_SUCCESS)
		return rc;
	switch (attrib) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*pi = 1024;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*pi = REGISTERS;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*pi = 90;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*pi = f->max_dynamic_shared;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*pi = -1;
		break;
	default:
		*pi = 0;
	}
	return CUDA_SUCCESS;
}

/* Of a CUkernel the driver tells by cuKernelGetAttribute() alone. */
CUresult do_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
	struct sim_func *f;

	if (func_get(hfunc, &f) == CUDA_SUCCESS && !f->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	return func_attribute(pi, attrib, hfunc);
}

CUresult do_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
	struct sim_func *f;
	CUresult rc = func_get(hfunc, &f);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (attrib < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
	    attrib >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		if (value < 0 || value > 232448)
			return CUDA_ERROR_INVALID_VALUE;
		f->max_dynamic_shared = value;
		if (f->kernel)
			f->kernel->max_dynamic_shared = value;
		if (f->function)
			f->function->max_dynamic_shared = value;
	}
	return CUDA_SUCCESS;
}

CUresult do_cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
	struct sim_func *f;

	return func_get(hfunc, &f);
}

CUresult do_cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
	struct sim_func *f;

	return func_get(hfunc, &f);
}

CUresult do_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
	struct sim_func *f;
	CUresult rc = func_get(hfunc, &f);

	if (!hmod)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*hmod = (CUmodule)f->image;
	return rc;
}

CUresult do_cuFuncGetName(const char **name, CUfunction hfunc)
{
	struct sim_func *f;
	CUresult rc = func_get(hfunc, &f);

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*name = f->name;
	return rc;
}

/* Only the argument that scales the cost is known. */
CUresult do_cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                               size_t *paramSize)
{
	struct sim_func *f;
	CUresult rc = func_get(func, &f);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!paramOffset || f->cost_arg < 0 || paramIndex > (size_t)f->cost_arg)
		return CUDA_ERROR_INVALID_VALUE;
	*paramOffset = paramIndex * 8;
	if (paramSize)
		*paramSize = paramIndex == (size_t)f->cost_arg ? 4 : 8;
	return CUDA_SUCCESS;
}

CUresult do_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
	struct sim_func *f;
	CUresult rc = func_get(function, &f);

	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*state = atomic_load(&f->loaded) ? CU_FUNCTION_LOADING_STATE_LOADED
		                                 : CU_FUNCTION_LOADING_STATE_UNLOADED;
	return rc;
}

CUresult do_cuFuncLoad(CUfunction function)
{
	struct sim_func *f;
	CUresult rc = func_get(function, &f);

	if (rc == CUDA_SUCCESS && !ctx_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (rc == CUDA_SUCCESS)
		launch_load(ctx_current(), f);
	return rc;
}

static CUresult occupancy(CUfunction func, int block, size_t shared, int *blocks)
{
	struct sim_func *f;
	CUresult rc = func_get(func, &f);
	size_t by_shared;

	if (rc != CUDA_SUCCESS)
		return rc;
	if (block < 1 || block > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	block = (block + 31) / 32 * 32;
	*blocks = THREADS_PER_SM / block;
	by_shared = SHARED_PER_SM / (shared + 1024);
	if (shared > (size_t)f->max_dynamic_shared)
		*blocks = 0;
	if ((size_t)*blocks > by_shared)
		*blocks = (int)by_shared;
	if (*blocks > 32)
		*blocks = 32;
	return CUDA_SUCCESS;
}

CUresult do_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
                                                        int blockSize, size_t dynamicSMemSize)
{
	if (!numBlocks)
		return CUDA_ERROR_INVALID_VALUE;
	return occupancy(func, blockSize, dynamicSMemSize, numBlocks);
}

CUresult do_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func,
                                                                 int blockSize,
                                                                 size_t dynamicSMemSize,
                                                                 unsigned int flags)
{
	if (!numBlocks)
		return CUDA_ERROR_INVALID_VALUE;
	return occupancy(func, blockSize, dynamicSMemSize, numBlocks);
}

CUresult do_cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                             CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                             size_t dynamicSMemSize, int blockSizeLimit)
{
	struct sim_func *f;
	CUresult rc = func_get(func, &f);
	int block = blockSizeLimit > 0 && blockSizeLimit < 1024 ? blockSizeLimit : 1024, blocks;

	if (!minGridSize || !blockSize)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc != CUDA_SUCCESS)
		return rc;
	if (blockSizeToDynamicSMemSize)
		dynamicSMemSize = blockSizeToDynamicSMemSize(block);
	rc = occupancy(func, block, dynamicSMemSize, &blocks);
	*blockSize = block;
	*minGridSize = blocks * 132;
	return rc;
}

CUresult do_cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
                                                      CUfunction func,
                                                      CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                      size_t dynamicSMemSize, int blockSizeLimit,
                                                      unsigned int flags)
{
	return do_cuOccupancyMaxPotentialBlockSize(minGridSize, blockSize, func,
	                                           blockSizeToDynamicSMemSize, dynamicSMemSize,
	                                           blockSizeLimit);
}

CUresult do_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
                                                    int numBlocks, int blockSize)
{
	struct sim_func *f;
	CUresult rc = func_get(func, &f);

	if (!dynamicSmemSize || numBlocks < 1 || blockSize < 1)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*dynamicSmemSize = (size_t)(SHARED_PER_SM / numBlocks - 1024);
	return rc;
}

CUresult do_cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                               const CUlaunchConfig *config)
{
	struct sim_func *f;

	if (!clusterSize || !config)
		return CUDA_ERROR_INVALID_VALUE;
	*clusterSize = 8;
	return func_get(func, &f);
}

CUresult do_cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                         const CUlaunchConfig *config)
{
	struct sim_func *f;

	if (!numClusters || !config)
		return CUDA_ERROR_INVALID_VALUE;
	*numClusters = 16;
	return func_get(func, &f);
}
