/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of a graph: asked for, added, removed.  Edge data is always the default. */
#include <string.h>
#include "tests/sim/driver_graph.h"

/* With room in *count entries, all of it or nothing; without an array only the number. */
#define FILL(out, at, room, node)                                                                  \
	do {                                                                                       \
		if ((out) && (at) < (room))                                                        \
			(out)[at] = (CUgraphNode)(node);                                           \
	} while (0)

CUresult do_cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
	struct sim_graph *g = graph_get(hGraph);
	size_t n = 0;

	if (!g || !numNodes)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct sim_node *o = g->first; o; o = o->next, n++)
		FILL(nodes, n, *numNodes, o);
	if (!nodes || n < *numNodes)
		*numNodes = n;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
	struct sim_graph *g = graph_get(hGraph);
	size_t n = 0;

	if (!g || !numRootNodes)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct sim_node *o = g->first; o; o = o->next) {
		if (o->dep_count)
			continue;
		FILL(rootNodes, n, *numRootNodes, o);
		n++;
	}
	if (!rootNodes || n < *numRootNodes)
		*numRootNodes = n;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
	struct sim_graph *g = graph_get(hGraph);
	size_t n = 0;

	if (!g || !numEdges || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct sim_node *o = g->first; o; o = o->next) {
		for (unsigned i = 0; i < o->dep_count; i++, n++) {
			FILL(from, n, *numEdges, o->deps[i]);
			FILL(to, n, *numEdges, o);
		}
	}
	if (!from || n < *numEdges)
		*numEdges = n;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                               CUgraphEdgeData *edgeData, size_t *numEdges)
{
	CUresult rc = do_cuGraphGetEdges(hGraph, from, to, numEdges);

	if (rc == CUDA_SUCCESS && edgeData && from)
		memset(edgeData, 0, *numEdges * sizeof(*edgeData));
	return rc;
}

CUresult do_cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies,
                                       size_t *numDependencies)
{
	struct sim_node *n = node_get(hNode);

	if (!n || !numDependencies)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n->dep_count; i++)
		FILL(dependencies, i, *numDependencies, n->deps[i]);
	if (!dependencies || n->dep_count < *numDependencies)
		*numDependencies = n->dep_count;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies,
                                          CUgraphEdgeData *edgeData, size_t *numDependencies)
{
	CUresult rc = do_cuGraphNodeGetDependencies(hNode, dependencies, numDependencies);

	if (rc == CUDA_SUCCESS && edgeData && dependencies)
		memset(edgeData, 0, *numDependencies * sizeof(*edgeData));
	return rc;
}

CUresult do_cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                         size_t *numDependentNodes)
{
	struct sim_node *n = node_get(hNode);
	size_t found = 0;

	if (!n || !numDependentNodes)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct sim_node *o = n->graph->first; o; o = o->next) {
		for (unsigned i = 0; i < o->dep_count; i++) {
			if (o->deps[i] != n)
				continue;
			FILL(dependentNodes, found, *numDependentNodes, o);
			found++;
		}
	}
	if (!dependentNodes || found < *numDependentNodes)
		*numDependentNodes = found;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                            CUgraphEdgeData *edgeData, size_t *numDependentNodes)
{
	CUresult rc = do_cuGraphNodeGetDependentNodes(hNode, dependentNodes, numDependentNodes);

	if (rc == CUDA_SUCCESS && edgeData && dependentNodes)
		memset(edgeData, 0, *numDependentNodes * sizeof(*edgeData));
	return rc;
}

static unsigned edge(const struct sim_node *to, const struct sim_node *from)
{
	unsigned i = 0;

	while (i < to->dep_count && to->deps[i] != from)
		i++;
	return i;
}

CUresult do_cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t numDependencies)
{
	struct sim_graph *g = graph_get(hGraph);

	if (!g || (numDependencies && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < numDependencies; i++) {
		struct sim_node *a = node_get(from[i]), *b = node_get(to[i]);

		if (!a || !b || a == b || a->graph != g || b->graph != g ||
		    edge(b, a) < b->dep_count)
			return CUDA_ERROR_INVALID_VALUE;
		if (!node_depend(b, a))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

CUresult do_cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                      const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                      size_t numDependencies)
{
	return do_cuGraphAddDependencies(hGraph, from, to, numDependencies);
}

CUresult do_cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from,
                                      const CUgraphNode *to, size_t numDependencies)
{
	struct sim_graph *g = graph_get(hGraph);

	if (!g || (numDependencies && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < numDependencies; i++) {
		struct sim_node *a = node_get(from[i]), *b = node_get(to[i]);
		unsigned at = a && b ? edge(b, a) : 0;

		if (!a || !b || at == b->dep_count)
			return CUDA_ERROR_INVALID_VALUE;
		memmove(&b->deps[at], &b->deps[at + 1], (b->dep_count - at - 1) * sizeof(*b->deps));
		b->dep_count--;
	}
	return CUDA_SUCCESS;
}

CUresult do_cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                         const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                         size_t numDependencies)
{
	return do_cuGraphRemoveDependencies(hGraph, from, to, numDependencies);
}
