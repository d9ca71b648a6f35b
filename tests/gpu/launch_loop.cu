/* SPDX-License-Identifier: Apache-2.0 */
// A launch-only loop of null kernels: what a tool adds to each launch shows here undiluted.
//
//   launch_loop [COUNT [LOOPS]]     default 200000 launches, 1 loop
//
// Prints the seconds each loop took, measured inside: from before its first launch until its last launch returned.
// The GPU is waited for before and after, and is faster than the host here, so the launch queue never fills.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define WARM_UP 20000

__global__ void null_kernel() {}

static void check(cudaError_t rc, const char *what)
{
	if (rc == cudaSuccess)
		return;
	fprintf(stderr, "launch_loop: %s: %s\n", what, cudaGetErrorString(rc));
	exit(1);
}

static double launch(long count)
{
	auto start = std::chrono::steady_clock::now();

	for (long i = 0; i < count; i++)
		null_kernel<<<1, 32>>>();

	std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
	check(cudaGetLastError(), "launch");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	return taken.count();
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 200000;
	long loops = argc > 2 ? atol(argv[2]) : 1;
	int devices = 0;

	if (count < 1 || loops < 1) {
		fprintf(stderr, "usage: launch_loop [COUNT [LOOPS]]\n");
		return 2;
	}
	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		printf("skip: no CUDA device\n");
		return 77;
	}
	launch(WARM_UP);
	for (long i = 0; i < loops; i++)
		printf("time_s: %.9f\n", launch(count));
	printf("expect: launches=%ld copies=0 sets=0\n", WARM_UP + loops * count);
	printf("result: ok\n");
	return 0;
}
