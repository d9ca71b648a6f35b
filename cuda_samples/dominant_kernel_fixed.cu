/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dominant_kernel_fixed: the same step with a better solve, which comes to the same end by doubling
 * its steps; the other three share the GPU's time evenly.
 *
 * A correct report counts ITERATIONS launches of each of the four, and says gpu-bound.
 *
 *     dominant_kernel_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"

#define ROUNDS CHAIN_US(400)

CHAIN_KERNEL(gather)

KERNEL(solve, "fixed:2000", (unsigned *value, unsigned rounds))
{
	if (threadIdx.x == 0)
		*value = lcg_after(*value, rounds);
}

CHAIN_KERNEL(smooth)
CHAIN_KERNEL(scatter)

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 1000);
	unsigned *value = chain_start();
	unsigned long rounds = ROUNDS + 3 * CHAIN_US(50);

	for (unsigned i = 0; i < iterations; i++) {
		LAUNCH(gather, 1, CHAIN_THREADS, 0, 0, value, CHAIN_US(50));
		LAUNCH(solve, 1, CHAIN_THREADS, 0, 0, value, ROUNDS);
		LAUNCH(smooth, 1, CHAIN_THREADS, 0, 0, value, CHAIN_US(50));
		LAUNCH(scatter, 1, CHAIN_THREADS, 0, 0, value, CHAIN_US(50));
	}
	sample_answer(chain_end(value), lcg_after(0, iterations * rounds));
	sample_expect("verdict=gpu-bound");
	sample_expect("no-finding=dominant-kernel");
	return sample_finish();
}
