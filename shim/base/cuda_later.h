/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that came after CUDA 13.0 and bear on what is recorded, for builds with older headers: the
 * programs watched bring newer runtimes and drivers than this was built with. Unseen, a copy would
 * be missing in the counts, and a capture would get samples into it.
 */
#ifndef SPY_CUDA_LATER_H
#define SPY_CUDA_LATER_H

#define LATER(name, ...)                                                                           \
	CUresult CUDAAPI name(__VA_ARGS__);                                                        \
	CUresult CUDAAPI name##_ptsz(__VA_ARGS__)

#if CUDA_VERSION < 13010
typedef struct CUstreamCigCaptureParams_st CUstreamCigCaptureParams;
LATER(cuLaunchHostFunc_v2, CUstream hStream, CUhostFn fn, void *userData, unsigned int syncMode);
LATER(cuStreamBeginCaptureToCig, CUstream hStream,
      CUstreamCigCaptureParams *streamCigCaptureParams);
LATER(cuStreamEndCaptureToCig, CUstream hStream);
#endif

#if CUDA_VERSION >= 12080 && CUDA_VERSION < 13020
LATER(cuMemcpyWithAttributesAsync, CUdeviceptr dst, CUdeviceptr src, size_t size,
      CUmemcpyAttributes *attr, CUstream hStream);
LATER(cuMemcpy3DWithAttributesAsync, CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags,
      CUstream hStream);
#endif

#if CUDA_VERSION < 13030
typedef CUresult(CUDA_CB *CUgraphRecaptureCallback)(void *data, CUgraphNode node,
                                                    const void *originalParams,
                                                    const void *recaptureParams, int status);
LATER(cuStreamBeginRecaptureToGraph, CUstream hStream, CUstreamCaptureMode mode, CUgraph hGraph,
      CUgraphRecaptureCallback callbackFunc, void *userData);
#endif

#undef LATER
#endif
