/* SPDX-License-Identifier: Apache-2.0 */
/* Events and streams made and unmade, and what waits for an event; recording is ordered in a
 * stream. */
#include "tests/sim/runtime.h"

SIM_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	return RT_FORWARD(cuEventCreate, event, flags);
}

SIM_API cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return RT_FORWARD(cuEventCreate, event, CU_EVENT_DEFAULT);
}

SIM_API cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	return RT_FORWARD(cuEventDestroy, event);
}

SIM_API cudaError_t cudaEventQuery(cudaEvent_t event)
{
	return RT_FORWARD(cuEventQuery, event);
}

SIM_API cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return RT_FORWARD(cuEventSynchronize, event);
}

typedef CUresult elapsed_fn(float *, CUevent, CUevent);

static cudaError_t elapsed(elapsed_fn *measure, float *ms, cudaEvent_t start, cudaEvent_t end)
{
	return rt_leave(rt_enter() ?: (cudaError_t)measure(ms, start, end));
}

/* 13 made the second form the only one; 12 has both. */
SIM_API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	rt_enter();
	if (SIM_CUDART >= 13)
		return elapsed(DRV_AS(cuEventElapsedTime_v2, elapsed_fn), ms, start, end);
	return elapsed(rt_slot[SLOT_cuEventElapsedTime], ms, start, end);
}

#if SIM_CUDART == 12
SIM_API cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end);

SIM_API cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	rt_enter();
	return elapsed(DRV_AS(cuEventElapsedTime_v2, elapsed_fn), ms, start, end);
}
#endif

SIM_API cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	return RT_FORWARD(cuStreamCreate, stream, CU_STREAM_DEFAULT);
}

SIM_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	return RT_FORWARD(cuStreamCreate, stream, flags);
}

SIM_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
	return RT_FORWARD(cuStreamCreateWithPriority, stream, flags, priority);
}

SIM_API cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	return RT_FORWARD(cuStreamDestroy, stream);
}

SIM_API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	return RT_FORWARD(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *)mode);
}
