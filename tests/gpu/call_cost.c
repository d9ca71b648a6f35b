/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_cost: what the shim adds to calls beside launches (launch_cost.c), measured inside one
 * process.
 *
 *     call_cost [ROUNDS [BLOCK]]     default 200 rounds of blocks of 500 calls
 *
 * Blocks of each call go in turns straight to the driver's own function and to the one that this
 * program finds, the shim's where it is preloaded. A line `cost:` for each: the median of the
 * driver's time, of the difference with its 95 % interval, ns a call; and of two readings of the
 * clock, which is the least that a call can cost.
 */
#include <stdbool.h>
#include <stdint.h>
#include <cuda.h>
#include "tests/gpu/in_turns.h"

#define WARM_UP 10 /* rounds */
#define SKIP    77
#define NODES   64

#define DRIVER_MAP(XX)                                                                             \
	XX(cuCtxSetCurrent)                                                                        \
	XX(cuDeviceGet)                                                                            \
	XX(cuDevicePrimaryCtxRetain)                                                               \
	XX(cuEventCreate)                                                                          \
	XX(cuEventRecord)                                                                          \
	XX(cuGraphExecKernelNodeSetParams)                                                         \
	XX(cuGraphGetNodes)                                                                        \
	XX(cuGraphInstantiate)                                                                     \
	XX(cuGraphKernelNodeGetParams)                                                             \
	XX(cuInit)                                                                                 \
	XX(cuLaunchKernel)                                                                         \
	XX(cuMemAlloc)                                                                             \
	XX(cuMemAllocAsync)                                                                        \
	XX(cuMemAllocHost)                                                                         \
	XX(cuMemFreeAsync)                                                                         \
	XX(cuMemcpyHtoDAsync)                                                                      \
	XX(cuModuleGetFunction)                                                                    \
	XX(cuModuleLoadData)                                                                       \
	XX(cuStreamBeginCapture)                                                                   \
	XX(cuStreamCreate)                                                                         \
	XX(cuStreamEndCapture)                                                                     \
	XX(cuStreamSynchronize)

struct driver {
#define XX(name) __typeof__(name) *name;
	DRIVER_MAP(XX)
#undef XX
};

static struct driver own, seen; /* the driver's, and as this program finds them */
static CUstream stream;
static CUevent event;
static CUfunction function;
static CUmodule module;
static CUdeviceptr device_memory;
static void *pinned;
static CUgraphExec graph;
static CUgraphNode nodes[NODES];
static CUDA_KERNEL_NODE_PARAMS params;

/* ---- the calls ---- */

static void launch(const struct driver *d, unsigned i)
{
	d->cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

static void synchronize(const struct driver *d, unsigned i)
{
	d->cuStreamSynchronize(stream);
}

static void record(const struct driver *d, unsigned i)
{
	d->cuEventRecord(event, stream);
}

static void copy(const struct driver *d, unsigned i)
{
	d->cuMemcpyHtoDAsync(device_memory, pinned, 64, stream);
}

static void allocate(const struct driver *d, unsigned i)
{
	static CUdeviceptr memory;

	if (i % 2)
		d->cuMemFreeAsync(memory, stream);
	else
		d->cuMemAllocAsync(&memory, 4096, stream);
}

static void look_up(const struct driver *d, unsigned i)
{
	d->cuModuleGetFunction(&function, module, "call_cost_empty");
}

static void change(const struct driver *d, unsigned i)
{
	d->cuGraphExecKernelNodeSetParams(graph, nodes[i % NODES], &params);
}

static const struct {
	const char *name;
	void (*call)(const struct driver *, unsigned);
} calls[] = {
        {"cuLaunchKernel", launch},
        {"cuStreamSynchronize", synchronize},
        {"cuEventRecord", record},
        {"cuMemcpyHtoDAsync", copy},
        {"cuMemAllocAsync and cuMemFreeAsync", allocate},
        {"cuModuleGetFunction", look_up},
        {"cuGraphExecKernelNodeSetParams", change},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* ---- the driver ---- */

static bool load_driver(const char *program)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	real_fn *real = driver ? find_real(program) : NULL;

	if (!real)
		return false;
#define XX(name)                                                                                   \
	if (!(seen.name = (__typeof__(name) *)dlsym(driver, ENTRY(name))) ||                       \
	    !(own.name = (__typeof__(name) *)real(ENTRY(name))))                                   \
		return false;
	DRIVER_MAP(XX)
#undef XX
	return true;
}

/* By the functions that the program finds, so that the shim knows what there is. */
static bool start(void)
{
	static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
	                          ".visible .entry call_cost_empty() { ret; }\n";
	CUdevice device;
	CUcontext context;
	CUgraph definition;
	size_t count = NODES;

	if (seen.cuInit(0) || seen.cuDeviceGet(&device, 0) ||
	    seen.cuDevicePrimaryCtxRetain(&context, device) || seen.cuCtxSetCurrent(context) ||
	    seen.cuModuleLoadData(&module, ptx) ||
	    seen.cuModuleGetFunction(&function, module, "call_cost_empty") ||
	    seen.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) ||
	    seen.cuEventCreate(&event, CU_EVENT_DEFAULT) || seen.cuMemAlloc(&device_memory, 4096) ||
	    seen.cuMemAllocHost(&pinned, 4096) ||
	    seen.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL))
		return false;
	for (unsigned i = 0; i < NODES; i++)
		launch(&seen, i);
	return !seen.cuStreamEndCapture(stream, &definition) &&
	       !seen.cuGraphGetNodes(definition, nodes, &count) &&
	       !seen.cuGraphInstantiate(&graph, definition, 0) &&
	       !seen.cuGraphKernelNodeGetParams(nodes[0], &params);
}

