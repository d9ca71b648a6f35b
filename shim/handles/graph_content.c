/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/handles/graph_content.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "shim/base/clock.h"
#include "shim/base/quiet.h"
#include "shim/handles/memory_map.h"
#include "shim/real/real.h"
#include "shim/handles/registry.h"

#define EDGES_MOST       4096u
#define NODE_CONDITIONAL 13  /* CU_GRAPH_NODE_TYPE_CONDITIONAL, since CUDA 12.3 */
#define DEPTH_MOST       8u  /* child graphs within each other */
#define CLOCK_EACH       64u /* nodes, between looks at the clock */
#define PLACES           (2 * GRAPH_NODES_MOST)

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
	void *name = spy_driver_symbol("cuFuncGetName"); /* since CUDA 12.3, as the other */
	memcpy(&cu->func_name, &name, sizeof(name));
	name = spy_driver_symbol("cuKernelGetName");
	memcpy(&cu->kernel_name, &name, sizeof(name));
	__atomic_store_n(&found, true, __ATOMIC_RELEASE);
	return true;
}

/* ---- room ---- */

/* Where one graph is looked at, its children after each other behind it. Only pages that are used
 * cost memory. */
struct walk {
	struct graph_reading reading;        /* first */
	CUgraphNode nodes[GRAPH_NODES_READ]; /* of the graphs around the present one, then its own
	                                      */
	CUgraphNode from[EDGES_MOST], to[EDGES_MOST]; /* of the present one */
	uint16_t place[PLACES]; /* by hash of a node of the present one: its index + 1 */
	uint32_t used, most;    /* of `nodes`; those that a content may have */
	uint64_t hash;
	bool known; /* what was met so far can be told by `hash` */
	bool reads; /* parts are asked for, and there is time for them */
	struct graph_parts *parts;
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
		h = mix(h, kernel);
	else
		h = mix(mix(h, ~handle_of(p)), registry_code_unloads());
	h = mix(h, (uint64_t)p->gridDimX << 32 | p->blockDimX);
	h = mix(h, (uint64_t)p->gridDimY << 32 | p->blockDimY);
	h = mix(h, (uint64_t)p->gridDimZ << 32 | p->blockDimZ);
	return mix(h, p->sharedMemBytes);
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

	h = mix(h, (uint64_t)from << 8 | to | (uint64_t)p->srcMemoryType << 16 |
	                   (uint64_t)p->dstMemoryType << 24);
	h = mix(h, p->WidthInBytes);
	return mix(mix(h, p->Height), p->Depth);
}

static uint64_t mix_set(uint64_t h, const CUDA_MEMSET_NODE_PARAMS *p)
{
	h = mix(h, p->width * p->elementSize);
	return mix(mix(h, p->height), p->elementSize);
}

/* Of no number any more; the parts go on. */
static void unknown(struct walk *w)
{
	w->known = false;
}

static void refused(struct walk *w)
{
	unknown(w);
	if (w->reads)
		w->parts->all.flags |= TF_NODES_REFUSED;
}

static void too_much(struct walk *w)
{
	unknown(w);
	if (w->reads)
		w->parts->all.flags |= TF_NODES_PART;
	w->reads = false;
}

static void met(struct walk *w, uint64_t hash)
{
	w->hash = hash;
}

static void add_kernel(struct walk *w, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS_v2 p = {0};

	if (graph_cu.kernel(node, &p) != CUDA_SUCCESS) {
		refused(w);
		return;
	}
	if (w->known)
		met(w, mix_kernel(w->hash, &p));
	if (w->reads)
		graph_parts_kernel(w->parts, graph_kernel(&p), &p);
}

static void add_copy(struct walk *w, CUgraphNode node)
{
	CUDA_MEMCPY3D p = {0};

	if (graph_cu.copy(node, &p) != CUDA_SUCCESS) {
		refused(w);
		return;
	}
	if (w->known)
		met(w, mix_copy(w->hash, &p));
	if (w->reads)
		graph_parts_copy(w->parts, memory_at(p.dstMemoryType, p.dstHost, p.dstDevice),
		                 memory_at(p.srcMemoryType, p.srcHost, p.srcDevice),
		                 (uint64_t)p.WidthInBytes * p.Height * p.Depth);
}

static void add_set(struct walk *w, CUgraphNode node)
{
	CUDA_MEMSET_NODE_PARAMS p = {0};

	if (graph_cu.set(node, &p) != CUDA_SUCCESS) {
		refused(w);
		return;
	}
	if (w->known)
		met(w, mix_set(w->hash, &p));
	if (w->reads)
		graph_parts_set(w->parts, (uint64_t)p.width * p.elementSize * p.height);
}

