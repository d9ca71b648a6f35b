/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_too_early_fixed: the host waits for a step where it needs the result, after it has prepared
 * and launched the next one: the GPU always has something to do.
 *
 * A correct report counts what it counts for sync_too_early, and says gpu-bound.
 *
 *     sync_too_early_fixed [ITERATIONS]
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
	for (unsigned i = 0; i <= iterations; i++) {
		if (i < iterations) {
			chain_launch(value, CHAIN_US(300), stream);
			sample_copy_async(&seen[i % 2], value, sizeof(*seen), DTOH, PINNED, stream);
			CHECK(cudaEventRecord(done[i % 2], stream));
			sample_host_work(200);
		}
		if (i > 0) {
			sample_sync_event(done[(i - 1) % 2]);
			expected = lcg_after(expected, CHAIN_US(300));
			sample_verify(seen[(i - 1) % 2] == expected);
		}
	}
	sample_answer(chain_end(value), expected);
	sample_expect("verdict=gpu-bound");
	sample_expect("no-finding=sync-too-early");
	for (cudaEvent_t event : done)
		CHECK(cudaEventDestroy(event));
	CHECK(cudaStreamDestroy(stream));
	sample_free_pinned(seen);
	return sample_finish();
}
