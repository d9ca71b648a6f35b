#include "shim/args/args.h"
#include "shim/cupti/cupti.h"
#include "shim/life/lifecycle.h"
#include "shim/handles/memory_map.h"
#include "shim/base/real.h"
#include "shim/handles/registry.h"
#include "shim/sampler/sampler.h"

#define CONTEXTS 64

typedef CUresult (*get_current_t)(CUcontext *);
typedef CUresult (*get_device_t)(CUdevice *);
typedef CUresult (*get_state_t)(CUdevice, unsigned *, int *);

/* Contexts seen, and the device each is on: what a reset of the device takes with it. Under the
 * shim's lock. */
static struct {
	uint64_t context;
	int device;
} contexts[CONTEXTS];

static void learn_context(uint64_t context, int device)
{
	spy_lock();
	for (int i = 0; i < CONTEXTS; i++) {
		if (contexts[i].context && contexts[i].context != context)
			continue;
		contexts[i].context = context;
		contexts[i].device = device;
		break;
	}
	spy_unlock();
}

static bool knows_context(uint64_t context)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (__atomic_load_n(&contexts[i].context, __ATOMIC_RELAXED) == context)
			return true;
	return false;
}

bool spy_device_used(int device)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (__atomic_load_n(&contexts[i].context, __ATOMIC_RELAXED) &&
		    __atomic_load_n(&contexts[i].device, __ATOMIC_RELAXED) == device)
			return true;
	return false;
}

uint64_t spy_current_context(void)
{
	static get_current_t get_current;
	static get_device_t get_device;
	CUcontext context = NULL;
	CUdevice device;

	if (!get_current) {
		get_device = (get_device_t)spy_driver_symbol("cuCtxGetDevice");
		get_current = (get_current_t)spy_driver_symbol("cuCtxGetCurrent");
	}
	if (!get_current || get_current(&context) != CUDA_SUCCESS || !context)
		return 0;
	if (!knows_context((uintptr_t)context) && get_device && get_device(&device) == CUDA_SUCCESS)
		learn_context((uintptr_t)context, device);
	return (uintptr_t)context;
}

static void context_died(uint64_t context)
{
	sampler_context_died(context);
	registry_drop_context(context);
	memory_map_drop_context(context);
}

static void device_contexts(int device, void (*f)(uint64_t context))
{
	for (int i = 0; i < CONTEXTS; i++)
		if (contexts[i].context && contexts[i].device == device)
			f(contexts[i].context);
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
	context_died((uintptr_t)context);
}

void args_context_destroy(struct spy_span *s, CUresult rc, CUcontext context)
{
	if (rc != CUDA_SUCCESS)
		sampler_context_survived((uintptr_t)context);
}

/* ---- what is current ---- */

/* Which device the calling thread works on from now on: in arg[0], one higher; 0 = unknown. */
static void current_changed(struct spy_span *s)
{
	struct tf_record *r = spy_args_target(s);
	uint64_t context = r ? spy_current_context() : 0;

	sampler_context_changed();
	if (!r)
		return;
	r->arg[0] = 0;
	for (int i = 0; context && i < CONTEXTS; i++)
		if (__atomic_load_n(&contexts[i].context, __ATOMIC_RELAXED) == context)
			r->arg[0] = (uint64_t)contexts[i].device + 1;
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
	if (rc == CUDA_SUCCESS && context && *context && !knows_context((uintptr_t)*context))
		learn_context((uintptr_t)*context, device);
}

void before_primary_reset(struct spy_span *s, CUdevice device)
{
	sampler_contexts_end();
	device_contexts(device, context_died);
}

void args_primary_reset(struct spy_span *s, CUresult rc, CUdevice device)
{
	if (rc != CUDA_SUCCESS)
		device_contexts(device, sampler_context_survived);
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
	    !active)
		device_contexts(device, context_died);
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
