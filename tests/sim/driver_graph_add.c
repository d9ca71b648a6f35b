/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraphAdd*Node and what can be asked of a node's parameters and changed in them. */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver_graph.h"
#include "tests/sim/driver_memory.h"

/* Takes `work`; `made` is how its making went. */
static CUresult add(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t count,
                    CUgraphNodeType type, struct node_work *work, CUresult made)
{
	struct sim_graph *g = graph_get(graph);
	struct sim_node *n;
	CUresult rc = made;

	if (rc == CUDA_SUCCESS && (!out || !g || (count && !deps))) {
		free(work);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (rc == CUDA_SUCCESS)
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

/* Gives the node other work; takes it. */
static CUresult replace(struct sim_node *n, struct node_work *work, CUresult made)
{
	if (made != CUDA_SUCCESS)
		return made;
	free(n->work);
	n->work = work;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                    const CUgraphNode *dependencies, size_t numDependencies,
                                    const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct node_work *w = NULL;
	CUresult rc = nodeParams ? work_kernel(nodeParams, &w) : CUDA_ERROR_INVALID_VALUE;

	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL, w,
	           rc);
}

/* The first form of the structure is the beginning of the second. */
static CUDA_KERNEL_NODE_PARAMS from_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS to = {0};

	memcpy(&to, p, sizeof(*p));
	return to;
}

CUresult do_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	p = from_v1(nodeParams);
	return do_cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &p);
}

CUresult do_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct sim_node *n = typed(hNode, CU_GRAPH_NODE_TYPE_KERNEL);

	if (!n || !nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	*nodeParams = n->work->kernel.params;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	CUresult rc = do_cuGraphKernelNodeGetParams_v2(hNode, &p);

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		memcpy(nodeParams, &p, sizeof(*nodeParams));
	return rc;
}

CUresult do_cuGraphKernelNodeSetParams_v2(CUgraphNode hNode,
                                          const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct sim_node *n = typed(hNode, CU_GRAPH_NODE_TYPE_KERNEL);
	struct node_work *w = NULL;
	CUresult rc;

	if (!n || !nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	rc = work_kernel(nodeParams, &w);
	return replace(n, w, rc);
}

CUresult do_cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                       const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	p = from_v1(nodeParams);
	return do_cuGraphKernelNodeSetParams_v2(hNode, &p);
}

CUresult do_cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                          CUkernelNodeAttrValue *value_out)
{
	if (!typed(hNode, CU_GRAPH_NODE_TYPE_KERNEL) || !value_out)
		return CUDA_ERROR_INVALID_VALUE;
	memset(value_out, 0, sizeof(*value_out));
	return CUDA_SUCCESS;
}

CUresult do_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                          const CUkernelNodeAttrValue *value)
{
	return typed(hNode, CU_GRAPH_NODE_TYPE_KERNEL) && value ? CUDA_SUCCESS
	                                                        : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
	return typed(dst, CU_GRAPH_NODE_TYPE_KERNEL) && typed(src, CU_GRAPH_NODE_TYPE_KERNEL)
	               ? CUDA_SUCCESS
	               : CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	struct node_work *w = NULL;
	CUresult rc = copyParams ? work_copy(copyParams, &w) : CUDA_ERROR_INVALID_VALUE;

	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMCPY, w,
	           rc);
}

CUresult do_cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
	struct sim_node *n = typed(hNode, CU_GRAPH_NODE_TYPE_MEMCPY);

	if (!n || !nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	*nodeParams = n->work->copy.params;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
	struct sim_node *n = typed(hNode, CU_GRAPH_NODE_TYPE_MEMCPY);
	struct node_work *w = NULL;
	CUresult rc;

	if (!n || !nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	rc = work_copy(nodeParams, &w);
	return replace(n, w, rc);
}

CUresult do_cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
	struct node_work *w = NULL;
	CUresult rc = memsetParams ? work_set(memsetParams, &w) : CUDA_ERROR_INVALID_VALUE;

	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMSET, w,
	           rc);
}

CUresult do_cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
	struct sim_node *n = typed(hNode, CU_GRAPH_NODE_TYPE_MEMSET);

	if (!n || !nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	*nodeParams = n->work->set.params;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
	struct sim_node *n = typed(hNode, CU_GRAPH_NODE_TYPE_MEMSET);
	struct node_work *w = NULL;
	CUresult rc;

	if (!n || !nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	rc = work_set(nodeParams, &w);
	return replace(n, w, rc);
}

CUresult do_cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                               const CUgraphNode *dependencies, size_t numDependencies,
                               const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct node_work *w = nodeParams && nodeParams->fn ? work_new() : NULL;

	if (w)
		w->host = *nodeParams;
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_HOST, w,
	           w ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult do_cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct sim_node *n = typed(hNode, CU_GRAPH_NODE_TYPE_HOST);

	if (!n || !nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	*nodeParams = n->work->host;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct sim_node *n = typed(hNode, CU_GRAPH_NODE_TYPE_HOST);

	if (!n || !nodeParams || !nodeParams->fn)
		return CUDA_ERROR_INVALID_VALUE;
	n->work->host = *nodeParams;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies, size_t numDependencies)
{
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_EMPTY,
	           NULL, CUDA_SUCCESS);
}
