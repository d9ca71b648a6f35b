/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's headers with every ELF symbol declared under its own name (no renaming of cuMemAlloc to
 * cuMemAlloc_v2). Included wherever the shim needs a CUDA type.
 */
#ifndef SPY_CUDA_TYPES_H
#define SPY_CUDA_TYPES_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <driver_types.h>
#include <vector_types.h>
#include "shim/base/cuda_later.h"

#endif
