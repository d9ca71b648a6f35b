/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polling: the host asks again and again whether a step of 100 us is done, where it could wait.
 *
 * A correct report counts ITERATIONS launches of chain, no sync in the loop, and names the loop of
 * cudaStreamQuery; "not ready" is an answer and no failure.  Fixed: polling_fixed.
 *
 *     polling [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

static bool done(cudaStream_t stream)
{
	cudaError_t rc = cudaStreamQuery(stream);

	if (rc != cudaErrorNotReady)
		CHECK(rc);
	return rc == cudaSuccess;
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 3000);
	unsigned *value = chain_start();
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		chain_launch(value, CHAIN_US(100), stream);
		while (!done(stream))
			;
	}
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(100)));
	sample_expect("finding=polling");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
