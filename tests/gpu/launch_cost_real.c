/* SPDX-License-Identifier: Apache-2.0 */
/* A library with a tool's name: the shim gives tools the driver's own functions, and goes by the
 * name of the library that calls dlsym. Compiled without tail calls, which would make the caller
 * seem to be somebody else. */
#include <dlfcn.h>
#include <stddef.h>
#include "tests/gpu/launch_cost.h"

__attribute__((visibility("default"))) void *launch_cost_real(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	return driver ? dlsym(driver, name) : NULL;
}
