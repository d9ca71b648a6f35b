/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs: made from graphs, changed, launched. */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver_graph.h"

struct builder {
	struct exec_node *node;
	unsigned count, room;
};

struct sim_exec *exec_get(CUgraphExec h)
{
	return handle_live(HANDLE_EXEC, h) ? (struct sim_exec *)h : NULL;
}

void exec_nodes_free(struct exec_node *node, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		free(node[i].work);
		free(node[i].deps);
	}
	free(node);
}

static struct exec_node *append(struct builder *b, CUgraphNodeType type, const unsigned *deps,
                                unsigned count)
{
	struct exec_node *e;

	if (b->count == b->room) {
		unsigned room = b->room ? b->room * 2 : 64;
		struct exec_node *more = realloc(b->node, room * sizeof(*more));

		if (!more)
			return NULL;
		b->node = more;
		b->room = room;
	}
	e = &b->node[b->count];
	*e = (struct exec_node){.type = type, .dep_count = count};
	e->deps = malloc((count + 1) * sizeof(*deps));
	if (!e->deps)
		return NULL;
	if (count)
		memcpy(e->deps, deps, count * sizeof(*deps));
	b->count++;
	return e;
}

static CUresult place_graph(struct builder *b, struct sim_graph *g, const unsigned *entry,
                            unsigned entries);

