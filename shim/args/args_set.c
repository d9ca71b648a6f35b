/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/args/args.h"
#include "shim/handles/memory_map.h"

/* Managed or pinned memory, a blocking set of which waits; of any other it says nothing. */
static enum spy_memory memory_that_holds(uint64_t address)
{
	enum spy_memory m = memory_map_find(address);

	return m == SPY_MEM_MANAGED || m == SPY_MEM_PINNED ? m : (enum spy_memory)0;
}

static void set(struct spy_span *s, CUresult rc, CUdeviceptr dst, uint64_t bytes, CUstream stream,
                bool async)
{
	struct spy_span *o = spy_outer();

	if (!spy_recording(o))
		return;
	struct tf_thread *th = spy_tls.thread;
	struct tf_record *r = spy_args_target(s);
	if (r) {
		if (!async)
			r->copy.memory = (uint8_t)memory_that_holds(dst);
		r->copy.bytes += bytes;
		r->copy.dst = dst;
		r->copy.items += r->copy.items < UINT16_MAX;
		r->copy.async = async;
		r->stream = (uintptr_t)stream;
	}
	if (rc != CUDA_SUCCESS)
		return;
	if (async && spy_is_captured(s, stream)) {
		spy_count(&th->captured[SPY_CLASS_SET], 1);
		if (r)
			r->flags |= TF_CAPTURED;
	} else {
		spy_count(&th->items[SPY_CLASS_SET], 1);
	}
}

/* The size of an element follows from the call's name: cuMemsetD8..., D2D16..., D32... */
static uint64_t element_bytes(const struct spy_span *s)
{
	const char *digits = spy_call_rows[s->call].name + 9; /* behind "cuMemsetD" */

	if (digits[0] == '2' && digits[1] == 'D')
		digits += 2;
	return digits[0] == '8' ? 1 : digits[0] == '1' ? 2 : 4;
}

void args_set(struct spy_span *s, CUresult rc, CUdeviceptr dst, unsigned value, size_t n)
{
	set(s, rc, dst, n * element_bytes(s), NULL, false);
}

void args_set_async(struct spy_span *s, CUresult rc, CUdeviceptr dst, unsigned value, size_t n,
                    CUstream stream)
{
	set(s, rc, dst, n * element_bytes(s), stream, true);
}

void args_set_2d(struct spy_span *s, CUresult rc, CUdeviceptr dst, size_t pitch, unsigned value,
                 size_t width, size_t height)
{
	set(s, rc, dst, width * height * element_bytes(s), NULL, false);
}

void args_set_2d_async(struct spy_span *s, CUresult rc, CUdeviceptr dst, size_t pitch,
                       unsigned value, size_t width, size_t height, CUstream stream)
{
	set(s, rc, dst, width * height * element_bytes(s), stream, true);
}
