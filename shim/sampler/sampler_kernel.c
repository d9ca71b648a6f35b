/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_kernel.h"

#include "shim/core/cuda/communication.h"
#include "shim/base/gate.h"
#include "shim/handles/registry.h"

bool kernel_communicates(const void *function)
{
	const struct tf_header *h = tf_header(&spy_map);
	uint32_t kernel = TF_KERNEL_UNKNOWN;

	if (!registry_get(HANDLE_FUNCTION, (uintptr_t)function, &kernel))
		return true;
	const struct tf_kernel *k = tf_entry(&spy_map, &h->kernels, kernel, sizeof(*k));
	const struct tf_string *name = k ? tf_at(&spy_map, k->name, sizeof(*name)) : NULL;
	return !name || cuda_may_communicate(name->text);
}

struct facts {
	int blocks, registers, shared_bytes;
};

static bool tells(CUfunction f, int threads, const struct tf_record *r, struct facts *to)
{
	return !sampler_cu.occupancy(&to->blocks, f, threads, r->launch.shared_bytes) &&
	       !sampler_cu.function_attribute(&to->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f) &&
	       !sampler_cu.function_attribute(&to->shared_bytes,
	                                      CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f);
}

/* Since CUDA 12 the runtime launches by CUkernel, of which the driver (580) does not tell all of
 * this; of its function it does. It was launched, so its code is loaded in this context. */
static bool kernel_tells(const void *function, int threads, const struct tf_record *r,
                         struct facts *to)
{
	CUfunction f = NULL;

	return sampler_cu.kernel_function &&
	       sampler_cu.kernel_function(&f, (CUkernel)function) == CUDA_SUCCESS &&
	       tells(f, threads, r, to);
}

void kernel_ask(uint32_t warps_per_sm, const void *function, const struct tf_record *r)
{
	int threads = r->launch.block_x * r->launch.block_y * r->launch.block_z;
	struct facts known = {0};

	if (threads <= 0 || (!tells((CUfunction)function, threads, r, &known) &&
	                     !kernel_tells(function, threads, r, &known)))
		return;
	struct tf_record facts = *r;
	facts.call = TF_CALL_FACTS;
	facts.end = 0;
	facts.start = (uint64_t)(known.registers & 0xffff) |
	              (uint64_t)(known.blocks & 0xffff) << 16 |
	              (uint64_t)(warps_per_sm & 0xffff) << 32 |
	              (uint64_t)(known.shared_bytes < 0xffff ? known.shared_bytes : 0xffff) << 48;
	span_push_aside(&facts);
}
