/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_back_and_forth_fixed: a small kernel changes the number where it is, on the device.
 *
 * A correct report counts ITERATIONS launches of chain and of change and one copy in all, and says
 * gpu-bound.
 *
 *     copy_back_and_forth_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

KERNEL(change, "fixed:1000", (unsigned *value, unsigned by))
{
	if (threadIdx.x == 0)
		*value += by;
}

int main(int argc, char **argv)
{
	const size_t count = 1 << 20, bytes = count * sizeof(unsigned);
	unsigned iterations = sample_start(argc, argv, 1600);
	unsigned *values = sample_malloc<unsigned>(count);
	unsigned expected = 0;
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	sample_set_async(values, 0, bytes, stream);
	for (unsigned i = 0; i < iterations; i++) {
		chain_launch(values, CHAIN_US(100), stream);
		LAUNCH(change, 1, CHAIN_THREADS, 0, stream, values, i);
		expected = lcg_after(expected, CHAIN_US(100)) + i;
	}
	sample_answer(chain_end(values), expected);
	sample_expect("verdict=gpu-bound");
	sample_expect("no-finding=copy-back-and-forth");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
