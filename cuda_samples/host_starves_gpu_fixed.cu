/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_starves_gpu_fixed: what the host works out is the same for every step, so it is done once,
 * before the first.
 *
 * A correct report counts ITERATIONS launches of chain and says gpu-bound.
 *
 *     host_starves_gpu_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"
#include "cuda_samples/sample_host.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 1500);
	unsigned *value = chain_start();

	sample_host_work(300);
	for (unsigned i = 0; i < iterations; i++)
		chain_launch(value, CHAIN_US(100), 0);
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(100)));
	sample_expect("verdict=gpu-bound");
	sample_expect("no-finding=host-starves-gpu");
	return sample_finish();
}
