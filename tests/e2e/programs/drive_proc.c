/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions by cuGetProcAddress_v2, as every libcudart since 12 does. */
#include <dlfcn.h>
#include "tests/e2e/programs/drive.h"

int plugin_run(unsigned launches)
{
	struct drive_calls d;
	CUdriverProcAddressQueryResult status;
	void *handle = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(cuGetProcAddress_v2) *ask = handle ? dlsym(handle, "cuGetProcAddress_v2") : NULL;

	if (!ask)
		return 1;
#define X(name, base, version)                                                                     \
	if (ask(base, (void **)&d.name, version, 0, &status) || !d.name)                           \
		return 1;
	DRIVE_CALLS(X)
#undef X
	return drive(&d, launches);
}
