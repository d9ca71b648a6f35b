/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/cuda/streams.h"

uint64_t cuda_stream(uint64_t handle, unsigned call_flags)
{
	if (cuda_stream_is_made(handle))
		return handle;
	if (handle == CUDA_STREAM_PER_THREAD || (!handle && call_flags & TF_PTDS))
		return CUDA_STREAM_PER_THREAD;
	return CUDA_STREAM_LEGACY;
}

uint32_t cuda_stream_flags(uint64_t stream)
{
	if (cuda_stream_is_made(stream))
		return TF_STREAM_UNSEEN | CUDA_STREAM_NON_BLOCKING;
	return stream == CUDA_STREAM_PER_THREAD ? TF_STREAM_PER_THREAD : TF_STREAM_LEGACY;
}
