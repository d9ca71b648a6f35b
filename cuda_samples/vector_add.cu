/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_add: the smallest whole program, copy in, add, copy out, once an iteration.
 *
 * A correct report counts one launch of vector_add, two pageable copies to the device and one back
 * for each iteration, one allocation and one free for each of three buffers, and one sync: the last
 * copy of an iteration waits by itself, which is an implicit sync.
 *
 *     vector_add [ITERATIONS]
 */
#include "cuda_samples/sample.h"
#include <vector>

KERNEL(vector_add, "fixed:20000", (const float *a, const float *b, float *sum, unsigned n))
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		sum[i] = a[i] + b[i];
}

int main(int argc, char **argv)
{
	const unsigned n = 1 << 18, threads = 256;
	const size_t bytes = n * sizeof(float);
	unsigned iterations = sample_start(argc, argv, 20);
	std::vector<float> a(n), b(n), sum(n);
	float *dev_a = sample_malloc<float>(n);
	float *dev_b = sample_malloc<float>(n);
	float *dev_sum = sample_malloc<float>(n);

	for (unsigned it = 0; it < iterations; it++) {
		for (unsigned i = 0; i < n; i++) {
			a[i] = i + it;
			b[i] = 2 * i;
		}
		sample_copy(dev_a, a.data(), bytes, HTOD, PAGEABLE);
		sample_copy(dev_b, b.data(), bytes, HTOD, PAGEABLE);
		LAUNCH(vector_add, (n + threads - 1) / threads, threads, 0, 0, dev_a, dev_b,
		       dev_sum, n);
		sample_copy(sum.data(), dev_sum, bytes, DTOH, PAGEABLE);
		for (unsigned i = 0; i < n; i++)
			sample_verify(sum[i] == a[i] + b[i]);
	}
	sample_sync_device();
	sample_free(dev_a);
	sample_free(dev_b);
	sample_free(dev_sum);
	return sample_finish();
}
