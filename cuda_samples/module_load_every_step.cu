/*
 * module_load_every_step: each step loads the code it launches, waits, and unloads it, as programs
 * do that compile kernels as they go and keep none.
 *
 * A correct report counts ITERATIONS launches of loaded_chain and as many stream syncs, shows the
 * host loading modules in the steady state, and says alloc-bound.  Fixed:
 * module_load_every_step_fixed.
 *
 *     module_load_every_step [ITERATIONS]
 */
#include "cuda_samples/sample_module.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 1000);
	unsigned *value = chain_start();
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		CUfunction function;
		CUmodule module = module_load(&function);

		module_launch(function, value, CHAIN_US(100), stream);
		sample_sync_stream(stream);
		CHECK_DRIVER(cuModuleUnload(module));
	}
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * CHAIN_US(100)));
	sample_expect("verdict=alloc-bound");
	sample_expect("finding=module-load-in-loop");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
