/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/args/args.h"
#include "shim/cupti/cupti.h"
#include "shim/base/gate.h"
#include "shim/handles/contexts.h"
#include "shim/handles/memory_map.h"
#include "shim/real/real.h"
#include "shim/handles/registry.h"
#include "shim/sampler/sampler.h"

typedef CUresult (*get_state_t)(CUdevice, unsigned *, int *);

static void drop_context(uint64_t context, bool gone)
{
	sampler_context_died(context, gone);
	registry_drop_context(context);
	memory_map_drop_context(context);
}

/* The driver is about to destroy it. */
static void context_dies(uint64_t context)
{
	drop_context(context, false);
}

/* It has been destroyed. */
static void context_died(uint64_t context)
{
	drop_context(context, true);
}

/* CUPTI is set up before the driver is. */
void before_init(struct spy_span *s, unsigned flags)
{
	cupti_before_init();
}

void args_init(struct spy_span *s, CUresult rc, unsigned flags)
{
	if (rc == CUDA_SUCCESS && spy_start()) /* this very call */
		spy_first_call(spy_outer());
}

void before_context_destroy(struct spy_span *s, CUcontext context)
{
	sampler_contexts_end();
	context_dies((uintptr_t)context);
}

void args_context_destroy(struct spy_span *s, CUresult rc, CUcontext context)
{
	if (rc != CUDA_SUCCESS)
		sampler_context_survived((uintptr_t)context);
	else
		captures_context_gone((uintptr_t)context);
}

/* ---- what is current ---- */

/* Which device the calling thread works on from now on: in arg[0], one higher; 0 = unknown. */
static void current_changed(struct spy_span *s)
{
	struct tf_record *r = spy_args_target(s);
	uint64_t context = r ? contexts_current() : 0;

	sampler_context_changed();
	if (!r)
		return;
	r->arg[0] = context ? (uint64_t)(contexts_device(context) + 1) : 0;
}

void args_context_current(struct spy_span *s, CUresult rc, CUcontext context)
{
	current_changed(s);
}

void args_context_pop(struct spy_span *s, CUresult rc, CUcontext *context)
{
	current_changed(s);
}

void args_context_created(struct spy_span *s, CUresult rc, CUcontext *context, unsigned flags,
                          CUdevice device)
{
	current_changed(s);
}

void args_primary_retain(struct spy_span *s, CUresult rc, CUcontext *context, CUdevice device)
{
	if (rc == CUDA_SUCCESS && context && *context)
		contexts_learn_primary((uintptr_t)*context, device);
}

void before_primary_reset(struct spy_span *s, CUdevice device)
{
	sampler_contexts_end();
	contexts_of_device(device, context_dies);
}

void args_primary_reset(struct spy_span *s, CUresult rc, CUdevice device)
{
	if (rc != CUDA_SUCCESS)
		contexts_of_device(device, sampler_context_survived);
	else
		captures_context_gone(contexts_primary(device));
}

void before_primary_release(struct spy_span *s, CUdevice device)
{
	sampler_contexts_end();
}

/* The last release destroys the context and all that lived in it. */
void args_primary_release(struct spy_span *s, CUresult rc, CUdevice device)
{
	get_state_t get_state = (get_state_t)spy_driver_symbol("cuDevicePrimaryCtxGetState");
	unsigned flags;
	int active = 1;

	if (rc == CUDA_SUCCESS && get_state && get_state(device, &flags, &active) == CUDA_SUCCESS &&
	    !active) {
		contexts_of_device(device, context_died);
		captures_context_gone(contexts_primary(device));
	}
}

/* ---- cuProfilerStart, cuProfilerStop: CUDASPY_RANGE=profiler ---- */

void args_profiler_start(struct spy_span *s, CUresult rc)
{
	if (spy_map.base && tf_header(&spy_map)->range_mode == TF_RANGE_PROFILER)
		spy_range_open(true);
}

void before_profiler_stop(struct spy_span *s)
{
	if (spy_map.base && tf_header(&spy_map)->range_mode == TF_RANGE_PROFILER)
		spy_range_open(false);
}

void args_profiler_stop(struct spy_span *s, CUresult rc)
{
}
