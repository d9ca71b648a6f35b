/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/hook/lookup.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "shim/cupti/cupti.h"
#include "shim/base/gate.h"
#include "shim/real/real.h"
#include "shim/real/real_dlsym.h"
#include "shim/base/recording_tables.h"
#include "shim/record/span.h"

__attribute__((visibility("hidden"))) void *spy_pick(void *handle, const char *name, void *caller);

void *lookup_wrapper(void *real)
{
	uint32_t call = real_call(real);

	return call < SPY_DRIVER_CALLS ? spy_wrappers[call] : NULL;
}

/* ---- who asks ---- */

/* Tools and the driver itself get what they asked for: they must not see, nor be seen by, a
 * wrapper. */
static bool is_tool(void *caller)
{
	static const char *const prefixes[] = {
	        "libToolsInjection", "libcuda.so",
	        "libcudadebugger",   "libcuinj",
	        "libcupti",          "libnvidia-",
	        "libnvperf_",        "libnvsight",
	        "libsanitizer-",     "libInterceptorInjectionTarget",
	        "libTreeLauncher",
	};
	Dl_info info;
	const char *name;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	name = name ? name + 1 : info.dli_fname;
	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static bool is_passed(const char *name, size_t length)
{
	unsigned low = 0, high = spy_passed_count;

	while (low < high) {
		unsigned mid = (low + high) / 2;
		int c = strncmp(spy_passed[mid], name, length);
		if (c == 0 && spy_passed[mid][length])
			c = 1;
		if (c == 0)
			return true;
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

/* The length of a name without _v2, _ptsz and the like. */
static size_t base_length(const char *name)
{
	size_t n = strlen(name);

	if (n > 5 && (!strcmp(name + n - 5, "_ptsz") || !strcmp(name + n - 5, "_ptds")))
		n -= 5;
	if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v' && name[n - 1] >= '0' &&
	    name[n - 1] <= '9')
		n -= 3;
	return n;
}

static void args_gap(const char *name, int version)
{
	if (!is_passed(name, base_length(name)))
		recording_uncovered(TF_GAP_NEW_ENTRY, name, (uint32_t)version);
}

/* Who asked for the driver's look-up: each a copy of the runtime, its own library or part of
 * another. */
static const void *callers[64];
static uint32_t caller_count;

static void args_caller(const char *name, const void *caller)
{
	if (strncmp(name, "cuGetProcAddress", 16) || caller_count >= 64)
		return;
	uint32_t at = __atomic_fetch_add(&caller_count, 1, __ATOMIC_RELAXED);
	if (at < 64)
		__atomic_store_n(&callers[at], caller, __ATOMIC_RELEASE);
}

unsigned lookup_callers(const void **to, unsigned most)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 64 && n < most; i++)
		if ((to[n] = __atomic_load_n(&callers[i], __ATOMIC_ACQUIRE)))
			n++;
	return n;
}

/* Called by the exported dlsym for every name "cu...": the wrapper, or NULL for the real dlsym's
 * own answer. */
void *spy_pick(void *handle, const char *name, void *caller)
{
	struct spy_tls *t = &spy_tls;
	void *real, *wrapper = NULL;

	if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || t->in_lookup)
		return NULL;
	if (name[2] != 'p' && (name[2] < 'A' || name[2] > 'Z'))
		return NULL;
	t->in_lookup = true;
	if (name[2] == 'p') {
		wrapper = cupti_pick(handle, name);
		t->in_lookup = false;
		return wrapper;
	}
	real = spy_real_dlsym(handle, name);
	if (real && !real_is_ours(real) && real_know_driver(real) && !is_tool(caller)) {
		wrapper = lookup_wrapper(real);
		if (wrapper)
			args_caller(name, caller);
		else if (real == spy_driver_symbol(name))
			args_gap(name, 0);
	}
	t->in_lookup = false;
	return wrapper;
}

void *lookup_substitute(const char *symbol, void *pointer, int version, int arguments)
{
	int saved = errno;
	void *wrapper;

	if (!symbol || !*symbol || real_is_ours(pointer))
		return pointer;
	real_know_driver(pointer);
	wrapper = lookup_wrapper(pointer);
	/* A driver whose look-up gives an inner address for itself must not let the program past
	 * us. */
	if (!wrapper && !strcmp(symbol, "cuGetProcAddress"))
		wrapper = version >= 12000 ? spy_wrappers[CALL_cuGetProcAddress_v2]
		                           : spy_wrappers[CALL_cuGetProcAddress];
	if (!wrapper)
		args_gap(symbol, version);
	errno = saved;
	return wrapper ? wrapper : pointer;
}
