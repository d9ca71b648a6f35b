/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pinned_overlap: copies done well: pinned memory and two streams, so that the copies of one chunk
 * run under the kernel of the other, and the host waits only for a slot to be free.
 *
 * A correct report counts for each iteration one launch of scramble_chunk, one pinned copy each way
 * of 1 MiB and one event sync, no pageable copy, and overlapping copies and kernels.
 *
 *     pinned_overlap [ITERATIONS]
 */
#include "cuda_samples/sample.h"
#include "cuda_samples/sample_lcg.h"

#define SLOTS 2

KERNEL(scramble_chunk, "fixed:400000", (unsigned *values, unsigned rounds))
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	values[i] = lcg_steps(values[i], rounds);
}

struct slot {
	cudaStream_t stream;
	cudaEvent_t done;
	unsigned *in, *out, *values;
};

int main(int argc, char **argv)
{
	const unsigned n = 1 << 18, threads = 256, rounds = 3000;
	const size_t bytes = n * sizeof(unsigned);
	unsigned iterations = sample_start(argc, argv, 200);
	slot slots[SLOTS] = {};

	for (slot &s : slots) {
		CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&s.done, cudaEventDisableTiming));
		s.in = sample_malloc_pinned<unsigned>(n);
		s.out = sample_malloc_pinned<unsigned>(n);
		s.values = sample_malloc<unsigned>(n);
		for (unsigned i = 0; i < n; i++)
			s.in[i] = i;
	}
	for (unsigned it = 0; it < iterations; it++) {
		slot &s = slots[it % SLOTS];

		/* An event never recorded counts as done. */
		sample_sync_event(s.done);
		sample_verify(it < SLOTS || s.out[0] == lcg_after(s.in[0], rounds));
		s.in[0] = it;
		sample_copy_async(s.values, s.in, bytes, HTOD, PINNED, s.stream);
		LAUNCH_CALL(scramble_chunk, n / threads, threads, 0, s.stream, s.values, rounds);
		sample_copy_async(s.out, s.values, bytes, DTOH, PINNED, s.stream);
		CHECK(cudaEventRecord(s.done, s.stream));
	}
	for (unsigned i = 0; i < SLOTS; i++) {
		slot &s = slots[i];

		sample_sync_stream(s.stream);
		for (unsigned j = 0; j < n && i < iterations; j++)
			sample_verify(s.out[j] == lcg_after(s.in[j], rounds));
		CHECK(cudaStreamDestroy(s.stream));
		CHECK(cudaEventDestroy(s.done));
		sample_free_pinned(s.in);
		sample_free_pinned(s.out);
		sample_free(s.values);
	}
	return sample_finish();
}
