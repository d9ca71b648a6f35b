/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: which one is loaded, its functions, and which call each of them is. */
#include "shim/real/real_internal.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include "shim/base/gate.h"
#include "shim/real/real_dlsym.h"

union spy_driver spy_driver;

static void *driver_handle;
static uint32_t map_built;

/* ---- the map from real functions to calls ---- */

#define MAP_SLOTS 2048u /* a power of two, more than four times the driver's calls */
_Static_assert(SPY_DRIVER_CALLS * 4 <= MAP_SLOTS, "the map of calls is too full");

static struct map_slot {
	void *real;
	uint32_t call; /* + 1 */
} map[MAP_SLOTS];

static uint32_t map_hash(const void *p)
{
	return (uint32_t)(((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u >> 40);
}

uint32_t real_call(const void *real)
{
	/* Acquire: the map is whole. Pairs with build_map(). */
	if (!__atomic_load_n(&map_built, __ATOMIC_ACQUIRE))
		return SPY_CALLS;
	for (uint32_t i = map_hash(real);; i++) {
		const struct map_slot *s = &map[i % MAP_SLOTS];
		if (s->real == real)
			return s->call - 1;
		if (!s->real)
			return SPY_CALLS;
	}
}

/* Rows come newest ABI first, so of several names of one address the widest wins; the rest keep
 * out. */
static void map_add(void *real, uint32_t call)
{
	for (uint32_t i = map_hash(real);; i++) {
		struct map_slot *s = &map[i % MAP_SLOTS];
		if (s->real == real)
			return;
		if (!s->real) {
			s->call = call + 1;
			s->real = real;
			return;
		}
	}
}

/*
 * Fills spy_driver and the map from a loaded driver. Several threads may get here at once: under
 * the lock the first one does it. The look-ups go through the chain of dlsym behind us, so that a
 * preload there composes.
 */
#define FOUND_BYTES (SPY_DRIVER_CALLS * sizeof(void *))

static bool build_map(void *handle)
{
	if (__atomic_load_n(&map_built, __ATOMIC_ACQUIRE))
		return true;
	if (!handle)
		return false;
	void **found = mmap(NULL, FOUND_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                    -1, 0); /* more than a small stack has left */
	if (found == MAP_FAILED)
		return false;
	for (uint32_t i = 0; i < SPY_DRIVER_CALLS; i++) {
		void *p = spy_real_dlsym(handle, spy_call_rows[i].name);
		found[i] = p && !real_is_ours(p) ? p : NULL;
	}
	/* Last a name that is there: no dlerror() remains of those that this driver lacks. */
	found[CALL_cuInit] = found[CALL_cuInit] ? spy_real_dlsym(handle, "cuInit") : NULL;
	spy_lock();
	if (!map_built && found[CALL_cuInit]) {
		driver_handle = handle;
		for (uint32_t i = 0; i < SPY_DRIVER_CALLS; i++) {
			if (!found[i])
				continue;
			map_add(found[i], i);
			__atomic_store_n(&spy_driver.by_id[i], found[i], __ATOMIC_RELAXED);
		}
		/* Release: pairs with real_call(). */
		__atomic_store_n(&map_built, 1, __ATOMIC_RELEASE);
	}
	bool built = map_built;
	spy_unlock();
	munmap(found, FOUND_BYTES);
	return built;
}

static void *loaded_driver(void)
{
	return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
}

/* The same where the driver was loaded under another name: the object that holds `function`, if it
 * is a libcuda. */
static void *driver_of(void *function)
{
	Dl_info info;
	const char *name;
	void *handle = loaded_driver();

	if (handle || !dladdr(function, &info) || !info.dli_fname)
		return handle;
	name = strrchr(info.dli_fname, '/');
	name = name ? name + 1 : info.dli_fname;
	return strncmp(name, "libcuda.so", 10) ? NULL
	                                       : dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

bool real_driver_known(void)
{
	return map_built;
}

bool real_know_driver(void *function)
{
	return map_built || build_map(driver_of(function));
}

/* ---- the real functions ---- */

static long missing_100(void)
{
	return 100; /* CUDA_ERROR_NO_DEVICE */
}

static long missing_3(void)
{
	return 3; /* CUDA_ERROR_NOT_INITIALIZED */
}

void *spy_driver_symbol(const char *name)
{
	return driver_handle && spy_real_dlsym ? spy_real_dlsym(driver_handle, name) : NULL;
}

/* The driver that the program is linked with, under whatever file name; NULL: it is not. */
static void *linked_driver(void)
{
	void *p = spy_real_dlsym(RTLD_NEXT, "cuInit");

	return p && !real_is_ours(p) ? driver_of(p) : NULL;
}

void real_at_load(void)
{
	real_dlsym_init();
	build_map(linked_driver());
}

void *real_find_driver_call(unsigned call)
{
	void *handle = driver_handle;

	if (!handle)
		handle = linked_driver();
	if (!handle)
		handle = loaded_driver();
	if (!handle)
		handle = dlopen("libcuda.so.1", RTLD_NOW);
	if (!build_map(handle))
		return call == CALL_cuInit ? (void *)missing_100 : (void *)missing_3;
	return spy_driver.by_id[call] ? spy_driver.by_id[call] : (void *)real_missing;
}
