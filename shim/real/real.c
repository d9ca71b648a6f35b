/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/real/real_internal.h"

#include <errno.h>
#include "shim/real/real_dlsym.h"
#include "shim/record/span.h"

union spy_runtime spy_runtime[SPY_RUNTIMES];

long real_missing(void)
{
	return 801; /* CUDA_ERROR_NOT_SUPPORTED, cudaErrorNotSupported */
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
		w->found = found = real_find_driver_call(call);
		if (!real_driver_known()) /* the driver may come yet: ask again next time */
			return;
	} else {
		for (unsigned r = 0; r < SPY_RUNTIMES; r++)
			if (slot >= spy_runtime[r].by_id &&
			    slot < spy_runtime[r].by_id + (SPY_CALLS - SPY_DRIVER_CALLS))
				found = real_find_runtime_call(r, spy_call_rows[call].name);
		w->found = found ? found : (void *)real_missing;
		if (!found) /* nor is there one; it may come yet */
			return;
	}
	__atomic_store_n(slot, found, __ATOMIC_RELAXED);
}

void *spy_find_real(void **slot, unsigned call)
{
	struct wanted w = {slot, call, NULL};
	int saved = errno;

	real_dlsym_init();
	spy_do_own(find_real, &w);
	errno = saved;
	return w.found;
}
