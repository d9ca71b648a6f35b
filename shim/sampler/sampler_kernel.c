/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_kernel.h"

#include "shim/core/cuda/communication.h"
#include "shim/base/gate.h"
#include "shim/handles/registry.h"
#include "shim/sampler/sampler_class.h"
#include "shim/sampler/sampler_section.h"
#include "shim/sampler/sampler_thread.h"

/* Questions of one thread: with more classes than places the same ones would be new again and
 * again. */
#define ASKED_MOST (2 * SAMPLER_CLASSES)

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

static void ask(uint32_t warps_per_sm, const void *function, const struct tf_record *r)
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

void kernel_facts(const struct sampler_context *c, const void *function, const struct tf_record *r)
{
	ask(c->warps_per_sm, function, r);
}

static void ask_here(const void *function, const struct tf_record *r)
{
	CUstreamCaptureMode mode;
	CUdevice device;

	if (!section_enter(&mode))
		return;
	if (sampler_cu.get_device(&device) == CUDA_SUCCESS)
		ask(sampler_warps_per_sm(device), function, r);
	section_leave(&mode);
}

bool kernel_meet(const struct spy_span *s, uint64_t key, const void *what)
{
	struct sampler *m = spy_tls.thread && sampler_driver_found() ? sampler_mine() : NULL;

	if (!m)
		return false;
	m->met = NULL; /* else of a call that never returned */
	if (!key || !what || s->cls != SPY_CLASS_LAUNCH || m->asked == ASKED_MOST ||
	    class_find(m->classes, key))
		return false;
	class_place(m->classes, key, &m->random);
	m->asked++;
	m->met = s;
	m->function = what;
	return true;
}

void kernel_met(const struct spy_span *s, CUresult rc)
{
	struct sampler *m = spy_tls.sampler;
	struct spy_span *o = spy_outer();

	if (!m || m->met != s)
		return;
	m->met = NULL;
	/* Inside another kind of call the record is of no launch. */
	if (rc != CUDA_SUCCESS || !spy_recording(o) || o->cls != s->cls ||
	    (o->rec->flags & (TF_NO_ARGS | TF_CAPTURED)))
		return;
	/* In the call's time: its start, which CUPTI knows it by, must not move. */
	ask_here(m->function, o->rec);
}
