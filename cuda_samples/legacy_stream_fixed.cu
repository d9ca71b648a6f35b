/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legacy_stream_fixed: the same launches; the two streams are non-blocking, which the legacy
 * default stream leaves alone, so they run side by side.
 *
 * A correct report counts what it counts for legacy_stream, and says gpu-bound.
 *
 *     legacy_stream_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

KERNEL(tally, "fixed:3000", (unsigned *steps))
{
	if (threadIdx.x == 0)
		*steps += 1;
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 1200);
	unsigned *left = chain_start(), *right = chain_start(), *steps = chain_start();
	unsigned expected = lcg_after(0, (unsigned long)iterations * CHAIN_US(150));
	cudaStream_t left_stream, right_stream;

	CHECK(cudaStreamCreateWithFlags(&left_stream, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&right_stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		chain_launch(left, CHAIN_US(150), left_stream);
		LAUNCH(tally, 1, CHAIN_THREADS, 0, 0, steps);
		chain_launch(right, CHAIN_US(150), right_stream);
		LAUNCH(tally, 1, CHAIN_THREADS, 0, 0, steps);
	}
	sample_verify(chain_end(steps) == 2 * iterations);
	sample_verify(chain_end(left) == expected);
	sample_answer(chain_end(right), expected);
	sample_expect("verdict=gpu-bound");
	sample_expect("no-finding=legacy-stream-serializes");
	CHECK(cudaStreamDestroy(left_stream));
	CHECK(cudaStreamDestroy(right_stream));
	return sample_finish();
}
