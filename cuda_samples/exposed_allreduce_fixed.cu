/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exposed_allreduce_fixed: the all-reduce of a layer starts as soon as the layer's gradients exist
 * and runs beside the backward pass of the next one, as DistributedDataParallel's buckets do.  Only
 * the last and smallest is exposed.
 *
 * A correct report counts what it counts for exposed_allreduce, and says gpu-bound.
 *
 *     exposed_allreduce_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_rank.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 400);
	rank ranks[MOST_RANKS];
	unsigned count = ranks_start(ranks);

	for (unsigned i = 0; i < iterations; i++) {
		for (unsigned layer = 0; layer < LAYERS; layer++) {
			for (unsigned r = 0; r < count; r++) {
				rank_backward(&ranks[r], layer);
				rank_allreduce(&ranks[r], layer);
			}
		}
		for (unsigned r = 0; r < count; r++)
			rank_join(&ranks[r]);
	}
	ranks_end(ranks, count, iterations);
	sample_expect("verdict=gpu-bound");
	sample_expect("no-finding=exposed-communication");
	return sample_finish();
}
