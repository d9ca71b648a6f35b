/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stream a handle means, and which streams wait for one another.
 *
 *   - the legacy default stream (a handle of 0, or 1) is one a device; the per-thread default
 *     stream (a handle of 2; 0 in calls with the suffix _ptsz or _ptds) one a thread and device
 *   - work on the legacy stream waits for earlier work on all blocking streams of its device, and
 *     work on a blocking stream for earlier work on the legacy one. Blocking are those made without
 *     CU_STREAM_NON_BLOCKING, and the per-thread ones
 *   - a wait by the host for the legacy stream is one for the blocking streams too; one for a
 *     blocking stream is not one for the legacy stream
 *
 * Flags of a stream are those of struct tf_stream: CU_STREAM_NON_BLOCKING and TF_STREAM_...
 *
 * Source: NVIDIA's documentation ("Stream synchronization behavior"); tests/gpu/hold_facts.cu,
 * facts hold:stream_sync:* and waits:kernel_on_*.
 */
#ifndef SPY_STREAMS_H
#define SPY_STREAMS_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/core/format/trace_format.h"

/* As cuda.h has them: CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, CU_STREAM_NON_BLOCKING. */
#define CUDA_STREAM_LEGACY       1u /* as a handle */
#define CUDA_STREAM_PER_THREAD   2u /* likewise */
#define CUDA_STREAM_NON_BLOCKING 1u /* as a flag */

/* The stream that a handle means in a call with these flags (TF_PTDS): CUDA_STREAM_LEGACY,
 * CUDA_STREAM_PER_THREAD, or the handle itself, of a stream that was made. */
uint64_t cuda_stream(uint64_t handle, unsigned call_flags);

/* Whether a stream, as cuda_stream() has it, was made by the program. */
static inline bool cuda_stream_is_made(uint64_t stream)
{
	return stream > CUDA_STREAM_PER_THREAD;
}

/* Flags of a stream, as cuda_stream() has it, whose making was not seen. */
uint32_t cuda_stream_flags(uint64_t stream);

static inline bool cuda_stream_is_legacy(uint32_t flags)
{
	return flags & TF_STREAM_LEGACY;
}

/* The legacy stream waits for it, and it for the legacy stream. */
static inline bool cuda_stream_is_blocking(uint32_t flags)
{
	return !(flags & (CUDA_STREAM_NON_BLOCKING | TF_STREAM_LEGACY));
}

/* By the flags of two streams of one device: a wait by the host for `stream` is one for `other`
 * too. */
static inline bool cuda_stream_sync_waits(uint32_t stream, uint32_t other)
{
	return cuda_stream_is_legacy(stream) && cuda_stream_is_blocking(other);
}

/* Likewise: work on `stream` waits for earlier work on `other`. It goes for both or for neither. */
static inline bool cuda_stream_waits(uint32_t stream, uint32_t other)
{
	return cuda_stream_sync_waits(stream, other) || cuda_stream_sync_waits(other, stream);
}

#endif
