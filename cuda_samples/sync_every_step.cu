/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_every_step: launch, wait for the result, look at it, launch again.
 *
 * A correct report counts one launch of step, one copy of 4 bytes to pinned memory and one stream
 * sync for each iteration, shows the GPU idle from the end of each step until the host has come
 * round, and says sync-bound.  Fixed: sync_every_step_fixed.
 *
 *     sync_every_step [ITERATIONS]
 */
#include "cuda_samples/sample.h"
#include "cuda_samples/sample_lcg.h"

KERNEL(step, "fixed:3000", (unsigned *state, unsigned rounds))
{
	*state = lcg_steps(*state, rounds);
}

int main(int argc, char **argv)
{
	const unsigned rounds = 2000;
	unsigned iterations = sample_start(argc, argv, 20000);
	unsigned *state = sample_malloc<unsigned>(1);
	unsigned *seen = sample_malloc_pinned<unsigned>(1);
	unsigned expected = 0;
	cudaStream_t stream;

	CHECK(cudaStreamCreate(&stream));
	sample_set_async(state, 0, sizeof(*state), stream);
	for (unsigned i = 0; i < iterations; i++) {
		LAUNCH(step, 1, 1, 0, stream, state, rounds);
		sample_copy_async(seen, state, sizeof(*seen), DTOH, PINNED, stream);
		sample_sync_stream(stream);
		expected = lcg_after(expected, rounds);
		sample_verify(*seen == expected);
	}
	sample_answer(*seen, expected);
	sample_expect("verdict=sync-bound");
	sample_expect("finding=sync-every-step");
	CHECK(cudaStreamDestroy(stream));
	sample_free_pinned(seen);
	sample_free(state);
	return sample_finish();
}
