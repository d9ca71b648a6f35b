/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of the end-to-end tests share: the driver started, and work to be counted.
 * Included once by each of them; they use the driver alone, so the simulator counts what the
 * program called, and only calls that are recorded. */
#pragma once
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) work_check(#call, (call))

static CUcontext work_context;
static CUfunction work_short, work_long;

static inline void work_check(const char *what, CUresult rc)
{
	if (rc == CUDA_SUCCESS)
		return;
	printf("%s: error %d\n", what, (int)rc);
	_Exit(99);
}

/* WORK_SHORT_NS: how long short_work takes. */
static inline void work_start(void)
{
	const char *ns = getenv("WORK_SHORT_NS");
	char image[128];
	CUmodule module;

	snprintf(image, sizeof(image),
	         "simcuda 1\nkernel short_work fixed:%.9s\nkernel long_work fixed:60000000000\n",
	         ns ? ns : "500");
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&work_context, 0));
	CHECK(cuCtxSetCurrent(work_context));
	CHECK(cuModuleLoadData(&module, image));
	CHECK(cuModuleGetFunction(&work_short, module, "short_work"));
	CHECK(cuModuleGetFunction(&work_long, module, "long_work"));
}

static inline CUresult work_launch(CUfunction function, CUstream stream)
{
	return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
}

static inline void work_launches(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		CHECK(work_launch(work_short, NULL));
}
