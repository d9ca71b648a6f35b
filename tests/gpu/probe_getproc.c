/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the driver's cuGetProcAddress for everything the headers know, with every flag, and looks
 * whether each pointer is the address of a function that libcuda exports under a fitting name. The
 * shim's map from pointers to wrappers rests on that; a driver that breaks it is told here.
 *
 * Prints `exception:` lines, then one `probe:` line. Exit 0: no exception; 1: exceptions; 77: no
 * driver. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <cuda.h>
#include "tests/gpu/exports.h"

static const struct request {
	const char *name;
	int version;
} requests[] = {
#include "getproc_requests.h"
};
#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

typedef CUresult (*getproc_fn)(const char *, void **, int, cuuint64_t,
                               CUdriverProcAddressQueryResult *);

static struct export *exports;
static long export_count;
static unsigned long asked, found, absent, foreign, misnamed, shared;

/* Whether an exported name is a form of this base name: itself, _v2, _v3 ..., and then _ptsz or
 * _ptds. */
static bool is_form_of(const char *elf, const char *base)
{
	size_t n = strlen(base);

	if (strncmp(elf, base, n))
		return false;
	elf += n;
	if (elf[0] == '_' && elf[1] == 'v' && isdigit((unsigned char)elf[2])) {
		for (elf += 2; isdigit((unsigned char)*elf);)
			elf++;
	}
	return !*elf || !strcmp(elf, "_ptsz") || !strcmp(elf, "_ptds");
}

static void check(const char *name, int version, unsigned flags, void *pointer)
{
	const struct export *first = exports_find(exports, export_count, (uintptr_t)pointer);
	const struct export *end = exports + export_count;
	bool fits = false;
	unsigned names = 0;

	found++;
	if (!first) {
		foreign++;
		printf("exception: %s@%d flags %u: %p is not an export\n", name, version, flags,
		       pointer);
		return;
	}
	for (const struct export *e = first; e < end && e->address == first->address; e++) {
		names++;
		fits |= is_form_of(e->name, name);
	}
	shared += names > 1;
	if (!fits) {
		misnamed++;
		printf("exception: %s@%d flags %u: the export is %s\n", name, version, flags,
		       first->name);
	}
}

static void ask(getproc_fn getproc, const char *name, int version, unsigned flags)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	void *pointer = NULL;
	CUresult rc = getproc(name, &pointer, version, flags, &status);

	asked++;
	if (rc == CUDA_SUCCESS && pointer)
		check(name, version, flags, pointer);
	else
		absent++;
}

int main(void)
{
	static const unsigned flags[] = {
	        CU_GET_PROC_ADDRESS_DEFAULT,
	        CU_GET_PROC_ADDRESS_LEGACY_STREAM,
	        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
	};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	getproc_fn getproc = driver ? (getproc_fn)dlsym(driver, "cuGetProcAddress_v2") : NULL;

	if (!getproc) {
		printf("probe: no driver: %s\n", dlerror());
		return 77;
	}
	export_count = exports_of(driver, "cu", &exports);
	if (export_count <= 0) {
		printf("probe: the exports of libcuda.so.1 cannot be read\n");
		return 1;
	}
	for (size_t i = 0; i < REQUESTS; i++) {
		for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
			ask(getproc, requests[i].name, requests[i].version, flags[f]);
			/* the newest ABI that these headers can name, once for each base name */
			if (i + 1 == REQUESTS || strcmp(requests[i].name, requests[i + 1].name))
				ask(getproc, requests[i].name, CUDA_VERSION, flags[f]);
		}
	}
	printf("probe: headers=%d requests=%lu found=%lu absent=%lu exports=%ld foreign=%lu "
	       "misnamed=%lu "
	       "shared=%lu\n",
	       CUDA_VERSION, asked, found, absent, export_count, foreign, misnamed, shared);
	if (!found)
		printf("exception: nothing was found at all\n");
	return foreign || misnamed || !found;
}
