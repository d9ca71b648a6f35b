/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_keys.h"

/* Programmatic stream serialization (6) lets a kernel begin before the one ahead of it has ended.
 * It is a permission: between our events the kernel runs alone, as it does behind a copy. */
uint64_t sampler_key_config(const CUlaunchConfig *config, const void *f)
{
	if (!config)
		return 0;
	for (unsigned i = 0; config->attrs && i < config->numAttrs; i++)
		switch ((int)config->attrs[i].id) {
		case 2: /* CU_LAUNCH_ATTRIBUTE_COOPERATIVE */
			return 0;
		case 7:  /* ..._PROGRAMMATIC_EVENT */
		case 12: /* ..._LAUNCH_COMPLETION_EVENT, since CUDA 12.3 */
			return 0;
		}
	return sampler_key_kernel(f, config->gridDimX, config->gridDimY, config->gridDimZ,
	                          config->blockDimX, config->blockDimY, config->blockDimZ,
	                          config->sharedMemBytes);
}
