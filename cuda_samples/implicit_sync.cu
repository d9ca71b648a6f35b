/* SPDX-License-Identifier: Apache-2.0 */
/*
 * implicit_sync: after each step the host fetches one number with cudaMemcpy, which waits for the
 * GPU though no call of the program is named after waiting.
 *
 * A correct report counts for each iteration one launch of record_step, one pageable copy of 4
 * bytes, which is an implicit sync, and says sync-bound.  Fixed: implicit_sync_fixed.
 *
 *     implicit_sync [ITERATIONS]
 */
#include "cuda_samples/sample_chain.h"
#include <vector>

#define ROUNDS CHAIN_US(12)

KERNEL(record_step, "arg:2:2", (unsigned *value, unsigned *record, unsigned rounds))
{
	if (threadIdx.x == 0)
		*value = *record = lcg_steps(*value, rounds);
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 15000);
	unsigned *value = chain_start(), expected = 0;
	unsigned *record = sample_malloc<unsigned>(iterations + 1);
	std::vector<unsigned> seen(iterations + 1);

	for (unsigned i = 0; i < iterations; i++) {
		LAUNCH(record_step, 1, CHAIN_THREADS, 0, 0, value, &record[i], ROUNDS);
		sample_copy(&seen[i], &record[i], sizeof(*record), DTOH, PAGEABLE);
	}
	for (unsigned i = 0; i < iterations; i++) {
		expected = lcg_after(expected, ROUNDS);
		sample_verify(seen[i] == expected);
	}
	sample_answer(chain_end(value), expected);
	sample_expect("verdict=sync-bound");
	sample_expect("finding=implicit-sync");
	sample_free(record);
	return sample_finish();
}
