/* SPDX-License-Identifier: Apache-2.0 */
/* What the shim adds to one launch, measured inside one process: far sharper than two processes,
 * whose layouts of memory alone make them differ by several per cent.
 *
 *   launch_cost [ROUNDS [BLOCK]]     default 600 rounds of blocks of 1000 launches
 *
 * In turns, blocks of launches of an empty kernel go
 *   driver    straight to the driver's own cuLaunchKernel
 *   forward   through a function that only forwards
 *   clocks    through one that reads the clock before and after
 *   record    through one that also writes a record and adds the times up, as simply as can be
 *   seen      to the cuLaunchKernel that this program finds: the shim's wrapper where it is
 * preloaded
 *
 * Prints for each a line `cost:` with the median time of a launch, and the median (with its 95 %
 * interval, low to high) and the quartiles of the differences to the driver's own block of the same
 * round, also in per cent of its median.
 * In mode `sample` the budget is a share of the thread's time, of which only one block in five goes
 * through the shim: CUDASPY_BUDGET must be a fifth of what is meant. */
#include <stdbool.h>
#include <stdint.h>
#include <cuda.h>
#include "tests/gpu/in_turns.h"

#define WARM_UP_ROUNDS   20
#define WARM_UP_LAUNCHES 50
#define RECORDS          2048
#define SKIP             77

#define PARAMETERS                                                                                 \
	CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,             \
	        unsigned bz, unsigned shared, CUstream stream, void **args, void **extra
#define ARGUMENTS f, gx, gy, gz, bx, by, bz, shared, stream, args, extra

typedef CUresult (*launch_fn)(PARAMETERS);

static launch_fn driver_launch; /* the driver's own */

static inline uint64_t ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

/* ---- the functions between ---- */

/* As the shim does, the pointer is read at each call; the empty statement keeps the call from
 * becoming a jump. */
static __attribute__((noinline, aligned(64))) CUresult forward(PARAMETERS)
{
	launch_fn real = __atomic_load_n(&driver_launch, __ATOMIC_RELAXED);
	CUresult rc = real(ARGUMENTS);

	__asm__ volatile("" ::: "memory");
	return rc;
}

static __thread uint64_t clocks_sum;

static __attribute__((noinline, aligned(64))) CUresult clocks(PARAMETERS)
{
	launch_fn real = __atomic_load_n(&driver_launch, __ATOMIC_RELAXED);
	uint64_t start = ticks();
	CUresult rc = real(ARGUMENTS);

	clocks_sum += ticks() - start;
	return rc;
}

struct record {
	uint64_t start, end;
	uint16_t call, thread, flags;
	int16_t result;
	uint64_t stream;
	uint32_t kernel, shared_bytes, grid_x;
	uint16_t grid_y, grid_z, block_x, block_y;
	uint8_t block_z, cluster[3];
	uint32_t items, reserved;
} __attribute__((aligned(64)));

static __thread struct {
	struct record *ring;
	uint64_t head;
	uint32_t in_call;
	uint64_t calls, sum, max, kernel_calls, kernel_sum, kernel_max;
} mine;

static __attribute__((noinline, aligned(64))) CUresult record(PARAMETERS)
{
	launch_fn real = __atomic_load_n(&driver_launch, __ATOMIC_RELAXED);
	struct record *r = &mine.ring[mine.head % RECORDS];
	uint64_t taken;
	CUresult rc;

	r->start = ticks();
	__atomic_store_n(&mine.in_call, 1, __ATOMIC_RELAXED);
	rc = real(ARGUMENTS);
	r->call = 1;
	r->thread = r->flags = 0;
	r->result = (int16_t)rc;
	r->stream = (uintptr_t)stream;
	r->kernel = r->items = 1;
	r->shared_bytes = shared;
	r->grid_x = gx;
	r->grid_y = (uint16_t)gy;
	r->grid_z = (uint16_t)gz;
	r->block_x = (uint16_t)bx;
	r->block_y = (uint16_t)by;
	r->block_z = (uint8_t)bz;
	r->end = ticks();
	taken = r->end - r->start;
	mine.calls++;
	mine.sum += taken;
	mine.max = taken > mine.max ? taken : mine.max;
	mine.kernel_calls++;
	mine.kernel_sum += taken;
	mine.kernel_max = taken > mine.kernel_max ? taken : mine.kernel_max;
	/* Release: the record is complete before its place is given up, as a reader would need it.
	 */
	__atomic_store_n(&mine.head, mine.head + 1, __ATOMIC_RELEASE);
	__builtin_prefetch(r + 8, 1);
	__atomic_store_n(&mine.in_call, 0, __ATOMIC_RELEASE);
	return rc;
}

/* ---- the driver ---- */

