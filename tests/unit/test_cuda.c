/* The rules of shim/core/cuda, one table of cases each. */
#include "shim/core/cuda/communication.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* ---- communication ---- */

static void kernels_that_communicate(void **state)
{
	static const struct {
		const char *name;
		bool does, may;
	} rows[] = {
	        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", true, true},
	        {"_Z21ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE", true, true},
	        {"ncclKernel_AllReduce_RING_LL_Sum_float", true, true},
	        {"_Z15nvshmemi_barrieriii", true, true},
	        {"ncclProxyCopy", false, true},
	        {"_Z6vecAddPKfS0_Pfi", false, false},
	        {"", false, false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(cuda_communicates(rows[i].name), rows[i].does);
		assert_int_equal(cuda_may_communicate(rows[i].name), rows[i].may);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(kernels_that_communicate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