static void add_host(struct walk *w, CUgraphNode node)
{
	CUDA_HOST_NODE_PARAMS p = {0};

	if (graph_cu.host(node, &p) != CUDA_SUCCESS) {
		refused(w);
		return;
	}
	met(w, mix(w->hash, (uintptr_t)p.fn));
	if (w->reads)
		graph_parts_other(w->parts, TF_NODES_HOST);
}

static void add_other(struct walk *w, enum tf_nodes kind)
{
	if (w->reads)
		graph_parts_other(w->parts, kind);
}

static void add_graph(struct walk *w, CUgraph graph, unsigned depth);

static void add_child(struct walk *w, CUgraphNode node, unsigned depth)
{
	CUgraph child = NULL;

	if (depth >= DEPTH_MOST)
		too_much(w);
	else if (graph_cu.child(node, &child) != CUDA_SUCCESS)
		refused(w);
	else
		add_graph(w, child, depth + 1);
}

static void add_node(struct walk *w, CUgraphNode node, unsigned depth)
{
	CUgraphNodeType type;

	if (graph_cu.type(node, &type) != CUDA_SUCCESS) {
		refused(w);
		return;
	}
	met(w, mix(w->hash, type));
	switch ((int)type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		add_kernel(w, node);
		return;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		add_copy(w, node);
		return;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		add_set(w, node);
		return;
	case CU_GRAPH_NODE_TYPE_HOST:
		add_host(w, node);
		return;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		add_child(w, node, depth);
		return;
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		add_other(w, TF_NODES_OTHER);
		return;
	default:
		/* How often the body of a conditional node runs, only the GPU knows. */
		unknown(w);
		add_other(w, (int)type == NODE_CONDITIONAL ? TF_NODES_CONDITIONAL : TF_NODES_OTHER);
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

static bool goes_on(struct walk *w)
{
	if (w->reads && ++w->parts->count % CLOCK_EACH == 0 && spy_clock() > w->parts->until)
		too_much(w);
	return w->known || w->reads;
}

static void add_graph(struct walk *w, CUgraph graph, unsigned depth)
{
	CUgraphNode *nodes = w->nodes + w->used;
	size_t count = 0;

	if (graph_cu.nodes(graph, NULL, &count) != CUDA_SUCCESS) {
		refused(w);
		return;
	}
	if (count > w->most || w->used > w->most - count)
		unknown(w);
	if (count > GRAPH_NODES_READ - w->used) {
		if (w->reads)
			w->parts->all.nodes += count;
		too_much(w);
	}
	if (!w->known && !w->reads)
		return;
	met(w, mix(w->hash, count));
	if (!count)
		return;
	size_t told = count;
	if (graph_cu.nodes(graph, nodes, &told) != CUDA_SUCCESS || told != count) {
		refused(w);
		return;
	}
	if (w->known && !add_edges(w, graph, nodes, (uint32_t)count, &w->hash))
		unknown(w);
	w->used += (uint32_t)count;
	for (size_t i = 0; i < count && goes_on(w); i++)
		add_node(w, nodes[i], depth);
}

static void walk_graph(struct walk *w, CUgraph graph, uint32_t most, uint64_t until)
{
	w->used = 0;
	w->most = most < GRAPH_NODES_MOST ? most : GRAPH_NODES_MOST;
	w->hash = 0x9e3779b97f4a7c15u;
	w->known = true;
	w->reads = until != 0;
	w->parts = &w->reading.parts;
	graph_parts_begin(w->parts, until);
	add_graph(w, graph, 0);
	w->reading.content = w->known ? w->hash | 1 : 0;
	w->reading.read = until != 0;
}

struct graph_reading *graph_read(CUgraph graph, uint32_t most, uint64_t until)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	int saved = errno;

	/* Acquire: the functions were stored before. */
	if (!graph || !__atomic_load_n(&found, __ATOMIC_ACQUIRE))
		return NULL;
	quiet_begin();
	struct walk *w = take_walk();
	if (w && graph_cu.exchange_mode(&mode) == CUDA_SUCCESS) {
		walk_graph(w, graph, most, until);
		graph_cu.exchange_mode(&mode);
	} else if (w) {
		give_walk(w);
		w = NULL;
	}
	quiet_end();
	errno = saved;
	return w ? &w->reading : NULL;
}

void graph_reading_end(struct graph_reading *r)
{
	if (r)
		give_walk((struct walk *)r);
}
