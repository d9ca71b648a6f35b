/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_starves_gpu: before each step the host works 300 us outside CUDA, as a data loader or
 * Python would, and the GPU, with 100 us of work, waits for it.
 *
 * A correct report counts ITERATIONS launches of chain, shows most of the host's time outside CUDA
 * and the GPU idle meanwhile, and says host-bound.  Fixed: host_starves_gpu_fixed.
 *
 *     host_starves_gpu [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"
#include "cuda_samples/sample_host.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 1500);
	unsigned *value = chain_start();

	for (unsigned i = 0; i < iterations; i++) {
		sample_host_work(300);
		chain_launch(value, CHAIN_US(100), 0);
	}
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(100)));
	sample_expect("verdict=host-bound");
	sample_expect("finding=host-starves-gpu");
	return sample_finish();
}
