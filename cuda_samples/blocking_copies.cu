/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking_copies: large copies by cudaMemcpy from and to ordinary memory: the host stages them
 * through the driver's buffers, and the GPU has nothing to do meanwhile.
 *
 * A correct report counts for each iteration one launch of negate and one blocking pageable copy
 * each way of 4 MiB, and says copy-bound. Fixed: blocking_copies_fixed.
 *
 *     blocking_copies [ITERATIONS]
 */
#include "cuda_samples/sample.h"
#include <vector>

KERNEL(negate, "fixed:10000", (int *values, unsigned n))
{
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		values[i] = -values[i];
}

int main(int argc, char **argv)
{
	const unsigned n = 1 << 20;
	const size_t bytes = n * sizeof(int);
	unsigned iterations = sample_start(argc, argv, 1000);
	std::vector<int> in(n), out(n);
	int *values = sample_malloc<int>(n);

	for (unsigned i = 0; i < n; i++)
		in[i] = i;
	for (unsigned it = 0; it < iterations; it++) {
		in[0] = it;
		sample_copy(values, in.data(), bytes, HTOD, PAGEABLE);
		LAUNCH(negate, 256, 256, 0, 0, values, n);
		sample_copy(out.data(), values, bytes, DTOH, PAGEABLE);
		sample_verify(out[0] == -(int)it && out[n - 1] == -(int)(n - 1));
	}
	for (unsigned i = 0; i < n; i++)
		sample_verify(out[i] == -in[i]);
	sample_answer(-out[n - 1], n - 1);
	sample_expect("verdict=copy-bound");
	sample_expect("finding=pageable-blocking-copy");
	sample_free(values);
	return sample_finish();
}
