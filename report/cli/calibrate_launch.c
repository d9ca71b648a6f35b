/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "report/base/complain.h"
#include "report/calibrate/calibrate.h"
#include "report/cli/calibrate_launch.h"

#define PATIENCE_S   60 /* a GPU that does not answer ends this */
#define WARM_UPS     200
#define WARM_NS      1000000u
#define WARM_BLOCK   128u /* a class of its own */
#define AHEAD_NS     200000u
#define ROUNDS       100
#define BURST        20 /* launches of a kind in a row */
#define STREAM_ALONE 1  /* CU_STREAM_NON_BLOCKING */
#define CLOCK_RATE   13 /* CU_DEVICE_ATTRIBUTE_CLOCK_RATE */

/* The driver's functions as far as they are called here; a CUresult of 0 is success. */
static struct {
	int (*init)(unsigned);
	int (*error_name)(int, const char **);
	int (*device_get)(int *, int);
	int (*attribute)(int *, int, int);
	int (*retain)(void **, int);
	int (*set_current)(void *);
	int (*module_load)(void **, const void *);
	int (*function)(void **, void *, const char *);
	int (*stream_create)(void **, unsigned);
	int (*stream_sync)(void *);
	int (*allocate)(uint64_t *, size_t);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
	              void *, void **, void **);
} cu;

static void *functions[CALIBRATE_CODES], *stream;
static uint64_t memory;

static bool find_driver(void)
{
	const struct {
		const char *name;
		void *to;
	} rows[] = {
	        {"cuInit", &cu.init},
	        {"cuGetErrorName", &cu.error_name},
	        {"cuDeviceGet", &cu.device_get},
	        {"cuDeviceGetAttribute", &cu.attribute},
	        {"cuDevicePrimaryCtxRetain", &cu.retain},
	        {"cuCtxSetCurrent", &cu.set_current},
	        {"cuModuleLoadData", &cu.module_load},
	        {"cuModuleGetFunction", &cu.function},
	        {"cuStreamCreate", &cu.stream_create},
	        {"cuStreamSynchronize", &cu.stream_sync},
	        {"cuMemAlloc_v2", &cu.allocate},
	        {"cuLaunchKernel", &cu.launch},
	};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	if (!driver) {
		complain("calibrate: no NVIDIA driver here: %s", dlerror());
		return false;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *found = dlsym(driver, rows[i].name);
		if (!found) {
			complain("calibrate: the NVIDIA driver has no %s", rows[i].name);
			return false;
		}
		*(void **)rows[i].to = found;
	}
	return true;
}

/* False and one line. */
static bool done(int rc, const char *what)
{
	const char *name = NULL;

	if (!rc)
		return true;
	if (cu.error_name(rc, &name) || !name)
		complain("calibrate: %s fails: error %d", what, rc);
	else
		complain("calibrate: %s fails: %s", what, name);
	return false;
}

static bool prepare(int device)
{
	void *context, *module;
	int handle, khz = 0;

	if (!done(cu.init(0), "cuInit") || !done(cu.device_get(&handle, device), "cuDeviceGet") ||
	    !done(cu.retain(&context, handle), "cuDevicePrimaryCtxRetain") ||
	    !done(cu.set_current(context), "cuCtxSetCurrent") ||
	    !done(cu.module_load(&module, calibrate_ptx), "cuModuleLoadData") ||
	    !done(cu.stream_create(&stream, STREAM_ALONE), "cuStreamCreate") ||
	    !done(cu.allocate(&memory, CALIBRATE_STORED_BYTES), "cuMemAlloc"))
		return false;
	for (int i = 0; i < CALIBRATE_CODES; i++)
		if (!done(cu.function(&functions[i], module, calibrate_code_names[i]),
		          "cuModuleGetFunction"))
			return false;
	if (cu.attribute(&khz, CLOCK_RATE, handle))
		khz = 0;
	printf("clock_khz %d\n", khz);
	return true;
}

static bool launch(enum calibrate_code code, unsigned grid, unsigned block, uint64_t ns)
{
	uint64_t argument = code == CALIBRATE_STORES ? memory : ns;
	void *arguments[] = {&argument};

	return done(cu.launch(functions[code], grid, 1, 1, block, 1, 1, 0, stream,
	                      code == CALIBRATE_EMPTY ? NULL : arguments, NULL),
	            "cuLaunchKernel");
}

static bool wait(void)
{
	return done(cu.stream_sync(stream), "cuStreamSynchronize");
}

/* `together`: behind a long one, so that each waits for the one before it; else each by itself. */
static bool burst(const struct calibrate_kind *k, bool together)
{
	if (together && !launch(CALIBRATE_SPIN, 1, WARM_BLOCK, AHEAD_NS))
		return false;
	for (int i = 0; i < BURST; i++)
		if (!launch(k->code, k->grid, k->block, k->spin_ns) || (!together && !wait()))
			return false;
	return wait();
}

int calibrate_launch(int device)
{
	bool good = true;

	alarm(PATIENCE_S);
	if (!find_driver() || !prepare(device))
		return EXIT_TROUBLE;
	for (int i = 0; good && i < WARM_UPS; i++) /* and the clocks go up */
		good = launch(CALIBRATE_SPIN, 1, WARM_BLOCK, WARM_NS) && wait();
	for (int i = 0; good && i < ROUNDS; i++)
		for (int k = 0; good && k < CALIBRATE_KINDS; k++)
			good = burst(&calibrate_kinds[k], i & 1);
	return good ? EXIT_DONE : EXIT_TROUBLE;
}
