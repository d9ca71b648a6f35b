/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tells the classes of work apart: a key for each, made of a call's arguments. Never 0; where
 * it is, the work is not timed. For sampler.h, whose callers are the generated wrappers.
 */
#ifndef SPY_SAMPLER_KEYS_H
#define SPY_SAMPLER_KEYS_H

#include "shim/base/cuda_types.h"
#include "shim/core/work/work_class.h"
#include "shim/handles/registry.h"

static inline __attribute__((always_inline)) uint64_t
sampler_key_kernel(const void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared)
{
	uint64_t shape = ((uint64_t)gx << 32 | bx) * 0x9e3779b97f4a7c15u +
	                 ((uint64_t)gy << 40 ^ (uint64_t)gz << 20 ^ (uint64_t)by << 10 ^ bz) *
	                         0xc2b2ae3d27d4eb4fu +
	                 shared;

	return (((uintptr_t)f ^ shape) * 0xff51afd7ed558ccdu) | 1;
}

/* 0: not to be timed. Where launches may overlap or signal on their own, events around one of them
 * do not show its time, and would take the overlap away. */
uint64_t sampler_key_config(const CUlaunchConfig *config, const void *f);

/* By what the graph does, or by its number where that is not known: an executable that is made anew
 * for every launch is no class of its own. 0: its making was not seen. */
static inline uint64_t sampler_key_graph(const void *exec)
{
	uint32_t value;

	if (!registry_get(HANDLE_GRAPH_EXEC, (uintptr_t)exec, &value))
		return 0;
	uint32_t cls = work_graph(registry_graph_number(value), registry_graph_content(value));
	return cls != UINT32_MAX ? (cls * 0x9e3779b97f4a7c15u) | 1 : 0;
}

/* A copy or set of so many bytes, by this call; sizes of one octave are one class here. */
static inline uint64_t sampler_key_bytes(unsigned call, uint64_t bytes)
{
	uint64_t octave = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;

	return ((call * 64ull + octave + 1) * 0xff51afd7ed558ccdu) | 1;
}

static inline uint64_t sampler_bytes_2d(const CUDA_MEMCPY2D *p)
{
	return p ? (uint64_t)p->WidthInBytes * p->Height : 0;
}

static inline uint64_t sampler_bytes_3d(const CUDA_MEMCPY3D *p)
{
	return p ? (uint64_t)p->WidthInBytes * p->Height * p->Depth : 0;
}

static inline uint64_t sampler_bytes_3d_peer(const CUDA_MEMCPY3D_PEER *p)
{
	return p ? (uint64_t)p->WidthInBytes * p->Height * p->Depth : 0;
}

#if CUDA_VERSION >= 12080
static inline uint64_t sampler_bytes_3d_op(const CUDA_MEMCPY3D_BATCH_OP *p)
{
	return p ? (uint64_t)p->extent.width * p->extent.height * p->extent.depth : 0;
}
#endif

#endif
