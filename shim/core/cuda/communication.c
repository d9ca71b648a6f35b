/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/cuda/communication.h"

#include <stddef.h>
#include <string.h>

#define KERNELS 2

static const struct {
	const char *library;          /* stands in all names of it */
	const char *kernels[KERNELS]; /* stand in those of its kernels that communicate */
} libraries[] = {
        {"nccl", {"ncclDevKernel", "ncclKernel"}},
        {"nvshmem", {"nvshmem"}},
};
#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

bool cuda_communicates(const char *kernel)
{
	for (size_t i = 0; i < LIBRARIES; i++)
		for (size_t k = 0; k < KERNELS && libraries[i].kernels[k]; k++)
			if (strstr(kernel, libraries[i].kernels[k]))
				return true;
	return false;
}

bool cuda_may_communicate(const char *kernel)
{
	for (size_t i = 0; i < LIBRARIES; i++)
		if (strstr(kernel, libraries[i].library))
			return true;
	return false;
}
