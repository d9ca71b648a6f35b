/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as data: nodes, what they depend on, copies of graphs. */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver_graph.h"

_Static_assert(sizeof(struct sim_node) <= HANDLE_BYTES, "a node fits its place");

struct sim_graph *graph_get(CUgraph h)
{
	return handle_live(HANDLE_GRAPH, h) ? (struct sim_graph *)h : NULL;
}

struct sim_node *node_get(CUgraphNode h)
{
	return handle_live(HANDLE_NODE, h) ? (struct sim_node *)h : NULL;
}

struct sim_graph *graph_new(void)
{
	return handle_new(HANDLE_GRAPH);
}

struct node_work *work_new(void)
{
	return calloc(1, sizeof(struct node_work));
}

static void work_free(struct node_work *w, CUgraphNodeType type)
{
	if (w && type == CU_GRAPH_NODE_TYPE_GRAPH && w->child)
		graph_free(w->child);
	free(w);
}

struct node_work *work_clone(const struct node_work *w, CUgraphNodeType type)
{
	struct node_work *copy = w ? malloc(sizeof(*copy)) : NULL;

	if (!copy)
		return NULL;
	*copy = *w;
	for (unsigned i = 0; i < NODE_PARAMS; i++)
		copy->params[i] = &copy->argument[i];
	if (type == CU_GRAPH_NODE_TYPE_KERNEL && w->kernel.params.kernelParams)
		copy->kernel.params.kernelParams = copy->params;
	if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
		copy->child = NULL;
		if (graph_copy(w->child, &copy->child) != CUDA_SUCCESS) {
			free(copy);
			return NULL;
		}
		copy->child->owned = true;
	}
	return copy;
}

bool node_depend(struct sim_node *n, struct sim_node *on)
{
	if (n->dep_count == n->dep_room) {
		unsigned room = n->dep_room ? n->dep_room * 2 : 4;
		struct sim_node **more = realloc(n->deps, room * sizeof(*more));

		if (!more)
			return false;
		n->deps = more;
		n->dep_room = room;
	}
	n->deps[n->dep_count++] = on;
	return true;
}

CUresult node_add(struct sim_graph *g, CUgraphNodeType type, struct sim_node *const *deps,
                  size_t count, struct node_work *work, struct sim_node **out)
{
	struct sim_node *n = handle_new(HANDLE_NODE);

	if (!n) {
		work_free(work, type);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	n->graph = g;
	n->type = type;
	n->work = work;
	n->mark = g->count++;
	n->prev = g->last;
	if (g->last)
		g->last->next = n;
	else
		g->first = n;
	g->last = n;
	for (size_t i = 0; i < count; i++) {
		if (!handle_live(HANDLE_NODE, deps[i]) || deps[i]->graph != g || deps[i] == n) {
			node_free(n);
			return CUDA_ERROR_INVALID_VALUE;
		}
		if (!node_depend(n, deps[i])) {
			node_free(n);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	*out = n;
	return CUDA_SUCCESS;
}

static void undepend(struct sim_node *n, const struct sim_node *gone)
{
	for (unsigned i = 0; i < n->dep_count; i++) {
		if (n->deps[i] == gone) {
			memmove(&n->deps[i], &n->deps[i + 1],
			        (n->dep_count - i - 1) * sizeof(*n->deps));
			n->dep_count--;
			i--;
		}
	}
}

static void release(struct sim_node *n)
{
	work_free(n->work, n->type);
	free(n->deps);
	handle_free(HANDLE_NODE, n);
}

void node_free(struct sim_node *n)
{
	struct sim_graph *g = n->graph;

	if (n->prev)
		n->prev->next = n->next;
	else
		g->first = n->next;
	if (n->next)
		n->next->prev = n->prev;
	else
		g->last = n->prev;
	g->count--;
	for (struct sim_node *o = n->next; o; o = o->next)
		undepend(o, n);
	for (struct sim_node *o = n->prev; o; o = o->prev)
		undepend(o, n);
	release(n);
}

void graph_free(struct sim_graph *g)
{
	struct sim_node *n = g->first, *next;

	for (; n; n = next) {
		next = n->next;
		release(n);
	}
	user_refs_drop(g);
	handle_free(HANDLE_GRAPH, g);
}

/* Numbers the nodes in the order of creation. */
void graph_number(struct sim_graph *g)
{
	unsigned i = 0;

	for (struct sim_node *n = g->first; n; n = n->next)
		n->mark = i++;
}

CUresult graph_copy(struct sim_graph *g, struct sim_graph **out)
{
	struct sim_node **made = calloc(g->count + 1, sizeof(*made));
	struct sim_graph *copy = graph_new();
	CUresult rc = made && copy ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	struct sim_node *n;

	graph_number(g);
	for (n = g->first; n && rc == CUDA_SUCCESS; n = n->next) {
		struct node_work *w = work_clone(n->work, n->type);

		if (n->work && !w)
			rc = CUDA_ERROR_OUT_OF_MEMORY;
		else
			rc = node_add(copy, n->type, NULL, 0, w, &made[n->mark]);
		if (rc == CUDA_SUCCESS)
			made[n->mark]->origin = n;
	}
	for (n = g->first; n && rc == CUDA_SUCCESS; n = n->next) {
		for (unsigned i = 0; i < n->dep_count; i++) {
			if (!node_depend(made[n->mark], made[n->deps[i]->mark]))
				rc = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	free(made);
	if (rc != CUDA_SUCCESS && copy)
		graph_free(copy);
	else
		*out = copy;
	return rc;
}

CUresult do_cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
	if (!phGraph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*phGraph = (CUgraph)graph_new();
	return *phGraph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuGraphDestroy(CUgraph hGraph)
{
	struct sim_graph *g = graph_get(hGraph);

	if (!g || g->owned)
		return CUDA_ERROR_INVALID_VALUE;
	graph_free(g);
	return CUDA_SUCCESS;
}

CUresult do_cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
	struct sim_graph *g = graph_get(originalGraph), *copy;
	CUresult rc;

	if (!phGraphClone || !g)
		return CUDA_ERROR_INVALID_VALUE;
	rc = graph_copy(g, &copy);
	if (rc == CUDA_SUCCESS)
		*phGraphClone = (CUgraph)copy;
	return rc;
}

CUresult do_cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                   CUgraph hClonedGraph)
{
	struct sim_graph *g = graph_get(hClonedGraph);

	if (!phNode || !g || !node_get(hOriginalNode))
		return CUDA_ERROR_INVALID_VALUE;
	for (struct sim_node *n = g->first; n; n = n->next) {
		if (n->origin == (struct sim_node *)hOriginalNode) {
			*phNode = (CUgraphNode)n;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuGraphDestroyNode(CUgraphNode hNode)
{
	struct sim_node *n = node_get(hNode);

	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	node_free(n);
	return CUDA_SUCCESS;
}

CUresult do_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	struct sim_node *n = node_get(hNode);

	if (!n || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = n->type;
	return CUDA_SUCCESS;
}
