/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_launches: requests of 100 us that the host waits for one by one; now and then one needs a
 * kernel that has not run yet, and its launch loads code first.
 *
 * A correct report counts ITERATIONS launches over 32 kernels and as many stream syncs, and tells
 * the cost of the first launches from that of the others.  Fixed: first_launches_fixed.
 *
 *     first_launches [ITERATIONS]
 */
#include "cuda_samples/sample_shapes.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 3200);
	unsigned *value = chain_start();
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		launch_shape[shape_of(i, iterations)](value, CHAIN_US(100), stream);
		sample_sync_stream(stream);
	}
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(100)));
	sample_expect("finding=first-launch-cost");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