/* A child's nodes stand in the place of the node; then an empty one that waits for the last. */
static CUresult place_child(struct builder *b, struct sim_graph *child, const unsigned *entry,
                            unsigned entries)
{
	unsigned first = b->count, found = 0, *ends;
	CUresult rc = place_graph(b, child, entry, entries);
	unsigned last = b->count;
	char *used;

	if (rc != CUDA_SUCCESS)
		return rc;
	used = calloc(last - first + 1, 1);
	ends = malloc((last - first + entries + 1) * sizeof(*ends));
	if (!used || !ends) {
		free(used);
		free(ends);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (unsigned i = first; i < last; i++) {
		for (unsigned k = 0; k < b->node[i].dep_count; k++) {
			if (b->node[i].deps[k] >= first)
				used[b->node[i].deps[k] - first] = 1;
		}
	}
	for (unsigned i = first; i < last; i++) {
		if (!used[i - first])
			ends[found++] = i;
	}
	for (unsigned i = 0; first == last && i < entries; i++)
		ends[found++] = entry[i];
	rc = append(b, CU_GRAPH_NODE_TYPE_EMPTY, ends, found) ? rc : CUDA_ERROR_OUT_OF_MEMORY;
	free(used);
	free(ends);
	return rc;
}

static CUresult place_node(struct builder *b, struct sim_node *n, const unsigned *at,
                           const unsigned *entry, unsigned entries)
{
	unsigned count = n->dep_count ? n->dep_count : entries;
	unsigned *deps = malloc((count + 1) * sizeof(*deps));
	CUresult rc = CUDA_SUCCESS;
	struct exec_node *e;

	if (!deps)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < count; i++)
		deps[i] = n->dep_count ? at[n->deps[i]->mark] - 1 : entry[i];
	if (n->type == CU_GRAPH_NODE_TYPE_GRAPH) {
		rc = place_child(b, n->work->child, deps, count);
	} else if (!(e = append(b, n->type, deps, count))) {
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		e->work = work_clone(n->work, n->type);
		if (n->work && !e->work)
			rc = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (rc == CUDA_SUCCESS)
		b->node[b->count - 1].origin = n;
	free(deps);
	return rc;
}

/* Nodes in an order that respects what they depend on; mostly the order of creation is one. */
static CUresult place_graph(struct builder *b, struct sim_graph *g, const unsigned *entry,
                            unsigned entries)
{
	unsigned *at = calloc(g->count + 1, sizeof(*at)); /* 1 + place, by number */
	unsigned left = g->count, before;
	CUresult rc = at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	graph_number(g);
	while (left && rc == CUDA_SUCCESS) {
		before = left;
		for (struct sim_node *n = g->first; n && rc == CUDA_SUCCESS; n = n->next) {
			bool ready = !at[n->mark];

			for (unsigned i = 0; ready && i < n->dep_count; i++)
				ready = at[n->deps[i]->mark];
			if (!ready)
				continue;
			rc = place_node(b, n, at, entry, entries);
			at[n->mark] = b->count;
			left--;
		}
		if (left == before)
			rc = CUDA_ERROR_INVALID_VALUE; /* a cycle */
	}
	free(at);
	return rc;
}

CUresult exec_build(struct sim_graph *g, struct exec_node **nodes, unsigned *count)
{
	struct builder b = {0};
	CUresult rc = place_graph(&b, g, NULL, 0);

	if (rc != CUDA_SUCCESS) {
		exec_nodes_free(b.node, b.count);
		return rc;
	}
	*nodes = b.node;
	*count = b.count;
	return CUDA_SUCCESS;
}

CUresult exec_graph(const struct sim_exec *e, struct sim_graph **out)
{
	struct sim_node **made = calloc(e->count + 1, sizeof(*made));
	struct sim_graph *g = graph_new();
	CUresult rc = made && g ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (unsigned i = 0; i < e->count && rc == CUDA_SUCCESS; i++) {
		const struct exec_node *n = &e->node[i];

		rc = node_add(g, n->type, NULL, 0, work_clone(n->work, n->type), &made[i]);
		for (unsigned k = 0; k < n->dep_count && rc == CUDA_SUCCESS; k++) {
			if (!node_depend(made[i], made[n->deps[k]]))
				rc = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	free(made);
	if (rc != CUDA_SUCCESS && g)
		graph_free(g);
	*out = g;
	return rc;
}

static CUresult instantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
	struct sim_graph *g = graph_get(graph);
	struct sim_ctx *ctx = ctx_current();
	struct sim_exec *e;
	CUresult rc;

	if (!out || !g || flags > 15)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	e = handle_new(HANDLE_EXEC);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = exec_build(g, &e->node, &e->count);
	if (rc == CUDA_SUCCESS && !(e->end_ns = calloc(e->count + 1, sizeof(*e->end_ns)))) {
		exec_nodes_free(e->node, e->count);
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (rc != CUDA_SUCCESS) {
		handle_free(HANDLE_EXEC, e);
		return rc;
	}
	pthread_mutex_init(&e->lock, NULL);
	e->flags = flags;
	for (unsigned i = 0; i < e->count; i++) {
		if (e->node[i].type == CU_GRAPH_NODE_TYPE_KERNEL)
			launch_load(ctx, e->node[i].work->kernel.func);
	}
	sim_cost(sim_config.instantiate_ns);
	*out = (CUgraphExec)e;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                        unsigned long long flags)
{
	return instantiate(phGraphExec, hGraph, flags);
}

CUresult do_cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
                                  CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
	if (phErrorNode)
		*phErrorNode = NULL;
	if (logBuffer && bufferSize)
		*logBuffer = 0;
	return instantiate(phGraphExec, hGraph, 0);
}

CUresult do_cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
                                         CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	CUresult rc;

	if (!instantiateParams)
		return CUDA_ERROR_INVALID_VALUE;
	rc = instantiate(phGraphExec, hGraph, instantiateParams->flags);
	instantiateParams->hErrNode_out = NULL;
	instantiateParams->result_out =
	        rc == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
	return rc;
}

CUresult do_cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
	struct sim_exec *e = exec_get(hGraphExec);

	if (!e || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = e->flags;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	struct sim_exec *e = exec_get(hGraphExec);

	if (!e)
		return CUDA_ERROR_INVALID_VALUE;
	exec_nodes_free(e->node, e->count);
	free(e->end_ns);
	handle_free(HANDLE_EXEC, e);
	return CUDA_SUCCESS;
}
