/* SPDX-License-Identifier: Apache-2.0 */
/* Changing an executable graph: single nodes, or all of it from a graph of the same shape. */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver_graph.h"

/* Of several nodes made from one, as a child graph launched twice, the first. */
struct exec_node *exec_find(struct sim_exec *e, const struct sim_node *n)
{
	for (unsigned i = 0; i < e->count; i++) {
		if (e->node[i].origin == n)
			return &e->node[i];
	}
	return NULL;
}

/* Takes `work`. */
static CUresult replace(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type,
                        struct node_work *work, CUresult made)
{
	struct sim_exec *e = exec_get(exec);
	struct sim_node *n = node_get(node);
	struct exec_node *at = e && n && n->type == type ? exec_find(e, n) : NULL;

	if (made == CUDA_SUCCESS && !at) {
		free(work);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (made != CUDA_SUCCESS)
		return made;
	sim_cost(sim_config.change_node_ns);
	pthread_mutex_lock(&e->lock);
	free(at->work);
	at->work = work;
	pthread_mutex_unlock(&e->lock);
	return CUDA_SUCCESS;
}

CUresult do_cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                              const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct node_work *w = NULL;
	CUresult rc = nodeParams ? work_kernel(nodeParams, &w) : CUDA_ERROR_INVALID_VALUE;

	return replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL, w, rc);
}

CUresult do_cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p = {0};

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&p, nodeParams, sizeof(*nodeParams));
	return do_cuGraphExecKernelNodeSetParams_v2(hGraphExec, hNode, &p);
}

CUresult do_cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	struct node_work *w = NULL;
	CUresult rc = copyParams ? work_copy(copyParams, &w) : CUDA_ERROR_INVALID_VALUE;

	return replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, w, rc);
}

CUresult do_cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_MEMSET_NODE_PARAMS *memsetParams,
                                           CUcontext ctx)
{
	struct node_work *w = NULL;
	CUresult rc = memsetParams ? work_set(memsetParams, &w) : CUDA_ERROR_INVALID_VALUE;

	return replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMSET, w, rc);
}

CUresult do_cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                         const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct node_work *w = nodeParams && nodeParams->fn ? work_new() : NULL;

	if (w)
		w->host = *nodeParams;
	return replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_HOST, w,
	               w ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

