/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_back_and_forth: after each step 4 MiB are copied to the host, which changes one number of
 * them, and all are copied back to where they came from.
 *
 * A correct report counts for each iteration one launch of chain, one pinned copy each way and one
 * stream sync, says that the same buffer goes back and forth, and copy-bound.  Fixed:
 * copy_back_and_forth_fixed.
 *
 *     copy_back_and_forth [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

int main(int argc, char **argv)
{
	const size_t count = 1 << 20, bytes = count * sizeof(unsigned);
	unsigned iterations = sample_start(argc, argv, 1600);
	unsigned *values = sample_malloc<unsigned>(count);
	unsigned *host = sample_malloc_pinned<unsigned>(count);
	unsigned expected = 0;
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	sample_set_async(values, 0, bytes, stream);
	for (unsigned i = 0; i < iterations; i++) {
		chain_launch(values, CHAIN_US(100), stream);
		sample_copy_async(host, values, bytes, DTOH, PINNED, stream);
		sample_sync_stream(stream);
		host[0] += i;
		sample_copy_async(values, host, bytes, HTOD, PINNED, stream);
		expected = lcg_after(expected, CHAIN_US(100)) + i;
	}
	sample_answer(chain_end(values), expected);
	sample_expect("verdict=copy-bound");
	sample_expect("finding=copy-back-and-forth");
	CHECK(cudaStreamDestroy(stream));
	sample_free_pinned(host);
	return sample_finish();
}
