/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_errors: calls that fail on purpose, between calls that work; the program checks for each
 * error and goes on.
 *
 * A correct report counts ITERATIONS good launches of mark, and three failures for each iteration:
 * a launch with blocks too large, an allocation too large, and memory freed that never was.  A
 * failed launch is no launch, a failed free no free.  Fixed: launch_errors_fixed.
 *
 *     launch_errors [ITERATIONS]
 */
#include "cuda_samples/sample.h"

#define TOO_MANY_THREADS 4096
#define TOO_MANY_BYTES   ((size_t)1 << 50)

KERNEL(mark, "fixed:1000", (unsigned *counter))
{
	if (threadIdx.x == 0)
		*counter += 1;
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 10);
	unsigned *counter = sample_malloc<unsigned>(1);
	unsigned result;

	sample_set(counter, 0, sizeof(*counter));
	sample_sync_device();
	for (unsigned i = 0; i < iterations; i++) {
		void *none = nullptr;

		LAUNCH(mark, 1, 32, 0, 0, counter);
		FAILS(sample_launch_call(mark, 1, TOO_MANY_THREADS, 0, 0, counter));
		FAILS(cudaMalloc(&none, TOO_MANY_BYTES));
		FAILS(cudaFree((void *)(uintptr_t)0x10));
	}
	sample_sync_device();
	sample_copy(&result, counter, sizeof(result), DTOH, PAGEABLE);
	sample_answer(result, iterations);
	sample_expect("finding=failed-calls");
	sample_free(counter);
	return sample_finish();
}
