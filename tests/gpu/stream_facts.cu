/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_facts: what the timeline takes for granted about a stream, measured.
 *
 * "queue": how many calls of a kind a stream takes while its GPU work is held up, before one of
 * them waits.  "pair": the GPU time from one piece of work to the next of the same kind, where the
 * pieces come in pairs that follow each other without the host: what a pair of kernels takes, and
 * what a copy or a set beside a kernel adds to it.
 *
 *     stream_facts
 *
 * A simulated GPU holds the stream up for the time that its kernel is said to take.
 */
#include "cuda_samples/sample.h"
#include <chrono>

#define HELD_MS                                                                                    \
	200 /* the stream, while calls fill its queue; a call that waits takes longer than */
#define WAITED_MS   100
#define CALLS_MOST  5000
#define PAIRS       300
#define HELD_FIRST  4 /* ms, while pairs are queued behind */
#define LARGE_BYTES 65536

#ifdef __CUDACC__
static __device__ unsigned long long now_ns()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}
#endif

KERNEL(hold, "arg:0:1000000", (unsigned milliseconds))
{
#ifdef __CUDACC__
	unsigned long long end = now_ns() + milliseconds * 1000000ull;

	while (now_ns() < end)
		;
#endif
}

KERNEL(piece, "fixed:2000", (unsigned *counter))
{
	if (threadIdx.x == 0)
		*counter += 1;
}

static cudaStream_t stream;
static cudaEvent_t event, other_event;
static unsigned *counter, *pinned;

static void give_kernel()
{
	LAUNCH(piece, 1, 32, 0, stream, counter);
}

static void give_event()
{
	CHECK(cudaEventRecord(event, stream));
}

static void give_wait()
{
	CHECK(cudaStreamWaitEvent(stream, other_event, 0));
}

static void give_dtoh()
{
	sample_copy_async(pinned, counter, sizeof(*counter), DTOH, PINNED, stream);
}

static void give_htod()
{
	sample_copy_async(counter, pinned, sizeof(*counter), HTOD, PINNED, stream);
}

static void give_large_dtoh()
{
	sample_copy_async(pinned, counter, LARGE_BYTES, DTOH, PINNED, stream);
}

static void give_large_htod()
{
	sample_copy_async(counter, pinned, LARGE_BYTES, HTOD, PINNED, stream);
}

static void give_set()
{
	sample_set_async(counter, 0, sizeof(*counter), stream);
}

static void give_kernel_and_event()
{
	give_kernel();
	give_event();
}

static void give_kernel_and_set()
{
	give_kernel();
	give_set();
}

static void give_kernel_and_dtoh()
{
	give_kernel();
	give_dtoh();
}

static void give_kernel_and_htod()
{
	give_kernel();
	give_large_htod();
}

static void give_copies_both_ways()
{
	give_large_dtoh();
	give_large_htod();
}

/* The number of the first call that waits; CALLS_MOST where none does. */
static unsigned taken(void (*give)())
{
	unsigned n = 0;

	sample_sync_device();
	LAUNCH(hold, 1, 1, 0, stream, HELD_MS);
	for (double ms = 0; n < CALLS_MOST && ms < WAITED_MS; n++) {
		auto start = std::chrono::steady_clock::now();
		give();
		ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() -
		                                               start)
		             .count();
	}
	sample_sync_device();
	return n;
}

/* The GPU time of a pair: a kernel, then `give`. */
static double pair_ns(void (*give)())
{
	cudaEvent_t from, to;
	float ms;

	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreate(&to));
	sample_sync_device();
	LAUNCH(hold, 1, 1, 0, stream, HELD_FIRST);
	CHECK(cudaEventRecord(from, stream));
	for (unsigned i = 0; i < PAIRS; i++) {
		give_kernel();
		if (give)
			give();
	}
	CHECK(cudaEventRecord(to, stream));
	sample_sync_device();
	CHECK(cudaEventElapsedTime(&ms, from, to));
	CHECK(cudaEventDestroy(from));
	CHECK(cudaEventDestroy(to));
	return ms * 1e6 / PAIRS;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *what;
		void (*give)();
	} kinds[] = {{"kernel", give_kernel},
	             {"event", give_event},
	             {"wait", give_wait},
	             {"copy_dtoh", give_dtoh},
	             {"copy_htod", give_htod},
	             {"set", give_set},
	             {"kernel_and_event", give_kernel_and_event},
	             {"kernel_and_set", give_kernel_and_set},
	             {"kernel_and_dtoh", give_kernel_and_dtoh},
	             {"kernel_and_htod_64k", give_kernel_and_htod},
	             {"dtoh_64k_and_htod_64k", give_copies_both_ways}},
	  pairs[] = {{"alone", NULL},          {"kernel", give_kernel},
	             {"event", give_event},    {"wait", give_wait},
	             {"copy_dtoh", give_dtoh}, {"copy_dtoh_64k", give_large_dtoh},
	             {"copy_htod", give_htod}, {"copy_htod_64k", give_large_htod},
	             {"set", give_set}};

	sample_start(argc, argv, 0);
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&other_event, cudaEventDisableTiming));
	counter = sample_malloc<unsigned>(LARGE_BYTES / sizeof(*counter));
	pinned = sample_malloc_pinned<unsigned>(LARGE_BYTES / sizeof(*pinned));
	CHECK(cudaEventRecord(other_event, cudaStreamLegacy));
	for (const auto &kind : kinds)
		taken(kind.give); /* what is loaded or chosen at the first call */
	for (const auto &kind : kinds)
		printf("queue: %s %u\n", kind.what, taken(kind.give));
	for (const auto &pair : pairs) {
		pair_ns(pair.give);
		printf("pair: %s %.0f\n", pair.what, pair_ns(pair.give));
	}
	return 0;
}
