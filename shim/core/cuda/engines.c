/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/cuda/engines.h"

/* Of work of which nothing is known. */
#define SHORT_WORK_NS    5000.0 /* a kernel, a graph */
#define COPY_LEAST_NS    1000.0
#define HOST_COPY_RATE   20.0 /* over PCIe; bytes a ns */
#define DEVICE_COPY_RATE 1000.0

enum cuda_engine cuda_engine(enum tf_work_kind kind, struct cuda_copy copy)
{
	if (kind != TF_WORK_COPY || copy.direction == SPY_DIR_DTOD)
		return CUDA_ENGINE_COMPUTE;
	if (copy.direction != SPY_DIR_HTOD)
		return CUDA_ENGINE_FROM_DEVICE;
	return copy.bytes <= (copy.memory == SPY_MEM_PAGEABLE ? CUDA_COPY_INLINE_BYTES
	                                                      : CUDA_COPY_FRONT_BYTES)
	               ? CUDA_ENGINE_COMPUTE
	               : CUDA_ENGINE_TO_DEVICE;
}

double cuda_guess_ns(enum tf_work_kind kind, enum spy_direction direction, double bytes)
{
	if (kind == TF_WORK_COPY && direction != SPY_DIR_DTOD)
		return COPY_LEAST_NS + bytes / HOST_COPY_RATE;
	if (kind == TF_WORK_COPY || kind == TF_WORK_SET)
		return COPY_LEAST_NS + bytes / DEVICE_COPY_RATE;
	return SHORT_WORK_NS;
}
