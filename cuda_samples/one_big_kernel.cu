/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_big_kernel: one long kernel launched again and again, faster than it runs, so that the launch
 * queue (1024 entries) fills and further launches block until it drains.
 *
 * A correct report counts ITERATIONS launches of scramble and one sync.  Most of the time passes
 * inside the launching calls, and yet it is back-pressure, not launch overhead: the GPU is busy
 * throughout, and the verdict is gpu-bound.
 *
 *     one_big_kernel [ITERATIONS [ROUNDS]]
 */
#include "cuda_samples/sample.h"
#include "cuda_samples/sample_lcg.h"
#include <vector>

/* Simulated at 4 ns a round. */
KERNEL(scramble, "arg:1:4", (unsigned *values, unsigned rounds))
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	values[i] = lcg_steps(values[i], rounds);
}

int main(int argc, char **argv)
{
	const unsigned blocks = 128, threads = 256, n = blocks * threads;
	unsigned iterations = sample_start(argc, argv, 3000);
	unsigned rounds = sample_argument(argc, argv, 2, 50000);
	unsigned *values = sample_malloc<unsigned>(n);
	std::vector<unsigned> host(n);

	for (unsigned i = 0; i < n; i++)
		host[i] = i;
	sample_copy(values, host.data(), n * sizeof(unsigned), HTOD, PAGEABLE);
	for (unsigned i = 0; i < iterations; i++)
		LAUNCH(scramble, blocks, threads, 0, 0, values, rounds);
	sample_sync_device();
	sample_copy(host.data(), values, n * sizeof(unsigned), DTOH, PAGEABLE);
	for (unsigned i = 0; i < n; i++)
		sample_verify(host[i] == lcg_after(i, (unsigned long)iterations * rounds));
	sample_answer(host[n - 1], lcg_after(n - 1, (unsigned long)iterations * rounds));
	sample_expect("verdict=gpu-bound");
	sample_expect("finding=launch-queue-full");
	sample_free(values);
	return sample_finish();
}
