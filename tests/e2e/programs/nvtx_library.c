/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_library STEPS [whole]: each step launches eight times and waits; two of the launches lie in
 * ranges of a library's own domain, as CUB names its reductions. With "whole" all of a step does,
 * as where the library is the program's own.
 */
#include <nvtx3/nvToolsExt.h>
#include "tests/e2e/programs/work.h"

int main(int argc, char **argv)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("CCCL");
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
	                           .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
	                           .messageType = NVTX_MESSAGE_TYPE_ASCII,
	                           .message.ascii = "cub::DeviceReduce::Sum"};
	int whole = argc > 2;
	CUfunction other;
	CUmodule module;

	work_start();
	CHECK(cuModuleLoadData(&module, "simcuda 1\nkernel other_work fixed:400\n"));
	CHECK(cuModuleGetFunction(&other, module, "other_work"));
	for (int i = 0; i < atoi(argv[1]); i++) {
		if (whole)
			nvtxDomainRangePushEx(domain, &a);
		CHECK(work_launch(other, NULL));
		work_launches(5);
		for (int k = 0; k < 2; k++) {
			if (!whole)
				nvtxDomainRangePushEx(domain, &a);
			work_launches(1);
			if (!whole)
				nvtxDomainRangePop(domain);
		}
		CHECK(cuCtxSynchronize());
		if (whole)
			nvtxDomainRangePop(domain);
	}
	return 0;
}
