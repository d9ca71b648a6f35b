/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_facts WAY: ten copies or sets that may be none, in one way, for copies_apart.py to ask
 * whether CUPTI has records of them. Without WAY: prints the ways.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		CUresult rc_ = (call);                                                             \
		if (rc_ != CUDA_SUCCESS) {                                                         \
			fprintf(stderr, "%s: error %d\n", #call, (int)rc_);                        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static CUstream stream;
static CUdeviceptr a, b;
static char *pinned, pageable[4096];

static CUresult rows(size_t width, size_t height)
{
	CUDA_MEMCPY2D p;

	memset(&p, 0, sizeof(p));
	p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	p.srcDevice = a;
	p.dstDevice = b;
	p.srcPitch = p.dstPitch = 64;
	p.WidthInBytes = width;
	p.Height = height;
	return cuMemcpy2DAsync(&p, stream);
}

#define WAYS(XX)                                                                                   \
	XX(plain_htod, cuMemcpyHtoDAsync(a, pinned, 64, stream))                                   \
	XX(zero_htod_async, cuMemcpyHtoDAsync(a, pinned, 0, stream))                               \
	XX(zero_htod_pageable, cuMemcpyHtoDAsync(a, pageable, 0, stream))                          \
	XX(zero_htod, cuMemcpyHtoD(a, pageable, 0))                                                \
	XX(zero_dtoh_async, cuMemcpyDtoHAsync(pinned, a, 0, stream))                               \
	XX(zero_dtoh, cuMemcpyDtoH(pageable, a, 0))                                                \
	XX(zero_dtod_async, cuMemcpyDtoDAsync(b, a, 0, stream))                                    \
	XX(zero_dtod, cuMemcpyDtoD(b, a, 0))                                                       \
	XX(zero_unified, cuMemcpyAsync(b, a, 0, stream))                                           \
	XX(zero_rows, rows(64, 0))                                                                 \
	XX(zero_width, rows(0, 8))                                                                 \
	XX(dtod_onto_itself, cuMemcpyDtoDAsync(a, a, 64, stream))                                  \
	XX(host_to_host_pinned,                                                                    \
	   cuMemcpyAsync((CUdeviceptr)pinned, (CUdeviceptr)(pinned + 64), 64, stream))             \
	XX(host_to_host_pageable,                                                                  \
	   cuMemcpy((CUdeviceptr)pageable, (CUdeviceptr)(pageable + 64), 64))                      \
	XX(small_htod_pageable, cuMemcpyHtoDAsync(a, pageable, 4, stream))                         \
	XX(small_dtoh_pageable, cuMemcpyDtoHAsync(pageable, a, 1, stream))                         \
	XX(zero_set, cuMemsetD8Async(a, 0, 0, stream))                                             \
	XX(plain_set, cuMemsetD8Async(a, 0, 64, stream))

static CUresult once(const char *way)
{
#define XX(name, call)                                                                             \
	if (!strcmp(way, #name))                                                                   \
		return call;
	WAYS(XX)
#undef XX
	return CUDA_ERROR_NOT_FOUND;
}

int main(int argc, char **argv)
{
	CUcontext context;
	int refused = 0;

	if (argc < 2) {
#define XX(name, call) printf("%s\n", #name);
		WAYS(XX)
#undef XX
		return 0;
	}
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&a, 4096));
	CHECK(cuMemAlloc(&b, 4096));
	CHECK(cuMemAllocHost((void **)&pinned, 4096));
	for (int i = 0; i < 10; i++)
		refused += once(argv[1]) != CUDA_SUCCESS;
	CHECK(cuCtxSynchronize());
	printf("refused=%d\n", refused);
	printf("result: ok\n");
	return 0;
}
