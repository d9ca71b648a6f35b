/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams: one thread, four streams, forked from one event and joined by events in each step, so
 * that the GPU's order is made by dependencies and not by the host.
 *
 * A correct report counts for each iteration one launch of spread, four of branch and one of
 * gather, on five streams; the waits between streams are no syncs of the host, of which there is
 * one at the end.
 *
 *     streams [ITERATIONS]
 */
#include "cuda_samples/sample.h"

#define BRANCHES 4

KERNEL(spread, "fixed:2000", (unsigned *values))
{
	values[threadIdx.x] += 1;
}

KERNEL(branch, "fixed:10000", (unsigned *values, unsigned which))
{
	if (threadIdx.x == 0)
		values[which] *= 3;
}

KERNEL(gather, "fixed:2000", (const unsigned *values, unsigned *sum))
{
	if (threadIdx.x == 0)
		*sum += values[0] + values[1] + values[2] + values[3];
}

static unsigned expected(unsigned iterations)
{
	unsigned value = 0, sum = 0;

	for (unsigned i = 0; i < iterations; i++) {
		value = (value + 1) * 3;
		sum += BRANCHES * value;
	}
	return sum;
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 500);
	unsigned *values = sample_malloc<unsigned>(BRANCHES);
	unsigned *sum = sample_malloc<unsigned>(1);
	unsigned result;
	cudaStream_t main_stream, streams[BRANCHES];
	cudaEvent_t forked, joined[BRANCHES];

	sample_set(values, 0, BRANCHES * sizeof(*values));
	sample_set(sum, 0, sizeof(*sum));
	sample_sync_device();
	CHECK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
	for (unsigned b = 0; b < BRANCHES; b++) {
		CHECK(cudaStreamCreateWithFlags(&streams[b], cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&joined[b], cudaEventDisableTiming));
	}
	for (unsigned i = 0; i < iterations; i++) {
		LAUNCH(spread, 1, BRANCHES, 0, main_stream, values);
		CHECK(cudaEventRecord(forked, main_stream));
		for (unsigned b = 0; b < BRANCHES; b++) {
			CHECK(cudaStreamWaitEvent(streams[b], forked, 0));
			LAUNCH_EX(branch, 1, 32, 0, streams[b], values, b);
			CHECK(cudaEventRecord(joined[b], streams[b]));
			CHECK(cudaStreamWaitEvent(main_stream, joined[b], 0));
		}
		LAUNCH_CALL(gather, 1, 32, 0, main_stream, values, sum);
	}
	sample_sync_stream(main_stream);
	sample_copy(&result, sum, sizeof(result), DTOH, PAGEABLE);
	sample_verify(result == expected(iterations));
	for (unsigned b = 0; b < BRANCHES; b++) {
		CHECK(cudaStreamDestroy(streams[b]));
		CHECK(cudaEventDestroy(joined[b]));
	}
	CHECK(cudaStreamDestroy(main_stream));
	CHECK(cudaEventDestroy(forked));
	sample_free(values);
	sample_free(sum);
	return sample_finish();
}
