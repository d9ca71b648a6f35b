/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_growth_fixed: the same steps, all with the same 1 MiB: a stream does one step after the
 * other, so there is never use for a second buffer.
 *
 * A correct report counts one set and one launch of chain for each iteration, and says gpu-bound.
 *
 *     memory_growth_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

#define BYTES (1 << 20)

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 600);
	unsigned *value = chain_start();
	char *scratch = sample_malloc<char>(BYTES);
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		sample_set_async(scratch, 0, BYTES, stream);
		chain_launch(value, CHAIN_US(500), stream);
	}
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(500)));
	sample_expect("verdict=gpu-bound");
	sample_expect("no-finding=memory-growth");
	sample_free(scratch);
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
