/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_growth: each step allocates 1 MiB and keeps it; the program does not free it before its
 * end, and one that ran on would fail.
 *
 * A correct report counts one allocation, one set and one launch of chain for each iteration, and
 * says that device memory grows without end, and gpu-bound: allocating costs this program little.
 * Fixed: memory_growth_fixed.
 *
 *     memory_growth [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

#define BYTES (1 << 20)

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 600);
	unsigned *value = chain_start();
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		char *scratch = sample_malloc<char>(BYTES);

		sample_set_async(scratch, 0, BYTES, stream);
		chain_launch(value, CHAIN_US(500), stream);
	}
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(500)));
	sample_expect("verdict=gpu-bound");
	sample_expect("finding=memory-growth");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