#define DRIVER_MAP(XX)                                                                             \
	XX(cuCtxSetCurrent)                                                                        \
	XX(cuDeviceGet)                                                                            \
	XX(cuDevicePrimaryCtxRetain)                                                               \
	XX(cuInit)                                                                                 \
	XX(cuLaunchKernel)                                                                         \
	XX(cuModuleGetFunction)                                                                    \
	XX(cuModuleLoadData)                                                                       \
	XX(cuStreamSynchronize)

static struct {
#define XX(name) __typeof__(name) *name;
	DRIVER_MAP(XX)
#undef XX
} cu; /* as this program sees them: the shim's where it is preloaded */

static bool load_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	if (!driver)
		return false;
#define XX(name)                                                                                   \
	if (!(cu.name = (__typeof__(name) *)dlsym(driver, ENTRY(name))))                           \
		return false;
	DRIVER_MAP(XX)
#undef XX
	return true;
}

static launch_fn find_driver_launch(const char *program)
{
	real_fn *real = find_real(program);

	return real ? (launch_fn)real("cuLaunchKernel") : NULL;
}

static bool load_kernel(CUfunction *function)
{
	static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
	                          ".visible .entry launch_cost_empty() { ret; }\n";
	CUdevice device;
	CUcontext context;
	CUmodule module;

	return !cu.cuInit(0) && !cu.cuDeviceGet(&device, 0) &&
	       !cu.cuDevicePrimaryCtxRetain(&context, device) && !cu.cuCtxSetCurrent(context) &&
	       !cu.cuModuleLoadData(&module, ptx) &&
	       !cu.cuModuleGetFunction(function, module, "launch_cost_empty");
}

/* ---- the measuring ---- */

enum { DRIVER, FORWARD, CLOCKS, RECORD, SEEN, WAYS };
static const char *const names[WAYS] = {"driver", "forward", "clocks", "record", "seen"};

/* Time of one launch, ns; the GPU is idle before, and faster than the host. */
static double time_block(launch_fn launch, CUfunction f, unsigned block)
{
	double start;

	cu.cuStreamSynchronize(NULL);
	for (unsigned i = 0; i < WARM_UP_LAUNCHES; i++)
		launch(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	start = now_ns();
	for (unsigned i = 0; i < block; i++)
		launch(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	return (now_ns() - start) / block;
}

/* `difference` has room for `rounds`. Sorts the times of this way; of the driver's own, come last.
 */
static void print_way(unsigned way, double *const times[WAYS], double *difference, unsigned rounds,
                      double base)
{
	for (unsigned r = 0; r < rounds; r++)
		difference[r] = times[way][r] - times[DRIVER][r];
	struct middle d = middle_of(difference, rounds);

	printf("cost: %s median_ns=%.1f difference_ns=%.1f low_ns=%.1f high_ns=%.1f q1_ns=%.1f "
	       "q3_ns=%.1f percent=%.3f\n",
	       names[way], quantile(times[way], rounds, 0.5), d.median, d.low, d.high,
	       quantile(difference, rounds, 0.25), quantile(difference, rounds, 0.75),
	       100 * d.median / base);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 600;
	unsigned block = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;
	double *times[WAYS], *spare;
	CUfunction f;

	if (!rounds || !block || rounds > 1000000) {
		fprintf(stderr, "usage: launch_cost [ROUNDS [BLOCK]]\n");
		return 2;
	}
	if (!load_driver() || !load_kernel(&f)) {
		printf("skip: no CUDA driver, or no device\n");
		return SKIP;
	}
	driver_launch = find_driver_launch(argv[0]);
	mine.ring = aligned_alloc(64, (RECORDS + 8) * sizeof(struct record));
	for (unsigned w = 0; w < WAYS; w++)
		times[w] = malloc(rounds * sizeof(double));
	spare = malloc(rounds * sizeof(double));
	if (!driver_launch || !mine.ring || !times[WAYS - 1] || !spare)
		return 1;
	memset(mine.ring, 0, (RECORDS + 8) * sizeof(struct record));

	const launch_fn ways[WAYS] = {driver_launch, forward, clocks, record, cu.cuLaunchKernel};
	for (unsigned r = 0; r < WARM_UP_ROUNDS + rounds; r++) {
		for (unsigned i = 0; i < WAYS; i++) {
			unsigned way = (i + r) % WAYS; /* each comes first as often as last */
			double ns = time_block(ways[way], f, block);

			if (r >= WARM_UP_ROUNDS)
				times[way][r - WARM_UP_ROUNDS] = ns;
		}
	}
	cu.cuStreamSynchronize(NULL);
	printf("shim: %s\n", cu.cuLaunchKernel == driver_launch ? "absent" : "present");
	memcpy(spare, times[DRIVER], rounds * sizeof(double));
	double base = quantile(spare, rounds, 0.5);
	for (unsigned w = WAYS; w-- > 0;)
		print_way(w, times, spare, rounds, base);
	printf("result: ok\n");
	return 0;
}
