/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_errors_fixed: the calls of launch_errors that work, and none that fails.
 *
 * A correct report counts ITERATIONS launches of mark and no failure.
 *
 *     launch_errors_fixed [ITERATIONS]
 */
#include "cuda_samples/sample.h"

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
	for (unsigned i = 0; i < iterations; i++)
		LAUNCH(mark, 1, 32, 0, 0, counter);
	sample_sync_device();
	sample_copy(&result, counter, sizeof(result), DTOH, PAGEABLE);
	sample_answer(result, iterations);
	sample_expect("no-finding=failed-calls");
	sample_free(counter);
	return sample_finish();
}
