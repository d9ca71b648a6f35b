/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions by dlsym() from a handle of our own, as Triton and CuPy do. */
#include <dlfcn.h>
#include "tests/e2e/programs/drive.h"

int plugin_run(unsigned launches)
{
	struct drive_calls d;
	void *handle = dlopen("libcuda.so.1", RTLD_NOW);

	if (!handle) {
		printf("%s\n", dlerror());
		return 1;
	}
#define X(name, base, version)                                                                     \
	d.name = (__typeof__(d.name))dlsym(handle, #name);                                         \
	if (!d.name)                                                                               \
		return 1;
	DRIVE_CALLS(X)
#undef X
	return drive(&d, launches);
}
