/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exposed_allreduce: a training step as it looks to the GPU: backward passes of eight layers (60 us
 * each), then the all-reduce of each layer's gradients in a stream of its own, which nothing runs
 * beside.  Two devices do it at a time where there are two.  The all-reduces are kernels of that
 * name alone: no data passes between devices.
 *
 * A correct report counts for each device and iteration eight launches of backward and eight of the
 * all-reduce, names the communication and how much of it is exposed, and says comm-bound, though
 * the GPU is never idle.  Fixed: exposed_allreduce_fixed.
 *
 *     exposed_allreduce [ITERATIONS]
 */
#include "cuda_samples/sample_rank.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 400);
	rank ranks[MOST_RANKS];
	unsigned count = ranks_start(ranks);

	for (unsigned i = 0; i < iterations; i++) {
		for (unsigned layer = 0; layer < LAYERS; layer++)
			for (unsigned r = 0; r < count; r++)
				rank_backward(&ranks[r], layer);
		/* The last layer's comes first and holds back the others until its gradients exist.
		 */
		for (unsigned layer = LAYERS; layer-- > 0;)
			for (unsigned r = 0; r < count; r++)
				rank_allreduce(&ranks[r], layer);
		for (unsigned r = 0; r < count; r++)
			rank_join(&ranks[r]);
	}
	ranks_end(ranks, count, iterations);
	sample_expect("verdict=comm-bound");
	sample_expect("finding=exposed-communication");
	return sample_finish();
}
