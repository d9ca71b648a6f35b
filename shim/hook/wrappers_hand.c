/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrappers of the driver's look-up: the real one is asked first, with the program's own
 * arguments, so that name, version and flags have chosen the ABI; then the pointer is exchanged,
 * never the name.
 */
#include "shim/hook/wrapper.h"
#include "shim/hook/lookup.h"

SPY_EXPORT CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion,
                                     cuuint64_t flags)
{
	__typeof__(spy_driver.cuGetProcAddress) real =
	        SPY_REAL(spy_driver.cuGetProcAddress, CALL_cuGetProcAddress);
	CUresult rc = real(symbol, pfn, cudaVersion, flags);

	if (rc == CUDA_SUCCESS && pfn && *pfn)
		*pfn = lookup_substitute(symbol, *pfn, cudaVersion, 4);
	return rc;
}

SPY_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                        cuuint64_t flags,
                                        CUdriverProcAddressQueryResult *symbolStatus)
{
	__typeof__(spy_driver.cuGetProcAddress_v2) real =
	        SPY_REAL(spy_driver.cuGetProcAddress_v2, CALL_cuGetProcAddress_v2);
	CUresult rc = real(symbol, pfn, cudaVersion, flags, symbolStatus);

	if (rc == CUDA_SUCCESS && pfn && *pfn)
		*pfn = lookup_substitute(symbol, *pfn, cudaVersion, 5);
	return rc;
}

extern __typeof__(cuGetProcAddress) own_cuGetProcAddress
        __attribute__((alias("cuGetProcAddress"), visibility("hidden")));
extern __typeof__(cuGetProcAddress_v2) own_cuGetProcAddress_v2
        __attribute__((alias("cuGetProcAddress_v2"), visibility("hidden")));
