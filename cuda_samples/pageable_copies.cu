/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pageable_copies: large copies from and to ordinary memory, which the driver stages through
 * buffers of its own while the caller waits, "async" or not.
 *
 * A correct report counts for each iteration one launch of negate, one pageable copy each way of 4
 * MiB and one stream sync, calls the copies pageable and not overlapped, and says copy-bound.
 * Fixed: pageable_copies_fixed.
 *
 *     pageable_copies [ITERATIONS]
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
	cudaStream_t stream;

	CHECK(cudaStreamCreate(&stream));
	for (unsigned i = 0; i < n; i++)
		in[i] = i;
	for (unsigned it = 0; it < iterations; it++) {
		in[0] = it;
		sample_copy_async(values, in.data(), bytes, HTOD, PAGEABLE, stream);
		LAUNCH(negate, 256, 256, 0, stream, values, n);
		sample_copy_async(out.data(), values, bytes, DTOH, PAGEABLE, stream);
		sample_sync_stream(stream);
		sample_verify(out[0] == -(int)it && out[n - 1] == -(int)(n - 1));
	}
	for (unsigned i = 0; i < n; i++)
		sample_verify(out[i] == -in[i]);
	sample_answer(-out[n - 1], n - 1);
	sample_expect("verdict=copy-bound");
	sample_expect("finding=pageable-async-copy");
	CHECK(cudaStreamDestroy(stream));
	sample_free(values);
	return sample_finish();
}
