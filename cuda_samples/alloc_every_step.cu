/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_every_step: device memory allocated and freed in each step.  cudaFree waits until the GPU
 * has done all its work, so the free of one step keeps the next step from being queued.
 *
 * A correct report counts one allocation, one set, one launch of fill and one free for each
 * iteration, shows the frees as implicit syncs, and says alloc-bound.  Fixed:
 * alloc_every_step_fixed.
 *
 *     alloc_every_step [ITERATIONS]
 */
#include "cuda_samples/sample.h"

KERNEL(fill, "fixed:2500", (unsigned *scratch, unsigned n, unsigned value, unsigned *total))
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		scratch[i] += value;
	if (i == 0)
		*total += scratch[0];
}

int main(int argc, char **argv)
{
	const unsigned n = 1 << 20, used = n / 16;
	unsigned iterations = sample_start(argc, argv, 15000);
	unsigned *total = sample_malloc<unsigned>(1);
	unsigned result, expected = 0;

	sample_set(total, 0, sizeof(*total));
	for (unsigned it = 0; it < iterations; it++) {
		unsigned *scratch = sample_malloc<unsigned>(n);

		sample_set_async(scratch, 0, used * sizeof(*scratch), 0);
		LAUNCH(fill, used / 256, 256, 0, 0, scratch, used, it, total);
		sample_free(scratch);
		expected += it;
	}
	sample_copy(&result, total, sizeof(result), DTOH, PAGEABLE);
	sample_answer(result, expected);
	sample_expect("verdict=alloc-bound");
	sample_expect("finding=alloc-churn");
	sample_free(total);
	return sample_finish();
}
