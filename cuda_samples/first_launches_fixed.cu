/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_launches_fixed: each kernel is launched once, with nothing to do, before the first request
 * comes.  (CUDA_MODULE_LOADING=EAGER does the like without a change.)
 *
 * A correct report counts 32 launches more than for first_launches, all of them in the start-up.
 *
 *     first_launches_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_shapes.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 3200);
	unsigned *value = chain_start();
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (shape_launcher *launch : launch_shape)
		launch(value, 0, stream);
	sample_sync_stream(stream);
	for (unsigned i = 0; i < iterations; i++) {
		launch_shape[shape_of(i, iterations)](value, CHAIN_US(100), stream);
		sample_sync_stream(stream);
	}
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(100)));
	sample_expect("no-finding=first-launch-cost");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
