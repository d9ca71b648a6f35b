/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cupti/cupti_find.h"
#include "shim/real/real_dlsym.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES    512
#define RUNTIMES_MOST 4

struct loaded {
	char cupti[PATH_BYTES];
	char runtime_folders[RUNTIMES_MOST][PATH_BYTES];
	unsigned runtimes;
	bool tools;
};

static bool starts(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* Under the loader's lock: only looks. */
static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct loaded *l = arg;
	const char *path = info->dlpi_name, *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	(void)size;
	if (strlen(path) >= PATH_BYTES)
		return 0;
	/* Wheels bundle libraries as libcupti-<hash>.so.12. */
	if ((starts(name, "libcupti.so") || starts(name, "libcupti-")) && !*l->cupti)
		strcpy(l->cupti, path);
	if (starts(name, "libcudart") && slash && l->runtimes < RUNTIMES_MOST) {
		size_t n = (size_t)(slash - path);
		memcpy(l->runtime_folders[l->runtimes], path, n);
		l->runtime_folders[l->runtimes++][n] = 0;
	}
	/* nsys and ncu; compute-sanitizer. */
	if (starts(name, "libToolsInjection") || starts(name, "libsanitizer-") ||
	    starts(name, "libInterceptorInjectionTarget"))
		l->tools = true;
	return 0;
}

bool cupti_find_tools(void)
{
	struct loaded l = {.runtimes = 0};

	/* The driver loads what the first names at cuInit; nsys sets the second. */
	if (getenv("CUDA_INJECTION64_PATH") || getenv("NSYS_PROFILING_SESSION_ID"))
		return true;
	dl_iterate_phdr(look_at, &l);
	return l.tools;
}

static bool fill(struct cp_functions *to, void *handle)
{
	if (!handle)
		return false;
#define XX(member, symbol, parameters)                                                             \
	to->member = (int(*) parameters)spy_real_dlsym(handle, #symbol);                           \
	if (!to->member)                                                                           \
		return false;
	CP_FUNCTION_MAP(XX)
#undef XX
#define XX(member, symbol, parameters)                                                             \
	to->member = (int(*) parameters)spy_real_dlsym(handle, #symbol);
	CP_NEWER_FUNCTION_MAP(XX)
#undef XX
	return true;
}

static bool open_file(struct cp_functions *to, const char *folder, const char *below,
                      const char *soname)
{
	char path[PATH_BYTES + 128];
	const char *slash = *folder ? "/" : "";

	if (snprintf(path, sizeof(path), "%s%s%s%s", folder, slash, below, soname) >=
	    (int)sizeof(path))
		return false;
	return fill(to, dlopen(path, RTLD_LAZY | RTLD_LOCAL));
}

/* One soname, everywhere. */
static bool open_anywhere(struct cp_functions *to, const struct loaded *l, const char *soname)
{
	/* A toolkit: as installed, and as the folders of distributions have it. */
	static const char *const in_toolkit[] = {"extras/CUPTI/lib64/", "lib64/", "lib/"};
	/* Beside a runtime: a toolkit's lib64, its targets/<machine>/lib, pip's nvidia/<name>/lib.
	 */
	static const char *const by_runtime[] = {"", "../extras/CUPTI/lib64/",
	                                         "../../../extras/CUPTI/lib64/",
	                                         "../../cuda_cupti/lib/"};
	const char *toolkits[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};

	for (unsigned r = 0; r < l->runtimes; r++)
		for (unsigned i = 0; i < sizeof(by_runtime) / sizeof(by_runtime[0]); i++)
			if (open_file(to, l->runtime_folders[r], by_runtime[i], soname))
				return true;
	if (open_file(to, "", "", soname))
		return true;
	for (unsigned t = 0; t < sizeof(toolkits) / sizeof(toolkits[0]); t++)
		for (unsigned i = 0; i < sizeof(in_toolkit) / sizeof(in_toolkit[0]); i++)
			if (toolkits[t] && *toolkits[t] &&
			    open_file(to, toolkits[t], in_toolkit[i], soname))
				return true;
	return false;
}

bool cupti_find(struct cp_functions *to, int driver_version)
{
	/* Newest first. CUDA 11 has the minor version in the name. */
	static const struct {
		int major;
		const char *soname;
	} all[] = {
	        {13, "libcupti.so.13"},   {12, "libcupti.so.12"},   {11, "libcupti.so.11.8"},
	        {11, "libcupti.so.11.7"}, {11, "libcupti.so.11.6"}, {11, "libcupti.so.11.5"},
	        {11, "libcupti.so.11.4"}, {11, "libcupti.so.11.3"}, {11, "libcupti.so.11.2"},
	        {11, "libcupti.so.11.1"}, {11, "libcupti.so.11.0"},
	};
	struct loaded l = {.runtimes = 0};

	dl_iterate_phdr(look_at, &l);
	if (*l.cupti && fill(to, dlopen(l.cupti, RTLD_LAZY | RTLD_NOLOAD)))
		return true;
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		/* A library newer than the driver does not start. */
		if (driver_version && all[i].major > driver_version / 1000)
			continue;
		if (open_anywhere(to, &l, all[i].soname))
			return true;
	}
	return false;
}

void *cupti_find_next(const char *name, const void *caller)
{
	struct loaded l = {.runtimes = 0};
	Dl_info info;
	void *handle, *p = spy_real_dlsym(RTLD_NEXT, name);

	/* A library opened with RTLD_LOCAL sees what it is linked with itself. */
	if (!p && dladdr(caller, &info) && info.dli_fname &&
	    (handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
		p = spy_real_dlsym(handle, name);
	if (!p) {
		dl_iterate_phdr(look_at, &l);
		handle = *l.cupti ? dlopen(l.cupti, RTLD_LAZY | RTLD_NOLOAD) : NULL;
		p = handle ? spy_real_dlsym(handle, name) : NULL;
	}
	return p;
}
