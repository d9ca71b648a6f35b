/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_every_step_fixed: the same steps and copies, each copy to a place of its own; the host waits
 * once, at the end, and then looks at all of them.
 *
 * A correct report counts one launch of step and one copy for each iteration and one sync in all.
 *
 *     sync_every_step_fixed [ITERATIONS]
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
	unsigned *seen = sample_malloc_pinned<unsigned>(iterations + 1);
	unsigned expected = 0;
	cudaStream_t stream;

	CHECK(cudaStreamCreate(&stream));
	sample_set_async(state, 0, sizeof(*state), stream);
	for (unsigned i = 0; i < iterations; i++) {
		LAUNCH(step, 1, 1, 0, stream, state, rounds);
		sample_copy_async(&seen[i], state, sizeof(*seen), DTOH, PINNED, stream);
	}
	sample_sync_stream(stream);
	for (unsigned i = 0; i < iterations; i++) {
		expected = lcg_after(expected, rounds);
		sample_verify(seen[i] == expected);
	}
	sample_answer(iterations ? seen[iterations - 1] : 0, expected);
	sample_expect("no-finding=sync-every-step");
	CHECK(cudaStreamDestroy(stream));
	sample_free_pinned(seen);
	sample_free(state);
	return sample_finish();
}
