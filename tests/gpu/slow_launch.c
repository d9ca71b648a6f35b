/* SPDX-License-Identifier: Apache-2.0 */
/* A preload that makes each kernel launch take longer, for tests of what finds a slower launch:
 *
 *   SLOW_LAUNCH_NS=650 LD_PRELOAD=libcudaspy.so:libslow_launch.so program
 *
 * It stands between the shim and the driver: the shim asks the preload behind it for the driver's
 * functions, and meets cuLaunchKernel and cuLaunchKernelEx here. They wait, then launch, so that a
 * launch is slower for the program and for the shim alike. Whoever asks cuGetProcAddress gets them
 * too, as the shim knows its wrappers by the functions that it met.
 *
 * At exit it says on stderr how many launches it slowed. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cuda.h>

#define EXPORT __attribute__((visibility("default")))

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif

enum { LAUNCH, LAUNCH_PTSZ, LAUNCH_EX, LAUNCH_EX_PTSZ, LOOK_UP, LOOK_UP_2, FUNCTIONS };

static const char *const names[FUNCTIONS] = {
        "cuLaunchKernel",        "cuLaunchKernel_ptsz", "cuLaunchKernelEx",
        "cuLaunchKernelEx_ptsz", "cuGetProcAddress",    "cuGetProcAddress_v2",
};

static void *real[FUNCTIONS]; /* the driver's, as they are asked for */
static void *(*next_dlsym)(void *, const char *);
static uint64_t wait_ns, slowed;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wait_a_little(void)
{
	uint64_t end = now_ns() + wait_ns;

	__atomic_fetch_add(&slowed, 1, __ATOMIC_RELAXED);
	while (now_ns() < end)
		;
}

static void *real_of(unsigned which)
{
	return __atomic_load_n(&real[which], __ATOMIC_RELAXED);
}

/* ---- the launches ---- */

#define PARAMETERS                                                                                 \
	CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,             \
	        unsigned bz, unsigned shared, CUstream stream, void **args, void **extra
#define ARGUMENTS f, gx, gy, gz, bx, by, bz, shared, stream, args, extra

static CUresult slow_launch(PARAMETERS)
{
	wait_a_little();
	return ((CUresult(*)(PARAMETERS))real_of(LAUNCH))(ARGUMENTS);
}

static CUresult slow_launch_ptsz(PARAMETERS)
{
	wait_a_little();
	return ((CUresult(*)(PARAMETERS))real_of(LAUNCH_PTSZ))(ARGUMENTS);
}

typedef CUresult (*launch_ex_fn)(const CUlaunchConfig *, CUfunction, void **, void **);

static CUresult slow_launch_ex(const CUlaunchConfig *config, CUfunction f, void **args,
                               void **extra)
{
	wait_a_little();
	return ((launch_ex_fn)real_of(LAUNCH_EX))(config, f, args, extra);
}

static CUresult slow_launch_ex_ptsz(const CUlaunchConfig *config, CUfunction f, void **args,
                                    void **extra)
{
	wait_a_little();
	return ((launch_ex_fn)real_of(LAUNCH_EX_PTSZ))(config, f, args, extra);
}

/* ---- looking them up ---- */

static void *ours_for(void *pointer);

typedef CUresult (*look_up_fn)(const char *, void **, int, cuuint64_t);
typedef CUresult (*look_up_2_fn)(const char *, void **, int, cuuint64_t,
                                 CUdriverProcAddressQueryResult *);

static CUresult look_up(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	CUresult rc = ((look_up_fn)real_of(LOOK_UP))(symbol, pfn, version, flags);

	if (rc == CUDA_SUCCESS && pfn)
		*pfn = ours_for(*pfn);
	return rc;
}

static CUresult look_up_2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *status)
{
	CUresult rc = ((look_up_2_fn)real_of(LOOK_UP_2))(symbol, pfn, version, flags, status);

	if (rc == CUDA_SUCCESS && pfn)
		*pfn = ours_for(*pfn);
	return rc;
}

static void *const ours[FUNCTIONS] = {
        (void *)slow_launch,         (void *)slow_launch_ptsz, (void *)slow_launch_ex,
        (void *)slow_launch_ex_ptsz, (void *)look_up,          (void *)look_up_2,
};

static void *ours_for(void *pointer)
{
	for (unsigned i = 0; i < FUNCTIONS; i++)
		if (pointer && pointer == real_of(i))
			return ours[i];
	return pointer;
}

/* Unversioned, as the shim looks for it. Names that are not of interest leave by a tail call: glibc
 * knows who asks by the return address. */
EXPORT void *dlsym(void *handle, const char *name)
{
	if (!next_dlsym)
		next_dlsym = dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
	if (handle != RTLD_NEXT && handle != RTLD_DEFAULT)
		for (unsigned i = 0; i < FUNCTIONS; i++)
			if (!strcmp(name, names[i])) {
				void *found = next_dlsym(handle, name);
				if (!found)
					return NULL;
				__atomic_store_n(&real[i], found, __ATOMIC_RELAXED);
				return ours[i];
			}
	return next_dlsym(handle, name);
}

static void __attribute__((constructor)) begin(void)
{
	const char *text = getenv("SLOW_LAUNCH_NS");

	wait_ns = text ? strtoull(text, NULL, 10) : 0;
}

static void __attribute__((destructor)) end(void)
{
	if (slowed)
		fprintf(stderr, "slow_launch: %llu launches\n", (unsigned long long)slowed);
}