static CUresult set_event(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type, CUevent event)
{
	struct node_work *w = handle_live(HANDLE_EVENT, event) ? work_new() : NULL;

	if (w)
		w->event = (struct sim_event *)event;
	return replace(exec, node, type, w, w ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult do_cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                               CUevent event)
{
	return set_event(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult do_cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                             CUevent event)
{
	return set_event(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

/* Of the same nodes in the same order, none of them a child graph's. */
CUresult do_cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                               CUgraph childGraph)
{
	struct sim_node *n = node_get(hNode), *old, *now;
	struct sim_graph *g = graph_get(childGraph);
	CUresult rc = CUDA_SUCCESS;

	if (!n || n->type != CU_GRAPH_NODE_TYPE_GRAPH || !g || g->count != n->work->child->count)
		return CUDA_ERROR_INVALID_VALUE;
	for (old = n->work->child->first, now = g->first; old; old = old->next, now = now->next)
		if (old->type != now->type || now->type == CU_GRAPH_NODE_TYPE_GRAPH)
			return CUDA_ERROR_INVALID_VALUE;
	for (old = n->work->child->first, now = g->first; old && rc == CUDA_SUCCESS;
	     old = old->next, now = now->next)
		rc = replace(hGraphExec, (CUgraphNode)old, old->type,
		             work_clone(now->work, now->type), CUDA_SUCCESS);
	return rc;
}

CUresult do_cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                     CUgraphNodeParams *nodeParams)
{
	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	switch (nodeParams->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return do_cuGraphExecKernelNodeSetParams_v2(
		        hGraphExec, hNode, (const CUDA_KERNEL_NODE_PARAMS *)&nodeParams->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return do_cuGraphExecMemcpyNodeSetParams(hGraphExec, hNode,
		                                         &nodeParams->memcpy.copyParams,
		                                         nodeParams->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return do_cuGraphExecMemsetNodeSetParams(
		        hGraphExec, hNode, (const CUDA_MEMSET_NODE_PARAMS *)&nodeParams->memset,
		        nodeParams->memset.ctx);
	case CU_GRAPH_NODE_TYPE_HOST:
		return do_cuGraphExecHostNodeSetParams(
		        hGraphExec, hNode, (const CUDA_HOST_NODE_PARAMS *)&nodeParams->host);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult do_cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
	struct sim_exec *e = exec_get(hGraphExec);
	struct sim_node *n = node_get(hNode);
	struct exec_node *at = e && n ? exec_find(e, n) : NULL;

	if (!at || (n->type != CU_GRAPH_NODE_TYPE_KERNEL && n->type != CU_GRAPH_NODE_TYPE_MEMCPY &&
	            n->type != CU_GRAPH_NODE_TYPE_MEMSET))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&e->lock);
	at->disabled = !isEnabled;
	pthread_mutex_unlock(&e->lock);
	return CUDA_SUCCESS;
}

CUresult do_cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
                                  unsigned int *isEnabled)
{
	struct sim_exec *e = exec_get(hGraphExec);
	struct sim_node *n = node_get(hNode);
	struct exec_node *at = e && n ? exec_find(e, n) : NULL;

	if (!at || !isEnabled)
		return CUDA_ERROR_INVALID_VALUE;
	*isEnabled = !at->disabled;
	return CUDA_SUCCESS;
}

static CUgraphExecUpdateResult compare(const struct exec_node *a, const struct exec_node *b)
{
	if (a->type != b->type)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	if (a->dep_count != b->dep_count ||
	    memcmp(a->deps, b->deps, a->dep_count * sizeof(*a->deps)))
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult *result,
                       CUgraphNode *error_node)
{
	struct sim_exec *e = exec_get(exec);
	struct sim_graph *g = graph_get(graph);
	struct exec_node *fresh;
	unsigned count;
	CUresult rc;

	*error_node = NULL;
	*result = CU_GRAPH_EXEC_UPDATE_ERROR;
	if (!e || !g)
		return CUDA_ERROR_INVALID_VALUE;
	rc = exec_build(g, &fresh, &count);
	if (rc != CUDA_SUCCESS)
		return rc;
	pthread_mutex_lock(&e->lock);
	*result = count == e->count ? CU_GRAPH_EXEC_UPDATE_SUCCESS
	                            : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (unsigned i = 0; i < count && *result == CU_GRAPH_EXEC_UPDATE_SUCCESS; i++) {
		*result = compare(&fresh[i], &e->node[i]);
		if (*result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
			*error_node = (CUgraphNode)fresh[i].origin;
	}
	for (unsigned i = 0; i < count && *result == CU_GRAPH_EXEC_UPDATE_SUCCESS; i++) {
		struct node_work *old = e->node[i].work;

		e->node[i].work = fresh[i].work;
		fresh[i].work = old;
	}
	pthread_mutex_unlock(&e->lock);
	exec_nodes_free(fresh, count);
	return *result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
	                                               : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult do_cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                                 CUgraphExecUpdateResultInfo *resultInfo)
{
	if (!resultInfo)
		return CUDA_ERROR_INVALID_VALUE;
	resultInfo->errorFromNode = NULL;
	return update(hGraphExec, hGraph, &resultInfo->result, &resultInfo->errorNode);
}

CUresult do_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
                              CUgraphExecUpdateResult *updateResult_out)
{
	CUgraphExecUpdateResult result;
	CUgraphNode node;
	CUresult rc = update(hGraphExec, hGraph, &result, &node);

	if (hErrorNode_out)
		*hErrorNode_out = node;
	if (updateResult_out)
		*updateResult_out = result;
	return rc;
}
