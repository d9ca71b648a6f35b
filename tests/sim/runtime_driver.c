/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the driver: the same doors, in the same order, as libcudart 11.8, 12.9 and 13.0. */
#include <dlfcn.h>
#include <stdio.h>
#include "tests/sim/runtime.h"

struct request {
	const char *elf;
	const char *name;
	int version;
	int flags;
	int first;
	int last;
};

static const struct request requests[RT_SLOTS] = {
#define SLOT(elf, base, version, flags, first, last) {#elf, #base, version, flags, first, last},
#include "tests/sim/runtime_slots.h"
#undef SLOT
};

typedef CUresult look_up_4(const char *, void **, int, cuuint64_t);
typedef CUresult look_up_5(const char *, void **, int, cuuint64_t,
                           CUdriverProcAddressQueryResult *);

void *rt_slot[RT_SLOTS];

/* The look-up in use: CUDA 11 has four arguments, later ones five. */
static void *look_up;

static CUresult missing(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult ask(const char *name, void **address, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult *status)
{
	if (SIM_CUDART >= 12)
		return ((look_up_5 *)look_up)(name, address, version, flags, status);
	return ((look_up_4 *)look_up)(name, address, version, flags);
}

/* What the program asks through cudaGetDriverEntryPoint goes the way of the runtime's own requests.
 */
CUresult rt_driver_find(const char *name, void **address, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
	return look_up ? ask(name, address, version, flags, status) : CUDA_ERROR_NOT_SUPPORTED;
}

/* A driver without the look-up, or a stub library, sends the runtime to plain symbols. */
static void *find_look_up(void *handle)
{
	void *p = NULL;

	look_up = dlsym(handle, SIM_CUDART >= 12 ? "cuGetProcAddress_v2" : "cuGetProcAddress");
	if (!look_up)
		return NULL;
	if (SIM_CUDART >= 12)
		return ask("", &p, 0, 0, NULL) == CUDA_ERROR_STUB_LIBRARY ? NULL : look_up;
	/* 11 asks for the look-up by itself, and uses the answer from here on. */
	return ask("cuGetProcAddress", &p, 11030, 0, NULL) == CUDA_SUCCESS ? p : NULL;
}

static void *resolve(void *handle, const struct request *r)
{
	CUdriverProcAddressQueryResult status;
	void *p = NULL;

	if (!look_up)
		return dlsym(handle, r->elf);
	if (ask(r->name, &p, r->version, r->flags, &status) != CUDA_SUCCESS)
		return NULL;
	return p;
}

cudaError_t rt_driver_load(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW);
	int version = 0;

	for (int i = 0; i < RT_SLOTS; i++)
		rt_slot[i] = (void *)missing;
	if (!handle)
		return cudaErrorInsufficientDriver;
	look_up = find_look_up(handle);
	for (int i = 0; i < RT_SLOTS; i++) {
		const struct request *r = &requests[i];
		void *p;

		if (SIM_CUDART < r->first || SIM_CUDART > r->last)
			continue;
		p = resolve(handle, r);
		if (!p)
			continue;
		rt_slot[i] = p;
		/* 12 and 13 find their look-up anew, and use that for all that follows. */
		if (i == SLOT_cuGetProcAddress_v2 && look_up)
			look_up = p;
	}
	if (DRV(cuDriverGetVersion)(&version) != CUDA_SUCCESS || version < SIM_CUDART * 1000)
		return cudaErrorInsufficientDriver;
	return cudaSuccess;
}
