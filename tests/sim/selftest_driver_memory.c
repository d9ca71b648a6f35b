/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated driver's memory: what is copied, what a pointer is, virtual memory. */
#include <stdbool.h>
#include "tests/sim/selftest_driver.h"

static void contents(void **state)
{
	static unsigned char from[300], to[300];
	CUdeviceptr d, e;
	unsigned char *pinned;
	CUDA_MEMCPY2D rows = {
	        .srcMemoryType = CU_MEMORYTYPE_HOST,
	        .srcHost = from,
	        .srcPitch = 30,
	        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
	        .dstPitch = 20,
	        .WidthInBytes = 10,
	        .Height = 10,
	};

	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 7);
	ok(cuMemAlloc_v2(&d, sizeof(from)));
	ok(cuMemAlloc_v2(&e, sizeof(from)));
	ok(cuMemHostAlloc((void **)&pinned, sizeof(from), 0));
	ok(cuMemcpyHtoD_v2(d, from, sizeof(from)));
	ok(cuMemcpyDtoDAsync_v2(e, d, sizeof(from), fix.a));
	ok(cuMemcpyDtoHAsync_v2(pinned, e, sizeof(from), fix.a));
	ok(cuStreamSynchronize(fix.a));
	assert_memory_equal(pinned, from, sizeof(from));
	ok(cuMemsetD16Async(d, 0x1234, 100, fix.a));
	ok(cuMemcpyDtoHAsync_v2(to, d, sizeof(to), fix.a));
	assert_int_equal(to[0] | to[1] << 8, 0x1234);
	assert_int_equal(to[198] | to[199] << 8, 0x1234);
	assert_memory_equal(to + 200, from + 200, 100);
	rows.dstDevice = e;
	ok(cuMemcpy2D_v2(&rows));
	ok(cuMemcpyDtoH_v2(to, e, sizeof(to)));
	for (unsigned y = 0; y < 10; y++)
		assert_memory_equal(to + y * 20, from + y * 30, 10);
	fails(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(d + 200, from, 200));
	fails(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(d + 1));
	ok(cuMemFree_v2(d));
	ok(cuMemFree_v2(e));
	ok(cuMemFreeHost(pinned));
	fails(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2((void *)(uintptr_t)8, d, 1));
	fails(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&d, 1ull << 50));
}

static void pointers(void **state)
{
	static char mine[8192];
	CUdeviceptr d, managed, pooled;
	unsigned type;
	int ordinal;
	bool is_managed;
	void *host;

	ok(cuMemAlloc_v2(&d, 100));
	ok(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
	ok(cuMemHostAlloc(&host, 100, 0));
	ok(cuMemAllocAsync(&pooled, 100, fix.a));
	ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d + 99));
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	ok(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, d));
	assert_int_equal(ordinal, 0);
	ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host));
	assert_int_equal(type, CU_MEMORYTYPE_HOST);
	ok(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
	assert_true(is_managed);
	memset((void *)managed, 1, 100);
	fails(CUDA_ERROR_INVALID_VALUE,
	      cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)mine));
	ok(cuMemHostRegister_v2(mine, sizeof(mine), 0));
	ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)mine));
	assert_int_equal(type, CU_MEMORYTYPE_HOST);
	fails(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(mine, 100, 0));
	ok(cuMemHostUnregister(mine));
	fails(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(mine));
	ok(cuMemFreeAsync(pooled, fix.a));
	ok(cuMemFree_v2(managed));
	ok(cuMemFree_v2(d));
	ok(cuMemFreeHost(host));
}

static void virtual_memory(void **state)
{
	CUmemAllocationProp prop = {
	        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
	        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
	};
	CUmemAccessDesc access = {.location = prop.location, .flags = 3};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at;
	size_t granule;
	int value = 4711, back = 0;

	ok(cuMemGetAllocationGranularity(&granule, &prop, 0));
	ok(cuMemAddressReserve(&at, 2 * granule, 0, 0, 0));
	ok(cuMemCreate(&handle, granule, &prop, 0));
	fails(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(at, &value, sizeof(value)));
	ok(cuMemMap(at + granule, granule, 0, handle, 0));
	ok(cuMemSetAccess(at + granule, granule, &access, 1));
	ok(cuMemcpyHtoD_v2(at + granule, &value, sizeof(value)));
	ok(cuMemRelease(handle));
	ok(cuMemcpyDtoH_v2(&back, at + granule, sizeof(back)));
	assert_int_equal(back, value);
	ok(cuMemUnmap(at + granule, granule));
	ok(cuMemAddressFree(at, 2 * granule));
	fails(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
}

const struct CMUnitTest memory_tests[] = {
        cmocka_unit_test(contents),
        cmocka_unit_test(pointers),
        cmocka_unit_test(virtual_memory),
};
const size_t memory_count = sizeof(memory_tests) / sizeof(memory_tests[0]);
