/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/work.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/clock.h"

#define BURSTS_MOST 65536u

static const struct {
	const char *name;
	void (*burst)(uint64_t n);
} bursts[] = {
        {"allocate", burst_allocate},
        {"copy", burst_copy},
        {"floor", burst_floor},
        {"launch", burst_launch},
        {"passed_on_launch", burst_passed_on_launch},
        {"peer_launch", burst_peer_launch},
        {"runtime_launch", burst_runtime_launch},
        {"synchronize", burst_synchronize},
};

static void *find(CUresult (*look_up)(const char *, void **, int, cuuint64_t,
                                      CUdriverProcAddressQueryResult *),
                  const char *name)
{
	CUdriverProcAddressQueryResult status;
	void *p = NULL;

	if (look_up(name, &p, 12000, 0, &status) || !p) {
		fprintf(stderr, "the driver has no %s\n", name);
		exit(1);
	}
	return p;
}

/* The driver as the runtime comes by it: dlopen, dlsym of the look-up, then every function by the
 * look-up. */
static void find_calls(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*look_up)(const char *, void **, int, cuuint64_t,
	                    CUdriverProcAddressQueryResult *) =
	        driver ? dlsym(driver, "cuGetProcAddress_v2") : NULL;
	static const char image[] =
	        "simcuda 1\nkernel bench_kernel fixed:700\n"; /* for the simulated CUDA */
	CUmodule module = NULL;
	CUcontext context = NULL;

	if (!look_up) {
		fprintf(stderr, "no libcuda.so.1: %s\n", dlerror());
		exit(1);
	}
	((CUresult(*)(unsigned))find(look_up, "cuInit"))(0);
	((CUresult(*)(CUcontext *, CUdevice))find(look_up, "cuDevicePrimaryCtxRetain"))(&context,
	                                                                                0);
	((CUresult(*)(CUcontext))find(look_up, "cuCtxSetCurrent"))(context);
	((CUresult(*)(CUmodule *, const void *))find(look_up, "cuModuleLoadData"))(&module, image);
	((CUresult(*)(CUfunction *, CUmodule, const char *))find(look_up, "cuModuleGetFunction"))(
	        &calls.function, module, "bench_kernel");
	((CUresult(*)(CUdeviceptr *, size_t))find(look_up, "cuMemAlloc"))(&calls.device, 4096);
	((CUresult(*)(void **, size_t, unsigned))find(look_up, "cuMemHostAlloc"))(&calls.pinned,
	                                                                          4096, 0);
	((CUresult(*)(CUstream *, unsigned))find(look_up, "cuStreamCreate"))(&calls.stream, 0);
	calls.launch = find(look_up, "cuLaunchKernel");
	calls.copy = find(look_up, "cuMemcpyHtoDAsync");
	calls.synchronize = find(look_up, "cuStreamSynchronize");
	calls.allocate = find(look_up, "cuMemAllocAsync");
	calls.release = find(look_up, "cuMemFreeAsync");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median burst's time a call; pauses let whoever collects in the background keep up, as real
 * programs do. */
static double measure(void (*burst)(uint64_t), uint64_t n, unsigned times, unsigned pause_us)
{
	static double took[BURSTS_MOST];

	for (unsigned i = 0; i < times; i++) {
		uint64_t start = clock_monotonic_ns();
		burst(n);
		took[i % BURSTS_MOST] = (double)(clock_monotonic_ns() - start) / (double)n;
		if (pause_us)
			usleep(pause_us);
	}
	if (times > BURSTS_MOST)
		times = BURSTS_MOST;
	qsort(took, times, sizeof(took[0]), by_value);
	return took[times / 2];
}

int work(void)
{
	char name[32];
	unsigned long n;
	unsigned times, pause_us;

	clock_choose(true);
	find_calls();
	while (scanf("%31s %lu %u %u", name, &n, &times, &pause_us) == 4) {
		double ns = -1;
		for (unsigned i = 0; i < sizeof(bursts) / sizeof(bursts[0]); i++)
			if (!strcmp(bursts[i].name, name))
				ns = measure(bursts[i].burst, n, times ? times : 1, pause_us);
		printf("%.3f\n", ns);
		fflush(stdout);
	}
	return 0;
}
