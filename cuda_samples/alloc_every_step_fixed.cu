/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_every_step_fixed: the same steps with memory that is allocated once and used again.
 *
 * A correct report counts two allocations and two frees in all, and for each iteration one set and
 * one launch of fill.
 *
 *     alloc_every_step_fixed [ITERATIONS]
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
	unsigned *scratch = sample_malloc<unsigned>(n);
	unsigned result, expected = 0;

	sample_set(total, 0, sizeof(*total));
	for (unsigned it = 0; it < iterations; it++) {
		sample_set_async(scratch, 0, used * sizeof(*scratch), 0);
		LAUNCH(fill, used / 256, 256, 0, 0, scratch, used, it, total);
		expected += it;
	}
	sample_copy(&result, total, sizeof(result), DTOH, PAGEABLE);
	sample_answer(result, expected);
	sample_expect("no-finding=alloc-churn");
	sample_free(scratch);
	sample_free(total);
	return sample_finish();
}
