/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases ROUNDS [PAUSE [BEFORE]]: BEFORE ms without CUDA, half a second of start-up, then in turns
 * 400 steps of training (two short kernels, each waited for, an NVTX range train) and 40 of
 * evaluation (a copy to the device and two long kernels, waited for together, a range eval), after
 * PAUSE ms.
 */
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else
#define nvtxRangePushA(name)
#define nvtxRangePop()
#endif
#include <time.h>
#include "tests/e2e/programs/work.h"

static void work(long us)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < us);
}

static CUfunction of(const char *name)
{
	static const char image[] =
	        "simcuda 1\nkernel train fixed:30000\nkernel eval fixed:400000\n";
	CUmodule module;
	CUfunction function;

	CHECK(cuModuleLoadData(&module, image));
	CHECK(cuModuleGetFunction(&function, module, name));
	return function;
}

int main(int argc, char **argv)
{
	CUdeviceptr memory;
	CUstream stream;
	void *pinned;

	work(argc > 3 ? atol(argv[3]) * 1000 : 0);
	work_start();
	for (int i = 0; i < 50; i++) {
		of("train");
		work(10000);
	}
	CUfunction train = of("train"), eval = of("eval");
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&memory, 4096));
	CHECK(cuMemAllocHost(&pinned, 4096));
	for (int round = 0; round < atoi(argv[1]); round++) {
		for (int i = 0; i < 400; i++) {
			nvtxRangePushA("train");
			for (int k = 0; k < 2; k++) {
				CHECK(work_launch(train, stream));
				CHECK(cuStreamSynchronize(stream));
				work(20);
			}
			nvtxRangePop();
		}
		work(argc > 2 ? atol(argv[2]) * 1000 : 0);
		for (int i = 0; i < 40; i++) {
			nvtxRangePushA("eval");
			CHECK(cuMemcpyHtoDAsync(memory, pinned, 4096, stream));
			for (int k = 0; k < 2; k++)
				CHECK(work_launch(eval, stream));
			CHECK(cuStreamSynchronize(stream));
			nvtxRangePop();
		}
	}
	return 0;
}
