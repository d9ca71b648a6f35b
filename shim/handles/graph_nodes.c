/* SPDX-License-Identifier: Apache-2.0 */
/* What a node of a graph is, and what it does. */
#include "shim/handles/graph_content_internal.h"

#include "shim/handles/memory_map.h"
#include "shim/handles/registry.h"

uint64_t graph_mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0xff51afd7ed558ccdu;
	return h ^ h >> 32;
}

static uint64_t handle_of(const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	return p->func ? (uintptr_t)p->func : (uintptr_t)p->kern;
}

static bool kernel_of(uint64_t handle, uint32_t *kernel)
{
	return registry_get(HANDLE_FUNCTION, handle, kernel) && *kernel != TF_KERNEL_UNKNOWN &&
	       *kernel != TF_KERNEL_OTHER;
}

/*
 * By the kernel's number, if the handle's making was seen. Else by the handle, which means the same
 * until some code is unloaded: to learn its name here would be to keep it, and nobody would say
 * when it ends.
 */
static uint64_t mix_kernel(uint64_t h, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	uint32_t kernel;

	if (kernel_of(handle_of(p), &kernel))
		h = graph_mix(h, kernel);
	else
		h = graph_mix(graph_mix(h, ~handle_of(p)), registry_code_unloads());
	h = graph_mix(h, (uint64_t)p->gridDimX << 32 | p->blockDimX);
	h = graph_mix(h, (uint64_t)p->gridDimY << 32 | p->blockDimY);
	h = graph_mix(h, (uint64_t)p->gridDimZ << 32 | p->blockDimZ);
	return graph_mix(h, p->sharedMemBytes);
}

/* The driver says a kernel's name where nobody saw its handle being made; the handle is not kept.
 * cuFuncGetName() takes a CUkernel in a CUfunction's clothes as cuLaunchKernel() does. */
uint32_t graph_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	CUfunction f = (CUfunction)(uintptr_t)handle_of(p);
	const char *name = NULL;
	uint32_t kernel;

	if (kernel_of((uintptr_t)f, &kernel))
		return kernel;
	if ((!graph_cu.func_name || graph_cu.func_name(&name, f) != CUDA_SUCCESS || !name) &&
	    graph_cu.kernel_name && graph_cu.kernel_name(&name, (CUkernel)f) != CUDA_SUCCESS)
		name = NULL;
	return name ? registry_kernel(name) : TF_KERNEL_UNKNOWN;
}

/* What is not known as pinned or managed is pageable, as for the copies' own classes. */
static enum spy_memory memory_at(CUmemorytype type, const void *host, CUdeviceptr device)
{
	if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_UNIFIED)
		return SPY_MEM_DEVICE;
	enum spy_memory memory =
	        memory_map_find(type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device);
	if (type == CU_MEMORYTYPE_HOST && (memory == SPY_MEM_DEVICE || memory == SPY_MEM_UNKNOWN))
		return SPY_MEM_PAGEABLE;
	return memory;
}

static uint64_t mix_copy(uint64_t h, const CUDA_MEMCPY3D *p)
{
	enum spy_memory from = memory_at(p->srcMemoryType, p->srcHost, p->srcDevice),
	                to = memory_at(p->dstMemoryType, p->dstHost, p->dstDevice);

	h = graph_mix(h, (uint64_t)from << 8 | to | (uint64_t)p->srcMemoryType << 16 |
	                         (uint64_t)p->dstMemoryType << 24);
	h = graph_mix(h, p->WidthInBytes);
	return graph_mix(graph_mix(h, p->Height), p->Depth);
}

static uint64_t mix_set(uint64_t h, const CUDA_MEMSET_NODE_PARAMS *p)
{
	h = graph_mix(h, p->width * p->elementSize);
	return graph_mix(graph_mix(h, p->height), p->elementSize);
}

/* Of no number any more; the parts go on. */
void graph_unknown(struct graph_walk *w)
{
	w->known = false;
}

void graph_refused(struct graph_walk *w)
{
	graph_unknown(w);
	if (w->reads)
		w->parts->all.flags |= TF_NODES_REFUSED;
}

void graph_too_much(struct graph_walk *w)
{
	graph_unknown(w);
	if (w->reads)
		w->parts->all.flags |= TF_NODES_PART;
	w->reads = false;
}

void graph_met(struct graph_walk *w, uint64_t hash)
{
	w->hash = hash;
}

void graph_add_kernel(struct graph_walk *w, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS_v2 p = {0};

	if (graph_cu.kernel(node, &p) != CUDA_SUCCESS) {
		graph_refused(w);
		return;
	}
	if (w->known)
		graph_met(w, mix_kernel(w->hash, &p));
	if (w->reads)
		graph_parts_kernel(w->parts, graph_kernel(&p), &p);
}

void graph_add_copy(struct graph_walk *w, CUgraphNode node)
{
	CUDA_MEMCPY3D p = {0};

	if (graph_cu.copy(node, &p) != CUDA_SUCCESS) {
		graph_refused(w);
		return;
	}
	if (w->known)
		graph_met(w, mix_copy(w->hash, &p));
	if (w->reads)
		graph_parts_copy(w->parts, memory_at(p.dstMemoryType, p.dstHost, p.dstDevice),
		                 memory_at(p.srcMemoryType, p.srcHost, p.srcDevice),
		                 (uint64_t)p.WidthInBytes * p.Height * p.Depth);
}

void graph_add_set(struct graph_walk *w, CUgraphNode node)
{
	CUDA_MEMSET_NODE_PARAMS p = {0};

	if (graph_cu.set(node, &p) != CUDA_SUCCESS) {
		graph_refused(w);
		return;
	}
	if (w->known)
		graph_met(w, mix_set(w->hash, &p));
	if (w->reads)
		graph_parts_set(w->parts, (uint64_t)p.width * p.elementSize * p.height);
}

void graph_add_host(struct graph_walk *w, CUgraphNode node)
{
	CUDA_HOST_NODE_PARAMS p = {0};

	if (graph_cu.host(node, &p) != CUDA_SUCCESS) {
		graph_refused(w);
		return;
	}
	graph_met(w, graph_mix(w->hash, (uintptr_t)p.fn));
	if (w->reads)
		graph_parts_other(w->parts, TF_NODES_HOST);
}

void graph_add_other(struct graph_walk *w, enum tf_nodes kind)
{
	if (w->reads)
		graph_parts_other(w->parts, kind);
}
