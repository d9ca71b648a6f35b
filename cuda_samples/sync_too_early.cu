/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_too_early: the host waits for a step at once, and then prepares the next one (200 us), for
 * which it does not need the result.  Meanwhile the GPU, with 300 us of work in a step, is idle.
 *
 * A correct report counts for each iteration one launch of chain, one copy of 4 bytes to pinned
 * memory and one event sync, and says that these syncs come too early.  Fixed:
 * sync_too_early_fixed.
 *
 *     sync_too_early [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"
#include "cuda_samples/sample_host.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 1000);
	unsigned *value = chain_start();
	unsigned *seen = sample_malloc_pinned<unsigned>(2);
	unsigned expected = 0;
	cudaEvent_t done[2];
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (cudaEvent_t &event : done)
		CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (unsigned i = 0; i < iterations; i++) {
		chain_launch(value, CHAIN_US(300), stream);
		sample_copy_async(&seen[i % 2], value, sizeof(*seen), DTOH, PINNED, stream);
		CHECK(cudaEventRecord(done[i % 2], stream));
		sample_sync_event(done[i % 2]);
		sample_host_work(200);
		expected = lcg_after(expected, CHAIN_US(300));
		sample_verify(seen[i % 2] == expected);
	}
	sample_answer(chain_end(value), expected);
	sample_expect("finding=sync-too-early");
	for (cudaEvent_t event : done)
		CHECK(cudaEventDestroy(event));
	CHECK(cudaStreamDestroy(stream));
	sample_free_pinned(seen);
	return sample_finish();
}
