/* SPDX-License-Identifier: Apache-2.0 */
/* The same work by the runtime that this is linked with: a kernel registered as nvcc's constructors
 * do, launched as its stubs do. Another runtime than this one does not know the kernel. */
#include <cuda_runtime_api.h>
#include <stdio.h>

int plugin_run(unsigned launches);
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);

static struct {
	int magic, version;
	const void *data;
	void *filename;
} fatbin = {0x466243b1, 1, "simcuda 1\nkernel runtime_work fixed:1000\n", NULL};

/* Its address stands for the kernel. */
static void runtime_work(void)
{
}

static void __attribute__((constructor)) register_kernel(void)
{
	void **handle = __cudaRegisterFatBinary(&fatbin);

	__cudaRegisterFunction(handle, (const char *)runtime_work, "runtime_work", "runtime_work",
	                       -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(handle);
}

#define TRY(call)                                                                                  \
	do {                                                                                       \
		cudaError_t rc = (call);                                                           \
		if (rc != cudaSuccess) {                                                           \
			printf("%s: error %d\n", #call, (int)rc);                                  \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

int plugin_run(unsigned launches)
{
	dim3 one = {1, 1, 1};
	void *buffer;
	int version;

	TRY(cudaMalloc(&buffer, 4096));
	TRY(cudaMemset(buffer, 0, 4096));
	for (unsigned i = 0; i < launches; i++)
		TRY(cudaLaunchKernel((const void *)runtime_work, one, one, NULL, 0, NULL));
	TRY(cudaDeviceSynchronize());
	TRY(cudaFree(buffer));
	TRY(cudaRuntimeGetVersion(&version));
	printf("runtime %d launched %u\n", version / 1000, launches);
	return 0;
}
