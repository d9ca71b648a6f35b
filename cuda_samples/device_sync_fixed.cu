/*
 * device_sync_fixed: the same turns, and the same work beside them; the host waits for the stream
 * of the turns alone.
 *
 * A correct report counts five launches of chain and four stream syncs for each iteration.
 *
 *     device_sync_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

#define TURNS 4

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 1000);
	unsigned *value = chain_start(), *beside = chain_start();
	cudaStream_t turns, background;

	CHECK(cudaStreamCreateWithFlags(&turns, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&background, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		chain_launch(beside, CHAIN_US(200), background);
		for (unsigned t = 0; t < TURNS; t++) {
			chain_launch(value, CHAIN_US(50), turns);
			sample_sync_stream(turns);
		}
	}
	sample_verify(chain_end(beside) == lcg_after(0, (unsigned long)iterations * CHAIN_US(200)));
	sample_answer(chain_end(value),
	              lcg_after(0, (unsigned long)iterations * TURNS * CHAIN_US(50)));
	sample_expect("no-finding=device-sync-for-stream");
	CHECK(cudaStreamDestroy(turns));
	CHECK(cudaStreamDestroy(background));
	return sample_finish();
}
