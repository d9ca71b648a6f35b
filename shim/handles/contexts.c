/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/handles/contexts.h"

#include "shim/base/cuda_types.h"
#include "shim/base/gate.h"
#include "shim/real/real.h"

#define CONTEXTS 64
#define DEVICES  64

typedef CUresult (*get_current_t)(CUcontext *);
typedef CUresult (*get_device_t)(CUdevice *);

/* Contexts seen, and the device each is on: what a reset of the device takes with it. Under the
 * shim's lock. */
static struct {
	uint64_t context;
	int device;
} contexts[CONTEXTS];

static uint64_t primary[DEVICES];

static void learn(uint64_t context, int device)
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

static bool knows(uint64_t context)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (__atomic_load_n(&contexts[i].context, __ATOMIC_RELAXED) == context)
			return true;
	return false;
}

bool contexts_use_device(int device)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (__atomic_load_n(&contexts[i].context, __ATOMIC_RELAXED) &&
		    __atomic_load_n(&contexts[i].device, __ATOMIC_RELAXED) == device)
			return true;
	return false;
}

uint64_t contexts_current(void)
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
	if (!knows((uintptr_t)context) && get_device && get_device(&device) == CUDA_SUCCESS)
		learn((uintptr_t)context, device);
	return (uintptr_t)context;
}

void contexts_learn_primary(uint64_t context, int device)
{
	if (!knows(context))
		learn(context, device);
	if (device >= 0 && device < DEVICES)
		__atomic_store_n(&primary[device], context, __ATOMIC_RELAXED);
}

uint64_t contexts_primary(int device)
{
	return device >= 0 && device < DEVICES ? __atomic_load_n(&primary[device], __ATOMIC_RELAXED)
	                                       : 0;
}

int contexts_device(uint64_t context)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (__atomic_load_n(&contexts[i].context, __ATOMIC_RELAXED) == context)
			return contexts[i].device;
	return -1;
}

void contexts_of_device(int device, void (*f)(uint64_t context))
{
	for (int i = 0; i < CONTEXTS; i++)
		if (contexts[i].context && contexts[i].device == device)
			f(contexts[i].context);
}
