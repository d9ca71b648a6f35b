/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_api: the driver alone, linked with -lcuda: no runtime stands between the program and cu*
 * calls.
 *
 * A correct report names the calls as the program made them (level driver), counts one launch of
 * triple, one pinned copy in and one pageable copy out for each iteration, and finds the kernel's
 * name in the module it was loaded from.
 *
 *     driver_api [ITERATIONS]
 */
#include <cuda.h>
#include "cuda_samples/sample_counts.h"

#define CHECK(call) check(#call, (call))

static void check(const char *what, CUresult rc)
{
	const char *name = "unknown error";

	if (rc == CUDA_SUCCESS)
		return;
	cuGetErrorName(rc, &name);
	sample_die(what, name);
}

/* values[i] = 3 * values[i] for i < n, in a form both a GPU and the simulation can load. */
#ifdef __CUDACC__
static const char image[] = R"(
.version 6.3
.target sm_50
.address_size 64
.visible .entry triple(.param .u64 values, .param .u32 n)
{
	.reg .pred %out;
	.reg .b32 %i, %block, %thread, %size, %n, %v;
	.reg .b64 %base, %offset, %at;
	ld.param.u64 %base, [values];
	ld.param.u32 %n, [n];
	mov.u32 %block, %ctaid.x;
	mov.u32 %size, %ntid.x;
	mov.u32 %thread, %tid.x;
	mad.lo.u32 %i, %block, %size, %thread;
	setp.ge.u32 %out, %i, %n;
	@%out bra done;
	cvta.to.global.u64 %base, %base;
	mul.wide.u32 %offset, %i, 4;
	add.u64 %at, %base, %offset;
	ld.global.u32 %v, [%at];
	mul.lo.u32 %v, %v, 3;
	st.global.u32 [%at], %v;
done:
	ret;
}
)";
#else
static const char image[] = "simcuda 1\nkernel triple fixed:4000\n";
#endif

static CUcontext start(CUdevice *device)
{
	CUcontext context;
	char name[256];

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(device, 0));
	CHECK(cuDeviceGetName(name, sizeof(name), *device));
	sample_device_name(name);
	CHECK(cuDevicePrimaryCtxRetain(&context, *device));
	CHECK(cuCtxSetCurrent(context));
	return context;
}

/* One step: copy in, triple, copy out, wait. */
static void step(CUfunction triple, CUdeviceptr values, unsigned *in, unsigned *out, unsigned n,
                 CUstream stream)
{
	size_t bytes = n * sizeof(*in);
	void *args[] = {&values, &n};

	CHECK(cuMemcpyHtoDAsync(values, in, bytes, stream));
	sample_count_copy(HTOD, PINNED, bytes);
	CHECK(cuLaunchKernel(triple, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, args, nullptr));
	sample_count_launch("triple");
	CHECK(cuStreamSynchronize(stream));
	sample_counted.syncs++;
	CHECK(cuMemcpyDtoH(out, values, bytes));
	sample_count_copy(DTOH, PAGEABLE, bytes);
}

int main(int argc, char **argv)
{
	const unsigned n = 10000;
	unsigned iterations = sample_argument(argc, argv, 1, 200);
	unsigned *in, *out = (unsigned *)calloc(n, sizeof(*out));
	CUdevice device;
	CUmodule module;
	CUfunction triple;
	CUdeviceptr values;
	CUstream stream;

	start(&device);
	CHECK(cuModuleLoadData(&module, image));
	CHECK(cuModuleGetFunction(&triple, module, "triple"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&values, n * sizeof(*in)));
	CHECK(cuMemHostAlloc((void **)&in, n * sizeof(*in), 0));
	sample_counted.allocs += 2;
	for (unsigned it = 0; it < iterations; it++) {
		for (unsigned i = 0; i < n; i++)
			in[i] = i + it;
		step(triple, values, in, out, n, stream);
		for (unsigned i = 0; i < n; i++)
			sample_verify(out[i] == 3 * in[i]);
	}
	CHECK(cuMemFree(values));
	CHECK(cuMemFreeHost(in));
	sample_counted.allocs += 2;
	CHECK(cuStreamDestroy(stream));
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(device));
	free(out);
	return sample_finish();
}
