/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_calls: what each call of the runtime returns, for whatever libcudart this is run with; a
 * shim between the two must not change a line of it. Addresses and times are not printed.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#define SHOW(call) printf("%s = %d\n", #call, (int)(call))

static void no_kernel(void)
{
}

int main(void)
{
	dim3 one = {1, 1, 1};
	char host[64] = "host", back[64] = "";
	void *device = NULL, *pinned = NULL, *async = NULL;
	cudaStream_t stream = NULL;
	cudaEvent_t event = NULL;
	int count = -1, version = -1;

	SHOW(cudaRuntimeGetVersion(&version));
	printf("runtime %d\n", version / 1000);
	SHOW(cudaGetDeviceCount(&count));
	printf("devices %d\n", count);
	SHOW(cudaMalloc(&device, 64));
	printf("allocated %d\n", device != NULL);
	SHOW(cudaMallocHost(&pinned, 64));
	SHOW(cudaHostRegister(host, sizeof(host), 0));
	SHOW(cudaMemcpy(device, host, 64, cudaMemcpyHostToDevice));
	SHOW(cudaMemcpyAsync(back, device, 64, cudaMemcpyDeviceToHost, NULL));
	SHOW(cudaMemset(device, 0, 64));
	SHOW(cudaStreamCreate(&stream));
	SHOW(cudaEventCreate(&event));
	SHOW(cudaMallocAsync(&async, 64, stream));
	SHOW(cudaLaunchKernel((const void *)no_kernel, one, one, NULL, 0, stream));
	SHOW(cudaPeekAtLastError());
	SHOW(cudaLaunchCooperativeKernel((const void *)no_kernel, one, one, NULL, 0, NULL));
	SHOW(cudaEventRecord(event, stream));
	SHOW(cudaStreamWaitEvent(stream, event, 0));
	SHOW(cudaStreamSynchronize(stream));
	SHOW(cudaEventSynchronize(event));
	SHOW(cudaDeviceSynchronize());
	SHOW(cudaGraphLaunch(NULL, stream));
	SHOW(cudaFreeAsync(async, stream));
	SHOW(cudaFree(device));
	SHOW(cudaFree(NULL));
	SHOW(cudaFreeHost(pinned));
	SHOW(cudaHostUnregister(host));
	SHOW(cudaGetLastError());
	printf("%s\n", cudaGetErrorName(cudaGetLastError()));
	return 0;
}
