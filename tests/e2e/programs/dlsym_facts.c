/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym_facts: what dlsym() and dlerror() tell of names that exist and names that do not, from each
 * kind of handle. The output must be the same whoever stands between this program and libc.
 */
#include <dlfcn.h>
#include <stdio.h>

static void fact(const char *where, void *handle, const char *name)
{
	const char *text;
	void *p;

	dlerror();
	p = dlsym(handle, name);
	text = dlerror();
	printf("%s %s: %s, %s\n", where, name, p ? "found" : "null", text ? text : "no error");
	printf("\tand then %s\n", dlerror() ? "an error" : "no error");
}

/* An error that nobody asked for stays until somebody does, or until the next look-up. */
static void stale(void *handle)
{
	dlsym(handle, "cuNoSuchCall");
	if (dlsym(handle, "cuLaunchKernel"))
		printf("after a found one: %s\n", dlerror() ? "an error" : "no error");
	dlsym(handle, "cuLaunchKernel");
	dlsym(handle, "cuNoSuchCall");
	printf("after a missing one: %s\n", dlerror());
}

int main(void)
{
	static const char *const names[] = {
	        "cuLaunchKernel",
	        "cuMemAlloc_v2",
	        "cuGetProcAddress_v2",
	        "cuDeviceGetAttribute",
	        "cuNoSuchCall",
	        "cu",
	        "c",
	        "",
	        "cudaMalloc",
	        "cublasCreate",
	        "cudbgApiInit",
	        "noSuchThing",
	        "malloc",
	        "dlsym",
	};
	/* The driver is RTLD_LOCAL here, so these are in nobody's global scope. */
	static const char *const elsewhere[] = {"cuNoSuchCall", "cublasCreate", "noSuchThing",
	                                        "malloc",       "cu",           ""};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *libc = dlopen("libc.so.6", RTLD_NOW);

	if (!driver || !libc)
		return 1;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fact("driver", driver, names[i]);
		fact("libc", libc, names[i]);
	}
	for (unsigned i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		fact("default", RTLD_DEFAULT, elsewhere[i]);
		fact("next", RTLD_NEXT, elsewhere[i]);
	}
	stale(driver);
	return 0;
}
