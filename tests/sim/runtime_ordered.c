/* SPDX-License-Identifier: Apache-2.0 */
/* What else takes its place in a stream: waiting, events, callbacks, allocations, capture. Compiled
 * twice, as the launches are, for the two kinds of default stream. */
#include "tests/sim/runtime.h"

SIM_API cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	return RT_FORWARD(cuStreamSynchronize, stream);
}

SIM_API cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	return RT_FORWARD(cuStreamQuery, stream);
}

SIM_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	return RT_FORWARD(cuStreamWaitEvent, stream, event, flags);
}

/* The callback's arguments are the same but for the type of the status. */
SIM_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                          void *data, unsigned flags)
{
	return RT_FORWARD(cuStreamAddCallback, stream, (CUstreamCallback)callback, data, flags);
}

SIM_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
	return RT_FORWARD(cuStreamGetFlags, stream, flags);
}

SIM_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
	return RT_FORWARD(cuStreamGetPriority, stream, priority);
}

SIM_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return RT_FORWARD(cuEventRecord, event, stream);
}

SIM_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
	return RT_FORWARD(cuEventRecordWithFlags, event, stream, flags);
}

SIM_API cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream)
{
	CUdeviceptr address = 0;
	cudaError_t rc = ptr ? rt_enter() : cudaErrorInvalidValue;

	if (rc == cudaSuccess && bytes)
		rc = (cudaError_t)DRV(cuMemAllocAsync)(&address, bytes, stream);
	if (rc == cudaSuccess)
		*ptr = (void *)(uintptr_t)address;
	return rt_leave(rc);
}

SIM_API cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream)
{
	cudaError_t rc = rt_enter();

	if (rc == cudaSuccess && ptr)
		rc = (cudaError_t)DRV(cuMemFreeAsync)(RT_PTR(ptr), stream);
	return rt_leave(rc);
}

SIM_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return RT_FORWARD(cuStreamBeginCapture, stream, (CUstreamCaptureMode)mode);
}

SIM_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	return RT_FORWARD(cuStreamEndCapture, stream, graph);
}

SIM_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	return RT_FORWARD(cuStreamIsCapturing, stream, (CUstreamCaptureStatus *)status);
}

static CUresult find(const char *symbol, void **function, int version, unsigned long long flags,
                     enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
	CUresult rc;

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
	if (flags == cudaEnableDefault)
		flags = cudaEnablePerThreadDefaultStream;
#endif
	rc = rt_driver_find(symbol, function, version, flags, &found);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	return rc;
}

#if SIM_CUDART >= 12
/* The version asked for is the runtime's own. */
SIM_API cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function,
                                            unsigned long long flags,
                                            enum cudaDriverEntryPointQueryResult *status)
{
	return rt_leave(rt_init()
	                        ?: (cudaError_t)find(symbol, function,
	                                             SIM_CUDART == 12 ? 12090 : 13000, flags,
	                                             status));
}
#else
/* 11 had no status. */
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define ENTRY_POINT "cudaGetDriverEntryPoint_ptsz"
#else
#define ENTRY_POINT "cudaGetDriverEntryPoint"
#endif
SIM_API cudaError_t rt_entry_point_11(const char *symbol, void **function,
                                      unsigned long long flags) __asm__(ENTRY_POINT);

SIM_API cudaError_t rt_entry_point_11(const char *symbol, void **function, unsigned long long flags)
{
	return rt_leave(rt_init() ?: (cudaError_t)find(symbol, function, 11080, flags, NULL));
}
#endif

#if SIM_CUDART >= 12 && CUDART_VERSION >= 12050
SIM_API cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                                     unsigned version, unsigned long long flags,
                                                     enum cudaDriverEntryPointQueryResult *status)
{
	return rt_leave(rt_init() ?: (cudaError_t)find(symbol, function, version, flags, status));
}
#endif
