/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_then_wait: the host prepares a step (150 us outside CUDA), launches it (200 us), waits for
 * it, and prepares the next.
 *
 * The host's work and the wait are worth the same: without either of them the GPU would never
 * pause.  A correct report says mixed, of host-bound and sync-bound.
 *
 *     work_then_wait [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"
#include "cuda_samples/sample_host.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 1500);
	unsigned *value = chain_start();
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		sample_host_work(150);
		chain_launch(value, CHAIN_US(200), stream);
		sample_sync_stream(stream);
	}
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(200)));
	sample_expect("verdict=mixed");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
