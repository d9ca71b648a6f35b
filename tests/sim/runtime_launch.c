/* SPDX-License-Identifier: Apache-2.0 */
/* Launches, in the order of a stream.  Compiled twice: for the legacy default stream and, with
 * CUDA_API_PER_THREAD_DEFAULT_STREAM, for the per-thread one, whose exports end in _ptsz. */
#include "tests/sim/runtime.h"

/* The driver calls a shape it cannot launch an invalid value; the runtime's word for it is this. */
static cudaError_t launched(CUresult rc)
{
	return rt_leave(rc == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidConfiguration
	                                               : (cudaError_t)rc);
}

SIM_API cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args,
                                     size_t shared_bytes, cudaStream_t stream)
{
	CUfunction kernel;
	cudaError_t rc = rt_enter() ?: rt_kernel(func, &kernel);

	if (rc != cudaSuccess)
		return rt_leave(rc);
	return launched(DRV(cuLaunchKernel)(kernel, grid.x, grid.y, grid.z, block.x, block.y,
	                                    block.z, shared_bytes, stream, args, NULL));
}

SIM_API cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 grid, dim3 block,
                                                void **args, size_t shared_bytes,
                                                cudaStream_t stream)
{
	CUfunction kernel;
	cudaError_t rc = rt_enter() ?: rt_kernel(func, &kernel);

	if (rc != cudaSuccess)
		return rt_leave(rc);
	return launched(DRV(cuLaunchCooperativeKernel)(kernel, grid.x, grid.y, grid.z, block.x,
	                                               block.y, block.z, shared_bytes, stream,
	                                               args));
}

/* Both sides have the same attributes, number for number. */
SIM_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                        void **args)
{
	CUfunction kernel;
	CUlaunchConfig driver_config;
	cudaError_t rc = config ? rt_enter() : cudaErrorInvalidValue;

	rc = rc ?: rt_kernel(func, &kernel);
	if (rc != cudaSuccess)
		return rt_leave(rc);
	driver_config = (CUlaunchConfig){
	        .gridDimX = config->gridDim.x,
	        .gridDimY = config->gridDim.y,
	        .gridDimZ = config->gridDim.z,
	        .blockDimX = config->blockDim.x,
	        .blockDimY = config->blockDim.y,
	        .blockDimZ = config->blockDim.z,
	        .sharedMemBytes = config->dynamicSmemBytes,
	        .hStream = config->stream,
	        .attrs = (CUlaunchAttribute *)config->attrs,
	        .numAttrs = config->numAttrs,
	};
	return launched(DRV(cuLaunchKernelEx)(&driver_config, kernel, args, NULL));
}

SIM_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
	return RT_FORWARD(cuLaunchHostFunc, stream, function, data);
}

SIM_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	return RT_FORWARD(cuGraphLaunch, exec, stream);
}

SIM_API cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
	return RT_FORWARD(cuGraphUpload, exec, stream);
}

#if SIM_CUDART >= 12
/* Since 12 nvcc's code looks a kernel up once, with __cudaGetKernel, and launches it by handle. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif

SIM_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                                       size_t shared_bytes, cudaStream_t stream);

SIM_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                                       size_t shared_bytes, cudaStream_t stream)
{
	cudaError_t rc = rt_enter();

	if (rc == cudaSuccess && !kernel)
		rc = cudaErrorInvalidDeviceFunction;
	if (rc != cudaSuccess)
		return rt_leave(rc);
	return launched(DRV(cuLaunchKernel)((CUfunction)kernel, grid.x, grid.y, grid.z, block.x,
	                                    block.y, block.z, shared_bytes, stream, args, NULL));
}
#endif
