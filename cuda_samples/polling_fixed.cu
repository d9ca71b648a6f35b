/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polling_fixed: the host waits in one call, and leaves its processor to others meanwhile if the
 * driver is told so.
 *
 * A correct report counts ITERATIONS launches of chain and as many stream syncs.
 *
 *     polling_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 3000);
	unsigned *value = chain_start();
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		chain_launch(value, CHAIN_US(100), stream);
		sample_sync_stream(stream);
	}
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(100)));
	sample_expect("no-finding=polling");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
