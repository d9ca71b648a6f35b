/* SPDX-License-Identifier: Apache-2.0 */
/* Setting memory.  Compiled twice for the two kinds of default stream. */
#include "tests/sim/runtime.h"

SIM_API cudaError_t cudaMemset(void *ptr, int value, size_t bytes)
{
	return RT_FORWARD(cuMemsetD8, RT_PTR(ptr), (unsigned char)value, bytes);
}

SIM_API cudaError_t cudaMemsetAsync(void *ptr, int value, size_t bytes, cudaStream_t stream)
{
	return RT_FORWARD(cuMemsetD8Async, RT_PTR(ptr), (unsigned char)value, bytes, stream);
}

SIM_API cudaError_t cudaMemset2D(void *ptr, size_t pitch, int value, size_t width, size_t height)
{
	return RT_FORWARD(cuMemsetD2D8, RT_PTR(ptr), pitch, (unsigned char)value, width, height);
}

SIM_API cudaError_t cudaMemset2DAsync(void *ptr, size_t pitch, int value, size_t width,
                                      size_t height, cudaStream_t stream)
{
	return RT_FORWARD(cuMemsetD2D8Async, RT_PTR(ptr), pitch, (unsigned char)value, width,
	                  height, stream);
}
