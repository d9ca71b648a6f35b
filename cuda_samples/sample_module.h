/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of sample_chain.h as code that a program loads itself, through the driver.  Included by
 * module_load_every_step and its fixed twin. */
#pragma once
#include <cuda.h>
#include "cuda_samples/sample_chain.h"

/* Kernels of a step, each a module of its own, and the rounds of the one that is launched: 30 us,
 * or 55 on the H200, whose driver makes longer code of the loop below than nvcc does.  There a
 * module's load and unload take 35 to 55 us. */
#define MODULES       4
#define MODULE_ROUNDS CHAIN_US(30)

#define CHECK_DRIVER(call) module_check(#call, (call))

static inline void module_check(const char *what, CUresult rc)
{
	const char *name = "unknown error";

	if (rc == CUDA_SUCCESS)
		return;
	cuGetErrorName(rc, &name);
	sample_die(what, name);
}

#ifdef __CUDACC__
static const char module_image[] = R"(
.version 6.3
.target sm_50
.address_size 64
.visible .entry loaded_chain(.param .u64 value, .param .u32 rounds)
{
	.reg .pred %more;
	.reg .b32 %v, %left, %factor, %summand;
	.reg .b64 %at;
	ld.param.u64 %at, [value];
	ld.param.u32 %left, [rounds];
	cvta.to.global.u64 %at, %at;
	ld.global.u32 %v, [%at];
	mov.u32 %factor, 1664525;
	mov.u32 %summand, 1013904223;
again:
	mad.lo.u32 %v, %v, %factor, %summand;
	sub.u32 %left, %left, 1;
	setp.ne.u32 %more, %left, 0;
	@%more bra again;
	st.global.u32 [%at], %v;
	ret;
}
)";
#else
static const char module_image[] = "simcuda 1\nkernel loaded_chain arg:1:2\n";
#endif

static inline CUmodule module_load(CUfunction *function)
{
	CUmodule module;

	CHECK_DRIVER(cuModuleLoadData(&module, module_image));
	CHECK_DRIVER(cuModuleGetFunction(function, module, "loaded_chain"));
	return module;
}

/* One thread: more of them would race for the value. */
static inline void module_launch(CUfunction function, unsigned *value, unsigned rounds,
                                 cudaStream_t stream)
{
	void *args[] = {&value, &rounds};

	CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, args, nullptr));
	sample_count_launch("loaded_chain");
}
