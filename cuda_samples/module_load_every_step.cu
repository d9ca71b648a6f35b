/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_load_every_step: each step loads the code of all its kernels, launches one of them, waits,
 * and unloads them, as programs do that compile kernels as they go and keep none.
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
	unsigned iterations = sample_start(argc, argv, 5500);
	unsigned *value = chain_start();
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++) {
		CUfunction functions[MODULES];
		CUmodule modules[MODULES];

		for (unsigned m = 0; m < MODULES; m++)
			modules[m] = module_load(&functions[m]);
		module_launch(functions[i % MODULES], value, MODULE_ROUNDS, stream);
		sample_sync_stream(stream);
		for (CUmodule module : modules)
			CHECK_DRIVER(cuModuleUnload(module));
	}
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * MODULE_ROUNDS));
	sample_expect("verdict=alloc-bound");
	sample_expect("finding=module-load-in-loop");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
