/* SPDX-License-Identifier: Apache-2.0 */
/* The work that each way of finding the driver's functions is tried with: a context, a module, a
 * buffer, launches, a wait. Included by drive_*.c, which differ in the way alone. */
#pragma once
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdio.h>

/* X(ELF symbol, name and version for cuGetProcAddress) */
#define DRIVE_CALLS(X)                                                                             \
	X(cuInit, "cuInit", 2000)                                                                  \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000)                              \
	X(cuCtxSetCurrent, "cuCtxSetCurrent", 4000)                                                \
	X(cuModuleLoadData, "cuModuleLoadData", 2000)                                              \
	X(cuModuleGetFunction, "cuModuleGetFunction", 2000)                                        \
	X(cuMemAlloc_v2, "cuMemAlloc", 3020)                                                       \
	X(cuLaunchKernel, "cuLaunchKernel", 4000)                                                  \
	X(cuCtxSynchronize, "cuCtxSynchronize", 2000)                                              \
	X(cuMemFree_v2, "cuMemFree", 3020)

struct drive_calls {
#define X(name, base, version) __typeof__(name) *name;
	DRIVE_CALLS(X)
#undef X
};

/* What a program or a plugin is entered by; 0 where all went well. */
int plugin_run(unsigned launches);

#define DRIVE(call)                                                                                \
	do {                                                                                       \
		CUresult rc = d->call;                                                             \
		if (rc != CUDA_SUCCESS) {                                                          \
			printf("%s: error %d\n", #call, (int)rc);                                  \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

/* Makes each call once, but for the launches. */
static inline int drive(const struct drive_calls *d, unsigned launches)
{
	static const char image[] = "simcuda 1\nkernel driven fixed:1000\n";
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUdeviceptr buffer;

	DRIVE(cuInit(0));
	DRIVE(cuDevicePrimaryCtxRetain(&context, 0));
	DRIVE(cuCtxSetCurrent(context));
	DRIVE(cuModuleLoadData(&module, image));
	DRIVE(cuModuleGetFunction(&function, module, "driven"));
	DRIVE(cuMemAlloc_v2(&buffer, 4096));
	for (unsigned i = 0; i < launches; i++)
		DRIVE(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	DRIVE(cuCtxSynchronize());
	DRIVE(cuMemFree_v2(buffer));
	return 0;
}
