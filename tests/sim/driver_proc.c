/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress: the newest ABI of a name that the caller's version knows. */
#include <dlfcn.h>
#include <string.h>
#include "tests/sim/driver.h"
#include "tests/sim/driver_proc.h"

/* The first row of a name, or proc_count. */
static unsigned find_name(const char *name)
{
	unsigned lo = 0, hi = proc_count;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (strcmp(proc_table[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < proc_count && !strcmp(proc_table[lo].name, name) ? lo : proc_count;
}

static bool offered(const struct proc_entry *e)
{
	if (e->api == API_cuFutureLaunch && !sim_config.new_entry)
		return false;
	return !sim_config_missing(e->name, sim_api_name[e->api]);
}

static const struct proc_entry *pick(const char *name, int version, bool per_thread, bool *known)
{
	const struct proc_entry *best = NULL;

	*known = false;
	for (unsigned i = find_name(name); i < proc_count; i++) {
		const struct proc_entry *e = &proc_table[i];

		if (strcmp(e->name, name))
			break;
		if (!offered(e))
			continue;
		*known = true;
		/* Per-thread forms come after the plain ones and are preferred. */
		if (e->version <= version && (per_thread || !e->per_thread))
			best = e;
	}
	return best;
}

/* Some drivers take what the process says of a name, and their own entry only if it says none. */
static void *by_own_dlsym(const struct proc_entry *e)
{
	void *p = dlsym(RTLD_DEFAULT, sim_api_name[e->api]);

	return p ? p : e->entry;
}

static CUresult look_up(const char *symbol, void **pfn, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
	const struct proc_entry *e;
	bool known;

	if (status)
		*status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	if (!symbol || !pfn || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	*pfn = NULL;
	if (version > sim_config.driver_version)
		return CUDA_ERROR_INVALID_VALUE;
	e = pick(symbol, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &known);
	if (!e) {
		if (status && known)
			*status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		return CUDA_ERROR_NOT_FOUND;
	}
	*pfn = sim_config.driver_dlsym ? by_own_dlsym(e) : e->entry;
	if (status)
		*status = CU_GET_PROC_ADDRESS_SUCCESS;
	return CUDA_SUCCESS;
}

CUresult do_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	return look_up(symbol, pfn, cudaVersion, flags, NULL);
}

/* With a status to say it, a name that is not found is no error. */
CUresult do_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                CUdriverProcAddressQueryResult *symbolStatus)
{
	CUresult rc;

	if (sim_config.stub)
		return CUDA_ERROR_STUB_LIBRARY;
	rc = look_up(symbol, pfn, cudaVersion, flags, symbolStatus);
	return rc == CUDA_ERROR_NOT_FOUND && symbolStatus ? CUDA_SUCCESS : rc;
}
