/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staged STEPS BYTES in|out sync|async KERNEL_NS: in each step a kernel that runs for so long (0:
 * none), a copy of pageable memory behind it, to the device or from it, and 50 us on the host.
 */
#include <string.h>
#include <time.h>
#include "tests/e2e/programs/work.h"

static CUfunction kernel_of(const char *ns)
{
	char image[128];
	CUmodule module;
	CUfunction kernel;

	snprintf(image, sizeof(image), "simcuda 1\nkernel ahead fixed:%s\n", ns);
	CHECK(cuModuleLoadData(&module, image));
	CHECK(cuModuleGetFunction(&kernel, module, "ahead"));
	return kernel;
}

int main(int argc, char **argv)
{
	const struct timespec pause = {0, 50000};

	if (argc != 6)
		return 2;
	int steps = atoi(argv[1]);
	size_t bytes = (size_t)atoll(argv[2]);
	int in = !strcmp(argv[3], "in"), async = !strcmp(argv[4], "async"),
	    kernels = strcmp(argv[5], "0");
	work_start();
	CUfunction ahead = kernel_of(argv[5]);
	void *host = calloc(1, bytes);
	CUdeviceptr device;
	CUstream stream;

	CHECK(cuMemAlloc(&device, bytes));
	CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	for (int i = 0; i < steps; i++) {
		if (kernels)
			CHECK(work_launch(ahead, async ? stream : NULL));
		if (async)
			CHECK(in ? cuMemcpyHtoDAsync(device, host, bytes, stream)
			         : cuMemcpyDtoHAsync(host, device, bytes, stream));
		else
			CHECK(in ? cuMemcpyHtoD(device, host, bytes)
			         : cuMemcpyDtoH(host, device, bytes));
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	CHECK(cuCtxSynchronize());
	return 0;
}
