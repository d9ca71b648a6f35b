/* SPDX-License-Identifier: Apache-2.0 */
/* Error names, texts and the thread's last error. */
#include "tests/sim/runtime.h"

struct error_name {
	cudaError_t code;
	const char *name;
};

/* One row an enumerator, read from the toolkit's header at build. */
static const struct error_name names[] = {
#define ERROR(code) {code, #code},
#include "sim/runtime_errors.h"
#undef ERROR
};

SIM_API cudaError_t cudaGetLastError(void)
{
	cudaError_t rc = rt_self.last_error;

	rt_self.last_error = cudaSuccess;
	return rc;
}

SIM_API cudaError_t cudaPeekAtLastError(void)
{
	return rt_self.last_error;
}

SIM_API const char *cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == error)
			return names[i].name;
	return "unrecognized error code";
}

/* The driver numbers its errors alike and describes them; without a driver the name must do. */
SIM_API const char *cudaGetErrorString(cudaError_t error)
{
	const char *text = NULL;

	if (rt_slot[SLOT_cuGetErrorString] &&
	    DRV(cuGetErrorString)((CUresult)error, &text) == CUDA_SUCCESS && text)
		return text;
	return cudaGetErrorName(error);
}
