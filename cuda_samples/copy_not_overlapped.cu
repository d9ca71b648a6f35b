/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_not_overlapped: batches of 4 MiB copied in, worked on (200 us) and copied out, all in one
 * stream, so that nothing runs while the bus is used and the bus is idle while the kernel runs.
 *
 * A correct report counts for each iteration one launch of chain, one pinned copy each way and one
 * event sync, and says copy-bound.  Fixed: copy_not_overlapped_fixed.
 *
 *     copy_not_overlapped [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

#define SLOTS 3

struct slot {
	cudaStream_t stream;
	cudaEvent_t done;
	unsigned *in, *out, *values;
};

int main(int argc, char **argv)
{
	const unsigned n = 1 << 20;
	const size_t bytes = n * sizeof(unsigned);
	unsigned iterations = sample_start(argc, argv, 2000);
	unsigned expected = 0;
	slot slots[SLOTS] = {};
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (slot &s : slots) {
		s.stream = stream;
		CHECK(cudaEventCreateWithFlags(&s.done, cudaEventDisableTiming));
		s.in = sample_malloc_pinned<unsigned>(n);
		s.out = sample_malloc_pinned<unsigned>(n);
		s.values = sample_malloc<unsigned>(n);
		memset(s.in, 0, bytes);
	}
	for (unsigned it = 0; it < iterations; it++) {
		slot &s = slots[it % SLOTS];

		/* An event never recorded counts as done. */
		sample_sync_event(s.done);
		sample_verify(it < SLOTS || s.out[0] == lcg_after(s.in[0], CHAIN_US(200)));
		s.in[0] = it;
		sample_copy_async(s.values, s.in, bytes, HTOD, PINNED, s.stream);
		chain_launch(s.values, CHAIN_US(200), s.stream);
		sample_copy_async(s.out, s.values, bytes, DTOH, PINNED, s.stream);
		CHECK(cudaEventRecord(s.done, s.stream));
	}
	sample_sync_device();
	if (iterations)
		expected = lcg_after(iterations - 1, CHAIN_US(200));
	sample_answer(iterations ? slots[(iterations - 1) % SLOTS].out[0] : 0, expected);
	sample_expect("verdict=copy-bound");
	sample_expect("finding=copy-not-overlapped");
	for (slot &s : slots) {
		CHECK(cudaEventDestroy(s.done));
		sample_free_pinned(s.in);
		sample_free_pinned(s.out);
		sample_free(s.values);
	}
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
