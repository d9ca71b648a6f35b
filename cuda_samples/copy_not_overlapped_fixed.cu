/*
 * copy_not_overlapped_fixed: the same batches, each of the three buffers with a stream of its own:
 * one batch is copied in and another out while the kernel runs.
 *
 * A correct report counts what it counts for copy_not_overlapped.  What is left to gain is the copy
 * engines' time and that of waking up for each batch: its class is left open.
 *
 *     copy_not_overlapped_fixed [ITERATIONS]
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

	for (slot &s : slots) {
		CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
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
	sample_expect("no-finding=copy-not-overlapped");
	for (slot &s : slots) {
		CHECK(cudaStreamDestroy(s.stream));
		CHECK(cudaEventDestroy(s.done));
		sample_free_pinned(s.in);
		sample_free_pinned(s.out);
		sample_free(s.values);
	}
	return sample_finish();
}
