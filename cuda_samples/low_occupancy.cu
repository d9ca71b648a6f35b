/* SPDX-License-Identifier: Apache-2.0 */
/*
 * low_occupancy: small blocks, each of which asks for 40 KiB of shared memory that it does not
 * need, so that a multiprocessor holds few of them.
 *
 * A correct report counts ITERATIONS launches of scramble, which is all the GPU does, with a
 * theoretical occupancy far under 60 %, and says gpu-bound.  Fixed: low_occupancy_fixed.
 *
 *     low_occupancy [ITERATIONS]
 */
#include "cuda_samples/sample.h"
#include "cuda_samples/sample_lcg.h"
#include <vector>

#define VALUES  65536
#define THREADS 64
#define SHARED  (40 << 10)
#define ROUNDS  20000

KERNEL(scramble, "fixed:200000", (unsigned *values, unsigned rounds))
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	values[i] = lcg_steps(values[i], rounds);
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 2000);
	unsigned *values = sample_malloc<unsigned>(VALUES);
	unsigned expected = lcg_after(0, (unsigned long)iterations * ROUNDS);
	std::vector<unsigned> host(VALUES);

	sample_set(values, 0, VALUES * sizeof(*values));
	for (unsigned i = 0; i < iterations; i++)
		LAUNCH(scramble, VALUES / THREADS, THREADS, SHARED, 0, values, ROUNDS);
	sample_sync_device();
	sample_copy(host.data(), values, VALUES * sizeof(*values), DTOH, PAGEABLE);
	for (unsigned v : host)
		sample_verify(v == expected);
	sample_answer(host[0], expected);
	sample_expect("verdict=gpu-bound");
	sample_expect("finding=low-occupancy");
	sample_free(values);
	return sample_finish();
}
