/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_not_overlapped_fixed: the same batches, with a stream for the kernels and one for the copies
 * each way: one batch is copied in and another out while the kernel of a third runs.
 *
 * A correct report counts what it counts for copy_not_overlapped.  What is left to gain is the copy
 * engines' time and that of waking up for each batch: its class is left open.
 *
 *     copy_not_overlapped_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

#define SLOTS 3

struct slot {
	cudaEvent_t filled, computed, done;
	unsigned *in, *out, *values;
};

static cudaEvent_t new_event(void)
{
	cudaEvent_t event;

	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	return event;
}

/* What comes next on `then` waits for what `stream` was given. */
static void follow(cudaStream_t then, cudaEvent_t event, cudaStream_t stream)
{
	CHECK(cudaEventRecord(event, stream));
	CHECK(cudaStreamWaitEvent(then, event, 0));
}

int main(int argc, char **argv)
{
	const unsigned n = 1 << 20;
	const size_t bytes = n * sizeof(unsigned);
	unsigned iterations = sample_start(argc, argv, 2000);
	unsigned expected = 0;
	slot slots[SLOTS] = {};
	cudaStream_t streams[3], &in = streams[0], &compute = streams[1], &out = streams[2];

	for (cudaStream_t &stream : streams)
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (slot &s : slots) {
		s.filled = new_event();
		s.computed = new_event();
		s.done = new_event();
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
		sample_copy_async(s.values, s.in, bytes, HTOD, PINNED, in);
		follow(compute, s.filled, in);
		chain_launch(s.values, CHAIN_US(200), compute);
		follow(out, s.computed, compute);
		sample_copy_async(s.out, s.values, bytes, DTOH, PINNED, out);
		CHECK(cudaEventRecord(s.done, out));
	}
	sample_sync_device();
	if (iterations)
		expected = lcg_after(iterations - 1, CHAIN_US(200));
	sample_answer(iterations ? slots[(iterations - 1) % SLOTS].out[0] : 0, expected);
	sample_expect("no-finding=copy-not-overlapped");
	for (slot &s : slots) {
		CHECK(cudaEventDestroy(s.filled));
		CHECK(cudaEventDestroy(s.computed));
		CHECK(cudaEventDestroy(s.done));
		sample_free_pinned(s.in);
		sample_free_pinned(s.out);
		sample_free(s.values);
	}
	for (cudaStream_t &stream : streams)
		CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
