/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/handles/graph_content_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "shim/base/clock.h"
#include "shim/base/quiet.h"
#include "shim/real/real.h"

#define NODE_CONDITIONAL 13  /* CU_GRAPH_NODE_TYPE_CONDITIONAL, since CUDA 12.3 */
#define DEPTH_MOST       8u  /* child graphs within each other */
#define CLOCK_EACH       64u /* nodes, between looks at the clock */

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

static struct graph_walk *spare; /* taken and given back whole, by whichever thread comes */

static struct graph_walk *take_walk(void)
{
	/* Acquire: pairs with give_walk(). */
	struct graph_walk *w = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQUIRE);

	if (w)
		return w;
	w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return w == MAP_FAILED ? NULL : w;
}

static void give_walk(struct graph_walk *w)
{
	/* Release: what this thread wrote is written before another one takes it. */
	w = __atomic_exchange_n(&spare, w, __ATOMIC_ACQ_REL);
	if (w) /* two threads at once */
		munmap(w, sizeof(*w));
}

/* ---- nodes ---- */

static void add_graph(struct graph_walk *w, CUgraph graph, unsigned depth);

static void add_child(struct graph_walk *w, CUgraphNode node, unsigned depth)
{
	CUgraph child = NULL;

	if (depth >= DEPTH_MOST)
		graph_too_much(w);
	else if (graph_cu.child(node, &child) != CUDA_SUCCESS)
		graph_refused(w);
	else
		add_graph(w, child, depth + 1);
}

static void add_node(struct graph_walk *w, CUgraphNode node, unsigned depth)
{
	CUgraphNodeType type;

	if (graph_cu.type(node, &type) != CUDA_SUCCESS) {
		graph_refused(w);
		return;
	}
	graph_met(w, graph_mix(w->hash, type));
	switch ((int)type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		graph_add_kernel(w, node);
		return;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		graph_add_copy(w, node);
		return;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		graph_add_set(w, node);
		return;
	case CU_GRAPH_NODE_TYPE_HOST:
		graph_add_host(w, node);
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
		graph_add_other(w, TF_NODES_OTHER);
		return;
	default:
		/* How often the body of a conditional node runs, only the GPU knows. */
		graph_unknown(w);
		graph_add_other(w, (int)type == NODE_CONDITIONAL ? TF_NODES_CONDITIONAL
		                                                 : TF_NODES_OTHER);
	}
}

/* ---- edges ---- */

static uint32_t first_place(CUgraphNode node, uint32_t mask)
{
	return (uint32_t)(graph_mix(0, (uintptr_t)node) >> 20) & mask;
}

/* `count` nodes, at least one; the mask of the places. */
static uint32_t number_nodes(struct graph_walk *w, CUgraphNode *nodes, uint32_t count)
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
static uint32_t number_of(const struct graph_walk *w, CUgraphNode *nodes, uint32_t mask,
                          CUgraphNode node)
{
	uint32_t at = first_place(node, mask);

	while (w->place[at] && nodes[w->place[at] - 1] != node)
		at = (at + 1) & mask;
	return w->place[at];
}

/* A sum, so that it does not matter in which order the driver tells them. */
static bool add_edges(struct graph_walk *w, CUgraph graph, CUgraphNode *nodes, uint32_t count,
                      uint64_t *h)
{
	size_t edges = 0;
	uint64_t sum = 0;

	/* Where edges have data, this is refused. */
	if (graph_cu.edges(graph, NULL, NULL, &edges) != CUDA_SUCCESS || edges > GRAPH_EDGES_MOST)
		return false;
	*h = graph_mix(*h, edges);
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
		sum += graph_mix(graph_mix(1, from), to);
	}
	*h = graph_mix(*h, sum);
	return true;
}

/* ---- graphs ---- */

static bool goes_on(struct graph_walk *w)
{
	if (w->reads && ++w->parts->count % CLOCK_EACH == 0 && spy_clock() > w->parts->until)
		graph_too_much(w);
	return w->known || w->reads;
}

static void add_graph(struct graph_walk *w, CUgraph graph, unsigned depth)
{
	CUgraphNode *nodes = w->nodes + w->used;
	size_t count = 0;

	if (graph_cu.nodes(graph, NULL, &count) != CUDA_SUCCESS) {
		graph_refused(w);
		return;
	}
	if (count > w->most || w->used > w->most - count)
		graph_unknown(w);
	if (count > GRAPH_NODES_READ - w->used) {
		if (w->reads)
			w->parts->all.nodes += count;
		graph_too_much(w);
	}
	if (!w->known && !w->reads)
		return;
	graph_met(w, graph_mix(w->hash, count));
	if (!count)
		return;
	size_t told = count;
	if (graph_cu.nodes(graph, nodes, &told) != CUDA_SUCCESS || told != count) {
		graph_refused(w);
		return;
	}
	if (w->known && !add_edges(w, graph, nodes, (uint32_t)count, &w->hash))
		graph_unknown(w);
	w->used += (uint32_t)count;
	for (size_t i = 0; i < count && goes_on(w); i++)
		add_node(w, nodes[i], depth);
}

static void walk_graph(struct graph_walk *w, CUgraph graph, uint32_t most, uint64_t until)
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
	struct graph_walk *w = take_walk();
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
		give_walk((struct graph_walk *)r);
}
