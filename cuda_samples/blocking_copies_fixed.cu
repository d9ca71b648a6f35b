/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking_copies_fixed: the same copies from and to pinned memory by cudaMemcpyAsync, which the
 * GPU reads and writes by itself at the full speed of the bus.
 *
 * A correct report counts for each iteration one launch of negate, one pinned copy each way of 4
 * MiB and one stream sync.  It still says copy-bound: nothing runs beside the copies.
 *
 *     blocking_copies_fixed [ITERATIONS]
 */
#include "cuda_samples/sample.h"

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
	int *in = sample_malloc_pinned<int>(n), *out = sample_malloc_pinned<int>(n);
	int *values = sample_malloc<int>(n);
	cudaStream_t stream;

	CHECK(cudaStreamCreate(&stream));
	for (unsigned i = 0; i < n; i++)
		in[i] = i;
	for (unsigned it = 0; it < iterations; it++) {
		in[0] = it;
		sample_copy_async(values, in, bytes, HTOD, PINNED, stream);
		LAUNCH(negate, 256, 256, 0, stream, values, n);
		sample_copy_async(out, values, bytes, DTOH, PINNED, stream);
		sample_sync_stream(stream);
		sample_verify(out[0] == -(int)it && out[n - 1] == -(int)(n - 1));
	}
	for (unsigned i = 0; i < n; i++)
		sample_verify(out[i] == -in[i]);
	sample_answer(-out[n - 1], n - 1);
	sample_expect("verdict=copy-bound");
	sample_expect("no-finding=pageable-blocking-copy");
	CHECK(cudaStreamDestroy(stream));
	sample_free_pinned(in);
	sample_free_pinned(out);
	sample_free(values);
	return sample_finish();
}
