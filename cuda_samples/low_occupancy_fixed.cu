/* SPDX-License-Identifier: Apache-2.0 */
/*
 * low_occupancy_fixed: blocks of 256 threads and no more shared memory than is used.
 *
 * A correct report counts ITERATIONS launches of scramble with a theoretical occupancy of 100 %,
 * and says gpu-bound.
 *
 *     low_occupancy_fixed [ITERATIONS]
 */
#include "cuda_samples/sample.h"
#include "cuda_samples/sample_lcg.h"
#include <vector>

#define VALUES  65536
#define THREADS 256
#define SHARED  0
#define ROUNDS  20000

KERNEL(scramble, "fixed:100000", (unsigned *values, unsigned rounds))
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
	sample_expect("no-finding=low-occupancy");
	sample_free(values);
	return sample_finish();
}
