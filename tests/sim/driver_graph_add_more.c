/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes for child graphs, events and memory, and the one call that adds any kind. */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver_graph.h"

static CUresult add(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t count,
                    CUgraphNodeType type, struct node_work *work)
{
	struct sim_graph *g = graph_get(graph);
	struct sim_node *n;
	CUresult rc;

	if (!work || !out || !g || (count && !deps)) {
		free(work);
		return CUDA_ERROR_INVALID_VALUE;
	}
	rc = node_add(g, type, (struct sim_node *const *)deps, count, work, &n);
	if (rc == CUDA_SUCCESS)
		*out = (CUgraphNode)n;
	return rc;
}

static struct sim_node *typed(CUgraphNode h, CUgraphNodeType type)
{
	struct sim_node *n = node_get(h);

	return n && n->type == type ? n : NULL;
}

CUresult do_cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies,
                                     CUgraph childGraph)
{
	struct sim_graph *g = graph_get(childGraph);
	struct node_work *w = g ? work_new() : NULL;

	if (w && graph_copy(g, &w->child) != CUDA_SUCCESS) {
		free(w);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (w)
		w->child->owned = true;
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_GRAPH, w);
}

CUresult do_cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
	struct sim_node *n = typed(hNode, CU_GRAPH_NODE_TYPE_GRAPH);

	if (!n || !phGraph)
		return CUDA_ERROR_INVALID_VALUE;
	*phGraph = (CUgraph)n->work->child;
	return CUDA_SUCCESS;
}

static CUresult add_event(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t count,
                          CUevent event, CUgraphNodeType type)
{
	struct node_work *w = handle_live(HANDLE_EVENT, event) ? work_new() : NULL;

	if (w)
		w->event = (struct sim_event *)event;
	return add(out, graph, deps, count, type, w);
}

static CUresult event_of(CUgraphNode node, CUgraphNodeType type, CUevent *out)
{
	struct sim_node *n = typed(node, type);

	if (!n || !out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUevent)n->work->event;
	return CUDA_SUCCESS;
}

static CUresult set_event(CUgraphNode node, CUgraphNodeType type, CUevent event)
{
	struct sim_node *n = typed(node, type);

	if (!n || !handle_live(HANDLE_EVENT, event))
		return CUDA_ERROR_INVALID_VALUE;
	n->work->event = (struct sim_event *)event;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      CUevent event)
{
	return add_event(phGraphNode, hGraph, dependencies, numDependencies, event,
	                 CU_GRAPH_NODE_TYPE_EVENT_RECORD);
}

CUresult do_cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
	return event_of(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

CUresult do_cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
	return set_event(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult do_cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                    const CUgraphNode *dependencies, size_t numDependencies,
                                    CUevent event)
{
	return add_event(phGraphNode, hGraph, dependencies, numDependencies, event,
	                 CU_GRAPH_NODE_TYPE_WAIT_EVENT);
}

CUresult do_cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
	return event_of(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}

CUresult do_cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
	return set_event(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

CUresult do_cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies, size_t numDependencies,
                                   CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
	struct sim_ctx *ctx = ctx_current();
	struct node_work *w;
	CUresult rc;

	if (!nodeParams || !nodeParams->bytesize || !ctx)
		return CUDA_ERROR_INVALID_VALUE;
	rc = memory_take(ctx, MEMORY_DEVICE, NULL, nodeParams->bytesize, &nodeParams->dptr);
	if (rc != CUDA_SUCCESS)
		return rc;
	w = work_new();
	if (w)
		w->alloc = *nodeParams;
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
	           w);
}

CUresult do_cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
	struct sim_node *n = typed(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC);

	if (!n || !params_out)
		return CUDA_ERROR_INVALID_VALUE;
	*params_out = n->work->alloc;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                  const CUgraphNode *dependencies, size_t numDependencies,
                                  CUdeviceptr dptr)
{
	struct node_work *w = dptr ? work_new() : NULL;

	if (w)
		w->free = dptr;
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEM_FREE,
	           w);
}

CUresult do_cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
	struct sim_node *n = typed(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE);

	if (!n || !dptr_out)
		return CUDA_ERROR_INVALID_VALUE;
	*dptr_out = n->work->free;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                           const CUgraphNode *dependencies, size_t numDependencies,
                           CUgraphNodeParams *nodeParams)
{
	CUgraphNode *out = phGraphNode;
	const CUgraphNode *deps = dependencies;
	size_t n = numDependencies;
	CUgraphNodeParams *p = nodeParams;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return do_cuGraphAddKernelNode_v2(out, hGraph, deps, n,
		                                  (const CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return do_cuGraphAddMemcpyNode(out, hGraph, deps, n, &p->memcpy.copyParams,
		                               p->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return do_cuGraphAddMemsetNode(out, hGraph, deps, n,
		                               (const CUDA_MEMSET_NODE_PARAMS *)&p->memset,
		                               p->memset.ctx);
	case CU_GRAPH_NODE_TYPE_HOST:
		return do_cuGraphAddHostNode(out, hGraph, deps, n,
		                             (const CUDA_HOST_NODE_PARAMS *)&p->host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return do_cuGraphAddChildGraphNode(out, hGraph, deps, n, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return do_cuGraphAddEmptyNode(out, hGraph, deps, n);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return do_cuGraphAddEventWaitNode(out, hGraph, deps, n, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return do_cuGraphAddEventRecordNode(out, hGraph, deps, n, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return do_cuGraphAddMemAllocNode(out, hGraph, deps, n,
		                                 (CUDA_MEM_ALLOC_NODE_PARAMS *)&p->alloc);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return do_cuGraphAddMemFreeNode(out, hGraph, deps, n, p->free.dptr);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult do_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                              const CUgraphNode *dependencies,
                              const CUgraphEdgeData *dependencyData, size_t numDependencies,
                              CUgraphNodeParams *nodeParams)
{
	return do_cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

CUresult do_cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	struct sim_node *n = node_get(hNode);

	if (!n || !nodeParams || n->type != nodeParams->type)
		return CUDA_ERROR_INVALID_VALUE;
	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return do_cuGraphKernelNodeSetParams_v2(
		        hNode, (const CUDA_KERNEL_NODE_PARAMS *)&nodeParams->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return do_cuGraphMemcpyNodeSetParams(hNode, &nodeParams->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return do_cuGraphMemsetNodeSetParams(
		        hNode, (const CUDA_MEMSET_NODE_PARAMS *)&nodeParams->memset);
	case CU_GRAPH_NODE_TYPE_HOST:
		return do_cuGraphHostNodeSetParams(
		        hNode, (const CUDA_HOST_NODE_PARAMS *)&nodeParams->host);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}
