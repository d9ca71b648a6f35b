/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads: several threads, each with a stream of its own, launching at the same time; but for the
 * first launches of the first of them.
 *
 * A correct report counts THREADS x ITERATIONS launches of thread_step, exactly; shows each thread;
 * and calls the time threads wait for one another inside the driver contention, not launch
 * overhead.  Fixed: threads_fixed.
 *
 *     threads [ITERATIONS [THREADS]]
 */
#include "cuda_samples/sample.h"
#include <atomic>
#include <thread>
#include <vector>

#define SYNC_EVERY 100
#define ALONE      500

KERNEL(thread_step, "fixed:2000", (unsigned *counter, unsigned by))
{
	if (threadIdx.x == 0)
		*counter += by;
}

/* The first thread's launches so far: those before ALONE have the driver for themselves. */
static std::atomic<unsigned> launched(0);

static void wait_until_launched(unsigned count)
{
	while (launched.load() < count)
		std::this_thread::yield();
}

static void work(unsigned number, unsigned iterations)
{
	unsigned *counter, *seen;
	cudaStream_t stream;

	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	counter = sample_malloc<unsigned>(1);
	seen = sample_malloc_pinned<unsigned>(1);
	sample_set_async(counter, 0, sizeof(*counter), stream);
	if (number)
		wait_until_launched(iterations < ALONE ? iterations : ALONE);
	for (unsigned i = 0; i < iterations; i++) {
		LAUNCH_CALL(thread_step, 1, 32, 0, stream, counter, number + 1);
		if (!number)
			launched = i + 1;
		if (i % SYNC_EVERY == SYNC_EVERY - 1)
			sample_sync_stream(stream);
	}
	sample_copy_async(seen, counter, sizeof(*seen), DTOH, PINNED, stream);
	sample_sync_stream(stream);
	sample_verify(*seen == (number + 1) * iterations);
	sample_free(counter);
	sample_free_pinned(seen);
	CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 25000);
	unsigned count = sample_argument(argc, argv, 2, 4);
	std::vector<std::thread> workers;

	for (unsigned t = 0; t < count; t++)
		workers.emplace_back(work, t, iterations);
	for (std::thread &t : workers)
		t.join();
	sample_answer(count * iterations, count * iterations);
	sample_expect("finding=launch-contention");
	return sample_finish();
}
