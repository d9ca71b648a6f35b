/* SPDX-License-Identifier: Apache-2.0 */
/* The runtimes, of which a process may have several: where their functions are found. */
#include "shim/real/real_internal.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include "shim/base/fork_apart.h"
#include "shim/real/real_dlsym.h"

#define RUNTIMES_MOST 8u

/* The loaded libcudarts, RTLD_LOCAL or not, and under whatever name they were bundled. */
struct runtimes {
	char paths[RUNTIMES_MOST][512];
	unsigned count;
};

static int see_runtime(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct runtimes *seen = arg;
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	name = name ? name + 1 : info->dlpi_name;
	if (strncmp(name, "libcudart", 9) || seen->count == RUNTIMES_MOST)
		return 0;
	snprintf(seen->paths[seen->count++], sizeof(seen->paths[0]), "%s", info->dlpi_name);
	return 0;
}

/* The function in a runtime that carries this version, else in the only runtime there is. */
static void *search_runtimes(const char *name, const char *version)
{
	struct runtimes seen = {.count = 0};
	void *handle, *p = NULL;

	bool apart = fork_apart_enter();
	dl_iterate_phdr(see_runtime, &seen);
	if (apart)
		fork_apart_leave();
	for (unsigned i = 0; i < seen.count && !p; i++) {
		handle = dlopen(seen.paths[i], RTLD_LAZY | RTLD_NOLOAD);
		p = handle ? dlvsym(handle, name, version) : NULL;
	}
	if (p || seen.count != 1)
		return p;
	handle = dlopen(seen.paths[0], RTLD_LAZY | RTLD_NOLOAD);
	return handle ? spy_real_dlsym(handle, name) : NULL;
}

/* A library that was loaded for all to see goes when its program lets go of it: with a handle of
 * ours it stays, and what was found in it. */
static void *hold(void *p)
{
	Dl_info info;

	if (p && !real_is_ours(p) && dladdr(p, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	return p;
}

void *real_find_runtime_call(unsigned runtime, const char *name)
{
	/* Both the soname and the version of its symbols. */
	static const char *const versions[SPY_RUNTIMES] = {"libcudart.so.11.0", "libcudart.so.12",
	                                                   "libcudart.so.13"};
	void *handle = dlopen(versions[runtime], RTLD_LAZY | RTLD_NOLOAD);
	void *p = handle ? spy_real_dlsym(handle, name) : NULL;

	if (!p || real_is_ours(p))
		p = hold(dlvsym(RTLD_NEXT, name, versions[runtime]));
	if (!p || real_is_ours(p))
		p = search_runtimes(name, versions[runtime]);
	if (!p || real_is_ours(p))
		p = hold(spy_real_dlsym(RTLD_NEXT, name));
	return p && !real_is_ours(p) ? p : NULL;
}
