#include "shim/hook/lookup.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "shim/cupti/cupti.h"
#include "shim/life/lifecycle.h"
#include "shim/base/real.h"
#include "shim/life/recording.h"
#include "shim/record/span.h"

typedef void *(*dlsym_t)(void *, const char *);

/* Used by the exported dlsym in assembler: tail jump target, and what it asks for names of the
 * driver. */
__attribute__((visibility("hidden"))) dlsym_t spy_real_dlsym;
__attribute__((visibility("hidden")))
dlsym_t spy_libc_dlsym; /* what a library that goes around us has */
__attribute__((visibility("hidden"))) void *spy_pick(void *handle, const char *name, void *caller);
__attribute__((visibility("hidden"))) void spy_find_dlsym(void);

union spy_driver spy_driver;
union spy_runtime spy_runtime[SPY_RUNTIMES];

static void *driver_handle;
static uint32_t map_built;

/* ---- the real dlsym ---- */

void spy_find_dlsym(void)
{
	/* This version and no other: asking for one that is not there makes glibc allocate. */
	dlsym_t libc = (dlsym_t)dlvsym(RTLD_NEXT, "dlsym", SPY_GLIBC_BASE);
	/* A preload behind us that exports a dlsym without a version was passed over; the program
	 * would have met it. */
	dlsym_t next = (dlsym_t)libc(RTLD_NEXT, "dlsym");

	spy_libc_dlsym = libc;
	spy_real_dlsym = next ? next : libc;
}

void lookup_init(void)
{
	if (!spy_real_dlsym)
		spy_find_dlsym();
}

extern char __ehdr_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));

/* Whether an address is inside this library: then it is never "the real function". */
static bool is_ours(const void *p)
{
	return (const char *)p >= __ehdr_start && (const char *)p < _end;
}

/* ---- the map from real functions to wrappers ---- */

#define MAP_SLOTS 2048u /* a power of two, more than four times the driver's calls */
_Static_assert(SPY_DRIVER_CALLS * 4 <= MAP_SLOTS, "the map of wrappers is too full");

static struct map_slot {
	void *real;
	void *wrapper;
} map[MAP_SLOTS];

static uint32_t map_hash(const void *p)
{
	return (uint32_t)(((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u >> 40);
}

void *lookup_wrapper(void *real)
{
	/* Acquire: the map is whole. Pairs with build_map(). */
	if (!__atomic_load_n(&map_built, __ATOMIC_ACQUIRE))
		return NULL;
	for (uint32_t i = map_hash(real);; i++) {
		const struct map_slot *s = &map[i % MAP_SLOTS];
		if (s->real == real)
			return s->wrapper;
		if (!s->real)
			return NULL;
	}
}

/* Rows come newest ABI first, so of several names of one address the widest wins; the rest keep
 * out. */
static void map_add(void *real, void *wrapper)
{
	for (uint32_t i = map_hash(real);; i++) {
		struct map_slot *s = &map[i % MAP_SLOTS];
		if (s->real == real)
			return;
		if (!s->real) {
			s->wrapper = wrapper;
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
		found[i] = p && !is_ours(p) ? p : NULL;
	}
	/* Last a name that is there: no dlerror() remains of those that this driver lacks. */
	found[CALL_cuInit] = found[CALL_cuInit] ? spy_real_dlsym(handle, "cuInit") : NULL;
	spy_lock();
	if (!map_built && found[CALL_cuInit]) {
		driver_handle = handle;
		for (uint32_t i = 0; i < SPY_DRIVER_CALLS; i++) {
			if (!found[i])
				continue;
			map_add(found[i], spy_wrappers[i]);
			__atomic_store_n(&spy_driver.by_id[i], found[i], __ATOMIC_RELAXED);
		}
		/* Release: pairs with lookup_wrapper(). */
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
		recording_gap(TF_GAP_NEW_ENTRY, name, (uint32_t)version);
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
	if (real && !is_ours(real) && (map_built || build_map(driver_of(real))) &&
	    !is_tool(caller)) {
		wrapper = lookup_wrapper(real);
		if (wrapper)
			args_caller(name, caller);
		else if (real == spy_real_dlsym(driver_handle, name))
			args_gap(name, 0);
	}
	t->in_lookup = false;
	return wrapper;
}

void *lookup_substitute(const char *symbol, void *pointer, int version, int arguments)
{
	int saved = errno;
	void *wrapper;

	if (!symbol || !*symbol || is_ours(pointer))
		return pointer;
	build_map(map_built ? NULL : driver_of(pointer));
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

/* ---- the real functions ---- */

static long missing_801(void)
{
	return 801; /* CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported */
}

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

	return p && !is_ours(p) ? driver_of(p) : NULL;
}

void lookup_at_load(void)
{
	lookup_init();
	build_map(linked_driver());
}

static void *find_driver_call(unsigned call)
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
	return spy_driver.by_id[call] ? spy_driver.by_id[call] : (void *)missing_801;
}

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

	dl_iterate_phdr(see_runtime, &seen);
	for (unsigned i = 0; i < seen.count && !p; i++) {
		handle = dlopen(seen.paths[i], RTLD_LAZY | RTLD_NOLOAD);
		p = handle ? dlvsym(handle, name, version) : NULL;
	}
	if (p || seen.count != 1)
		return p;
	handle = dlopen(seen.paths[0], RTLD_LAZY | RTLD_NOLOAD);
	return handle ? spy_real_dlsym(handle, name) : NULL;
}

static void *find_runtime_call(unsigned runtime, const char *name)
{
	/* Both the soname and the version of its symbols. */
	static const char *const versions[SPY_RUNTIMES] = {"libcudart.so.11.0", "libcudart.so.12",
	                                                   "libcudart.so.13"};
	void *handle = dlopen(versions[runtime], RTLD_LAZY | RTLD_NOLOAD);
	void *p = handle ? spy_real_dlsym(handle, name) : NULL;

	if (!p || is_ours(p))
		p = dlvsym(RTLD_NEXT, name, versions[runtime]);
	if (!p || is_ours(p))
		p = search_runtimes(name, versions[runtime]);
	if (!p || is_ours(p))
		p = spy_real_dlsym(RTLD_NEXT, name);
	return p && !is_ours(p) ? p : NULL;
}

struct wanted {
	void **slot;
	unsigned call;
	void *found;
};

static void find_real(void *p)
{
	struct wanted *w = p;
	unsigned call = w->call;
	void **slot = w->slot, *found = NULL;

	if (call < SPY_DRIVER_CALLS) {
		w->found = found = find_driver_call(call);
		if (!driver_handle) /* the driver may come yet: ask again next time */
			return;
	} else {
		for (unsigned r = 0; r < SPY_RUNTIMES; r++)
			if (slot >= spy_runtime[r].by_id &&
			    slot < spy_runtime[r].by_id + (SPY_CALLS - SPY_DRIVER_CALLS))
				found = find_runtime_call(r, spy_call_rows[call].name);
		w->found = found ? found : (void *)missing_801;
		if (!found) /* nor is there one; it may come yet */
			return;
	}
	__atomic_store_n(slot, found, __ATOMIC_RELAXED);
}

void *spy_find_real(void **slot, unsigned call)
{
	struct wanted w = {slot, call, NULL};
	int saved = errno;

	lookup_init();
	spy_do_own(find_real, &w);
	errno = saved;
	return w.found;
}
