/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many_tiny_launches: far more launches than work; the GPU waits for the host between them.
 *
 * A correct report counts ITERATIONS launches of increment and one sync, shows a GPU that is mostly
 * idle while the host launches, and says launch-bound.  Fixed: many_tiny_launches_fixed.
 *
 *     many_tiny_launches [ITERATIONS]
 */
#include "cuda_samples/sample.h"

KERNEL(increment, "fixed:700", (unsigned *counter))
{
	if (threadIdx.x == 0)
		*counter += 1;
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 100000);
	unsigned *counter = sample_malloc<unsigned>(1);
	unsigned result = 0;

	sample_set(counter, 0, sizeof(*counter));
	for (unsigned i = 0; i < iterations; i++)
		LAUNCH(increment, 1, 32, 0, 0, counter);
	sample_sync_device();
	sample_copy(&result, counter, sizeof(result), DTOH, PAGEABLE);
	sample_answer(result, iterations);
	sample_expect("verdict=launch-bound");
	sample_expect("finding=many-short-launches");
	sample_free(counter);
	return sample_finish();
}
