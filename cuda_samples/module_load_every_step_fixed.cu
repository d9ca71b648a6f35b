/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_load_every_step_fixed: the code is loaded once, before the first step, and nothing needs
 * to wait for it to be unloaded.
 *
 * A correct report counts ITERATIONS launches of loaded_chain, and says gpu-bound.
 *
 *     module_load_every_step_fixed [ITERATIONS]
 */
#include "cuda_samples/sample_module.h"

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 5500);
	unsigned *value = chain_start();
	CUfunction functions[MODULES];
	CUmodule modules[MODULES];
	cudaStream_t stream;

	for (unsigned m = 0; m < MODULES; m++)
		modules[m] = module_load(&functions[m]);
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned i = 0; i < iterations; i++)
		module_launch(functions[i % MODULES], value, MODULE_ROUNDS, stream);
	sample_sync_stream(stream);
	for (CUmodule module : modules)
		CHECK_DRIVER(cuModuleUnload(module));
	sample_answer(chain_end(value), lcg_after(0, (unsigned long)iterations * MODULE_ROUNDS));
	sample_expect("verdict=gpu-bound");
	sample_expect("no-finding=module-load-in-loop");
	CHECK(cudaStreamDestroy(stream));
	return sample_finish();
}
