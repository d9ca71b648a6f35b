/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_sync: eight short turns (25 us) in a step, each of which the host waits for, beside a
 * longer piece of work (100 us) in a stream of its own that nobody waits for.  The host waits with
 * cudaDeviceSynchronize, so the first turn of a step lasts as long as the longer work.
 *
 * A correct report counts eight launches of chain, one of beside_them and eight device syncs for
 * each iteration, and says that a stream sync would do.  Fixed: device_sync_fixed.
 *
 *     device_sync [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

#define TURNS 8

CHAIN_KERNEL(beside_them)

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 1000);
	unsigned *value = chain_start(), *beside = chain_start();
	cudaStream_t turns, background;

	CHECK(cudaStreamCreateWithFlags(&turns, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&background, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		LAUNCH(beside_them, 1, CHAIN_THREADS, 0, background, beside, CHAIN_US(100));
		for (unsigned t = 0; t < TURNS; t++) {
			chain_launch(value, CHAIN_US(25), turns);
			sample_sync_device();
		}
	}
	sample_verify(chain_end(beside) == lcg_after(0, (unsigned long)iterations * CHAIN_US(100)));
	sample_answer(chain_end(value),
	              lcg_after(0, (unsigned long)iterations * TURNS * CHAIN_US(25)));
	sample_expect("finding=device-sync-for-stream");
	CHECK(cudaStreamDestroy(turns));
	CHECK(cudaStreamDestroy(background));
	return sample_finish();
}
