/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/handles/graph_content.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "shim/handles/memory_map.h"
#include "shim/real/real.h"
#include "shim/handles/registry.h"

#define EDGES_MOST 4096u
#define DEPTH_MOST 8u /* child graphs within each other */
#define PLACES     (2 * GRAPH_NODES_MOST)

struct graph_driver graph_cu;

static bool found;

bool graph_content_find(void)
{
	struct graph_driver *cu = &graph_cu;
	const struct spy_wanted wanted[] = {
	        {&cu->exchange_mode, "cuThreadExchangeStreamCaptureMode", NULL},
	        {&cu->nodes, "cuGraphGetNodes", NULL},
	        {&cu->edges, "cuGraphGetEdges", NULL},
	        {&cu->type, "cuGraphNodeGetType", NULL},
	        /* Of CUDA 11: fills the same struct but for its end. */
	        {&cu->kernel, "cuGraphKernelNodeGetParams_v2", "cuGraphKernelNodeGetParams"},
	        {&cu->copy, "cuGraphMemcpyNodeGetParams", NULL},
	        {&cu->set, "cuGraphMemsetNodeGetParams", NULL},
	        {&cu->host, "cuGraphHostNodeGetParams", NULL},
	        {&cu->child, "cuGraphChildGraphNodeGetGraph", NULL},
	};

	if (!spy_driver_symbols(wanted, sizeof(wanted) / sizeof(wanted[0])))
		return false;
	__atomic_store_n(&found, true, __ATOMIC_RELEASE);
	return true;
}

/* ---- room ---- */

/* Where one graph is looked at, its children after each other behind it. Only pages that are used
 * cost memory. */
struct walk {
	CUgraphNode
	        nodes[GRAPH_NODES_MOST]; /* of the graphs around the present one, then its own */
	CUgraphNode from[EDGES_MOST], to[EDGES_MOST]; /* of the present one */
	uint16_t place[PLACES]; /* by hash of a node of the present one: its index + 1 */
	uint32_t used, most;    /* of `nodes` */
};

static struct walk *spare; /* taken and given back whole, by whichever thread comes */

static struct walk *take_walk(void)
{
	/* Acquire: pairs with give_walk(). */
	struct walk *w = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQUIRE);

	if (w)
		return w;
	w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return w == MAP_FAILED ? NULL : w;
}

static void give_walk(struct walk *w)
{
	/* Release: what this thread wrote is written before another one takes it. */
	w = __atomic_exchange_n(&spare, w, __ATOMIC_ACQ_REL);
	if (w) /* two threads at once */
		munmap(w, sizeof(*w));
}

/* ---- nodes ---- */

static uint64_t mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0xff51afd7ed558ccdu;
	return h ^ h >> 32;
}

/*
 * By the kernel's number, if the handle's making was seen. Else by the handle, which means the same
 * until some code is unloaded: to learn its name here would be to keep it, and nobody would say
 * when it ends.
 */
static uint64_t mix_kernel(uint64_t h, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	uint64_t handle = p->func ? (uintptr_t)p->func : (uintptr_t)p->kern;
	uint32_t kernel;

	if (registry_get(HANDLE_FUNCTION, handle, &kernel) && kernel != TF_KERNEL_UNKNOWN &&
	    kernel != TF_KERNEL_OTHER)
		h = mix(h, kernel);
	else
		h = mix(mix(h, ~handle), registry_code_unloads());
	h = mix(h, (uint64_t)p->gridDimX << 32 | p->blockDimX);
	h = mix(h, (uint64_t)p->gridDimY << 32 | p->blockDimY);
	h = mix(h, (uint64_t)p->gridDimZ << 32 | p->blockDimZ);
	return mix(h, p->sharedMemBytes);
}

/* What is not known as pinned or managed is pageable, as for the copies' own classes. */
static uint64_t memory_at(CUmemorytype type, const void *host, CUdeviceptr device)
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
	uint64_t from = memory_at(p->srcMemoryType, p->srcHost, p->srcDevice);
	uint64_t to = memory_at(p->dstMemoryType, p->dstHost, p->dstDevice);

	h = mix(h, from << 8 | to | (uint64_t)p->srcMemoryType << 16 |
	                   (uint64_t)p->dstMemoryType << 24);
	h = mix(h, p->WidthInBytes);
	return mix(mix(h, p->Height), p->Depth);
}

static uint64_t mix_set(uint64_t h, const CUDA_MEMSET_NODE_PARAMS *p)
{
	h = mix(h, p->width * p->elementSize);
	return mix(mix(h, p->height), p->elementSize);
}

static bool add_graph(struct walk *w, CUgraph graph, uint64_t *h, unsigned depth);

