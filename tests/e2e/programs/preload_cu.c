/* SPDX-License-Identifier: Apache-2.0 */
/* A preload that exports two calls of the driver, counts them and goes on: by RTLD_NEXT, or, where
 * PRELOAD_CU is "handle", by a look-up in the driver. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

static unsigned launches, allocs, depth;

static void *find(const char *name)
{
	const char *how = getenv("PRELOAD_CU");
	void *from = how && !strcmp(how, "handle") ? dlopen("libcuda.so.1", RTLD_NOW) : RTLD_NEXT;
	void *p = dlsym(from, name);

	if (!p) {
		printf("preload_cu: no %s\n", name);
		exit(3);
	}
	return p;
}

static void enter(void)
{
	if (++depth > 1) {
		printf("preload_cu: called by itself\n");
		exit(4);
	}
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
                        void **extra)
{
	static __typeof__(cuLaunchKernel) *next;

	enter();
	launches++;
	if (!next)
		next = find("cuLaunchKernel");
	CUresult rc = next(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
	depth--;
	return rc;
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes)
{
	static __typeof__(cuMemAlloc_v2) *next;

	enter();
	allocs++;
	if (!next)
		next = find("cuMemAlloc_v2");
	CUresult rc = next(p, bytes);
	depth--;
	return rc;
}

static void __attribute__((destructor)) say(void)
{
	printf("preload_cu: launches %u allocs %u\n", launches, allocs);
}
