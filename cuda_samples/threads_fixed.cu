/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_fixed: the work of threads, one stream for each of its threads, launched by one thread,
 * which waits for nobody inside the driver.
 *
 * A correct report counts STREAMS x ITERATIONS launches of thread_step by one thread.
 *
 *     threads_fixed [ITERATIONS [STREAMS]]
 */
#include "cuda_samples/sample.h"
#include <vector>

#define SYNC_EVERY 100

KERNEL(thread_step, "fixed:2000", (unsigned *counter, unsigned by))
{
	if (threadIdx.x == 0)
		*counter += by;
}

struct lane {
	unsigned *counter, *seen;
	cudaStream_t stream;
};

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 25000);
	unsigned count = sample_argument(argc, argv, 2, 4), number = 0;
	std::vector<lane> lanes(count);

	for (lane &l : lanes) {
		CHECK(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
		l.counter = sample_malloc<unsigned>(1);
		l.seen = sample_malloc_pinned<unsigned>(1);
		sample_set_async(l.counter, 0, sizeof(*l.counter), l.stream);
	}
	for (unsigned i = 0; i < iterations; i++) {
		number = 0;
		for (lane &l : lanes) {
			LAUNCH_CALL(thread_step, 1, 32, 0, l.stream, l.counter, ++number);
			if (i % SYNC_EVERY == SYNC_EVERY - 1)
				sample_sync_stream(l.stream);
		}
	}
	number = 0;
	for (lane &l : lanes) {
		sample_copy_async(l.seen, l.counter, sizeof(*l.seen), DTOH, PINNED, l.stream);
		sample_sync_stream(l.stream);
		sample_verify(*l.seen == ++number * iterations);
		sample_free(l.counter);
		sample_free_pinned(l.seen);
		CHECK(cudaStreamDestroy(l.stream));
	}
	sample_answer(count * iterations, count * iterations);
	sample_expect("no-finding=launch-contention");
	return sample_finish();
}