static bool add_node(struct walk *w, CUgraphNode node, uint64_t *h, unsigned depth)
{
	union {
		CUDA_KERNEL_NODE_PARAMS_v2 kernel;
		CUDA_MEMCPY3D copy;
		CUDA_MEMSET_NODE_PARAMS set;
		CUDA_HOST_NODE_PARAMS host;
		CUgraph child;
	} p = {{0}};
	CUgraphNodeType type;

	if (graph_cu.type(node, &type) != CUDA_SUCCESS)
		return false;
	*h = mix(*h, type);
	switch ((int)type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		if (graph_cu.kernel(node, &p.kernel) != CUDA_SUCCESS)
			return false;
		*h = mix_kernel(*h, &p.kernel);
		return true;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		if (graph_cu.copy(node, &p.copy) != CUDA_SUCCESS)
			return false;
		*h = mix_copy(*h, &p.copy);
		return true;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		if (graph_cu.set(node, &p.set) != CUDA_SUCCESS)
			return false;
		*h = mix_set(*h, &p.set);
		return true;
	case CU_GRAPH_NODE_TYPE_HOST:
		if (graph_cu.host(node, &p.host) != CUDA_SUCCESS)
			return false;
		*h = mix(*h, (uintptr_t)p.host.fn);
		return true;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return depth < DEPTH_MOST && graph_cu.child(node, &p.child) == CUDA_SUCCESS &&
		       add_graph(w, p.child, h, depth + 1);
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return true;
	default:
		return false;
	}
}

/* ---- edges ---- */

static uint32_t first_place(CUgraphNode node, uint32_t mask)
{
	return (uint32_t)(mix(0, (uintptr_t)node) >> 20) & mask;
}

/* `count` nodes, at least one; the mask of the places. */
static uint32_t number_nodes(struct walk *w, CUgraphNode *nodes, uint32_t count)
{
	uint32_t places = 2;

	while (places < 2 * count)
		places *= 2;
	memset(w->place, 0, places * sizeof(w->place[0]));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = first_place(nodes[i], places - 1);
		while (w->place[at])
			at = (at + 1) & (places - 1);
		w->place[at] = (uint16_t)(i + 1);
	}
	return places - 1;
}

/* The node's index + 1; 0: it is none of them. */
static uint32_t number_of(const struct walk *w, CUgraphNode *nodes, uint32_t mask, CUgraphNode node)
{
	uint32_t at = first_place(node, mask);

	while (w->place[at] && nodes[w->place[at] - 1] != node)
		at = (at + 1) & mask;
	return w->place[at];
}

/* A sum, so that it does not matter in which order the driver tells them. */
static bool add_edges(struct walk *w, CUgraph graph, CUgraphNode *nodes, uint32_t count,
                      uint64_t *h)
{
	size_t edges = 0;
	uint64_t sum = 0;

	/* Where edges have data, this is refused. */
	if (graph_cu.edges(graph, NULL, NULL, &edges) != CUDA_SUCCESS || edges > EDGES_MOST)
		return false;
	*h = mix(*h, edges);
	if (!edges)
		return true;
	size_t told = edges;
	if (graph_cu.edges(graph, w->from, w->to, &told) != CUDA_SUCCESS || told != edges)
		return false;
	uint32_t mask = number_nodes(w, nodes, count);
	for (size_t i = 0; i < edges; i++) {
		uint64_t from = number_of(w, nodes, mask, w->from[i]),
		         to = number_of(w, nodes, mask, w->to[i]);
		if (!from || !to)
			return false;
		sum += mix(mix(1, from), to);
	}
	*h = mix(*h, sum);
	return true;
}

/* ---- graphs ---- */

static bool add_graph(struct walk *w, CUgraph graph, uint64_t *h, unsigned depth)
{
	CUgraphNode *nodes = w->nodes + w->used;
	size_t count = 0;

	if (graph_cu.nodes(graph, NULL, &count) != CUDA_SUCCESS || count > w->most - w->used)
		return false;
	*h = mix(*h, count);
	if (!count)
		return true;
	size_t told = count;
	if (graph_cu.nodes(graph, nodes, &told) != CUDA_SUCCESS || told != count ||
	    !add_edges(w, graph, nodes, (uint32_t)count, h))
		return false;
	w->used += (uint32_t)count;
	for (size_t i = 0; i < count; i++)
		if (!add_node(w, nodes[i], h, depth))
			return false;
	return true;
}

uint64_t graph_content(CUgraph graph, uint32_t most)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	uint64_t h = 0x9e3779b97f4a7c15u;
	int saved = errno;
	bool known = false;

	/* Acquire: the functions were stored before. */
	if (!graph || !__atomic_load_n(&found, __ATOMIC_ACQUIRE))
		return 0;
	if (graph_cu.exchange_mode(&mode) != CUDA_SUCCESS) {
		errno = saved;
		return 0;
	}
	struct walk *w = take_walk();
	if (w) {
		w->used = 0;
		w->most = most < GRAPH_NODES_MOST ? most : GRAPH_NODES_MOST;
		known = add_graph(w, graph, &h, 0);
		give_walk(w);
	}
	graph_cu.exchange_mode(&mode);
	errno = saved;
	return known ? h | 1 : 0;
}