/* ---- the measuring ---- */

/* Time of one call, ns; the GPU is idle before. A pause ahead of it, as real programs have: the
 * shim's collector takes what the last block left. */
static double time_block(void (*call)(const struct driver *, unsigned), const struct driver *d,
                         unsigned block)
{
	const struct timespec pause = {0, 200000};

	own.cuStreamSynchronize(stream);
	nanosleep(&pause, NULL);
	for (unsigned i = 0; i < 50; i++)
		call(d, i);
	double from = now_ns();
	for (unsigned i = 0; i < block; i++)
		call(d, i);
	return (now_ns() - from) / block;
}

static double clocks_ns(unsigned block)
{
#ifdef __x86_64__
	static volatile uint64_t sum;
	double from = now_ns();

	for (unsigned i = 0; i < block; i++) {
		uint64_t at = __builtin_ia32_rdtsc();
		__asm__ volatile("" ::: "memory");
		sum += __builtin_ia32_rdtsc() - at;
	}
	return (now_ns() - from) / block;
#else
	return NAN;
#endif
}

static void measure(unsigned c, unsigned rounds, unsigned block, double *bare, double *difference)
{
	for (unsigned r = 0; r < WARM_UP + rounds; r++) {
		double ns[2];

		for (unsigned i = 0; i < 2; i++) { /* each comes first as often as last */
			unsigned way = (i + r) % 2;
			ns[way] = time_block(calls[c].call, way ? &seen : &own, block);
		}
		if (r < WARM_UP)
			continue;
		bare[r - WARM_UP] = ns[0];
		difference[r - WARM_UP] = ns[1] - ns[0];
	}
	struct middle d = middle_of(difference, rounds);
	printf("cost: %-36s driver_ns=%.1f difference_ns=%.1f low_ns=%.1f high_ns=%.1f\n",
	       calls[c].name, quantile(bare, rounds, 0.5), d.median, d.low, d.high);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200;
	unsigned block = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) / 2 * 2 : 500;

	if (!rounds || !block || rounds > 1000000) {
		fprintf(stderr, "usage: call_cost [ROUNDS [BLOCK]]\n");
		return 2;
	}
	if (!load_driver(argv[0]) || !start()) {
		printf("skip: no CUDA driver, or no device\n");
		return SKIP;
	}
	double *bare = malloc(rounds * sizeof(double)),
	       *difference = malloc(rounds * sizeof(double));
	if (!bare || !difference)
		return 1;
	printf("shim: %s\n", seen.cuLaunchKernel == own.cuLaunchKernel ? "absent" : "present");
	for (unsigned r = 0; r < rounds; r++)
		bare[r] = clocks_ns(block);
	printf("cost: %-36s ns=%.1f\n", "two readings of the clock", quantile(bare, rounds, 0.5));
	for (unsigned c = 0; c < CALLS; c++)
		measure(c, rounds, block, bare, difference);
	printf("result: ok\n");
	return 0;
}
