/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs built, instantiated and updated; launching one is ordered in a stream.
 * Two calls changed their arguments in 12: the form built here is that of SIM_CUDART. */
#include "tests/sim/runtime.h"

SIM_API cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags)
{
	return RT_FORWARD(cuGraphCreate, graph, flags);
}

SIM_API cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	return RT_FORWARD(cuGraphDestroy, graph);
}

SIM_API cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
	return RT_FORWARD(cuGraphClone, clone, graph);
}

SIM_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	return RT_FORWARD(cuGraphGetNodes, graph, nodes, count);
}

SIM_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                          const cudaGraphNode_t *after, size_t after_count)
{
	return RT_FORWARD(cuGraphAddEmptyNode, node, graph, after, after_count);
}

#if SIM_CUDART >= 12
typedef CUDA_KERNEL_NODE_PARAMS kernel_node;
#define ADD_KERNEL_NODE DRV(cuGraphAddKernelNode)
#define SET_KERNEL_NODE DRV(cuGraphExecKernelNodeSetParams)
#else
typedef CUDA_KERNEL_NODE_PARAMS_v1 kernel_node;
typedef CUresult add_kernel_node_v1(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                                    const kernel_node *);
typedef CUresult set_kernel_node_v1(CUgraphExec, CUgraphNode, const kernel_node *);
#define ADD_KERNEL_NODE DRV_AS(cuGraphAddKernelNode, add_kernel_node_v1)
#define SET_KERNEL_NODE DRV_AS(cuGraphExecKernelNodeSetParams, set_kernel_node_v1)
#endif

/* Initializes the runtime too. */
static cudaError_t convert_kernel_node(kernel_node *to, const struct cudaKernelNodeParams *p)
{
	CUfunction kernel;
	cudaError_t rc = p ? rt_enter() : cudaErrorInvalidValue;

	rc = rc ?: rt_kernel(p->func, &kernel);
	if (rc != cudaSuccess)
		return rc;
	*to = (kernel_node)
	{
		.gridDimX = p->gridDim.x, .gridDimY = p->gridDim.y, .gridDimZ = p->gridDim.z,
		.blockDimX = p->blockDim.x, .blockDimY = p->blockDim.y, .blockDimZ = p->blockDim.z,
		.sharedMemBytes = p->sharedMemBytes, .kernelParams = p->kernelParams,
		.extra = p->extra,
#if SIM_CUDART >= 12
		.kern = (CUkernel)kernel, .ctx = rt_current(),
#else
		.func = kernel,
#endif
	};
	return cudaSuccess;
}

SIM_API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                           const cudaGraphNode_t *after, size_t after_count,
                                           const struct cudaKernelNodeParams *p)
{
	kernel_node params;

	return rt_leave(
	        convert_kernel_node(&params, p)
	                ?: (cudaError_t)ADD_KERNEL_NODE(node, graph, after, after_count, &params));
}

SIM_API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                     const struct cudaKernelNodeParams *p)
{
	kernel_node params;

	return rt_leave(convert_kernel_node(&params, p)
	                        ?: (cudaError_t)SET_KERNEL_NODE(exec, node, &params));
}

SIM_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                           const cudaGraphNode_t *after, size_t after_count,
                                           const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;

	return rt_leave(rt_enter() ?: rt_copy_3d(p, &c) ?: (cudaError_t)DRV(cuGraphAddMemcpyNode)(
			node, graph, after, after_count, &c, rt_current()));
}

SIM_API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
                                             const cudaGraphNode_t *after, size_t after_count,
                                             void *dst, const void *src, size_t bytes,
                                             enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms p = {
	        .srcPtr = {(void *)src, bytes, bytes, 1},
	        .dstPtr = {dst, bytes, bytes, 1},
	        .extent = {bytes, 1, 1},
	        .kind = kind,
	};

	return cudaGraphAddMemcpyNode(node, graph, after, after_count, &p);
}

SIM_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                           const cudaGraphNode_t *after, size_t after_count,
                                           const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS params;

	if (!p)
		return rt_leave(cudaErrorInvalidValue);
	params = (CUDA_MEMSET_NODE_PARAMS){
	        .dst = RT_PTR(p->dst),
	        .pitch = p->pitch,
	        .value = p->value,
	        .elementSize = p->elementSize,
	        .width = p->width,
	        .height = p->height,
	};
	return rt_leave(rt_enter()
	                        ?: (cudaError_t)DRV(cuGraphAddMemsetNode)(
	                                   node, graph, after, after_count, &params, rt_current()));
}

SIM_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                         const cudaGraphNode_t *after, size_t after_count,
                                         const struct cudaHostNodeParams *p)
{
	CUDA_HOST_NODE_PARAMS params;

	if (!p)
		return rt_leave(cudaErrorInvalidValue);
	params = (CUDA_HOST_NODE_PARAMS){.fn = p->fn, .userData = p->userData};
	return RT_FORWARD(cuGraphAddHostNode, node, graph, after, after_count, &params);
}

SIM_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                                  unsigned long long flags)
{
	return RT_FORWARD(cuGraphInstantiateWithFlags, exec, graph, flags);
}

#if SIM_CUDART >= 12
SIM_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                         unsigned long long flags)
{
	return RT_FORWARD(cuGraphInstantiateWithFlags, exec, graph, flags);
}

SIM_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                        cudaGraphExecUpdateResultInfo *result)
{
	return RT_FORWARD(cuGraphExecUpdate, exec, graph, (CUgraphExecUpdateResultInfo *)result);
}
#else
typedef CUresult instantiate_v2(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
typedef CUresult exec_update_v1(CUgraphExec, CUgraph, CUgraphNode *, CUgraphExecUpdateResult *);

SIM_API cudaError_t rt_instantiate_11(cudaGraphExec_t *exec, cudaGraph_t graph,
                                      cudaGraphNode_t *error_node, char *log,
                                      size_t log_bytes) __asm__("cudaGraphInstantiate");
SIM_API cudaError_t
rt_exec_update_11(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
                  enum cudaGraphExecUpdateResult *result) __asm__("cudaGraphExecUpdate");

SIM_API cudaError_t rt_instantiate_11(cudaGraphExec_t *exec, cudaGraph_t graph,
                                      cudaGraphNode_t *error_node, char *log, size_t log_bytes)
{
	return rt_leave(rt_enter()
	                        ?: (cudaError_t)DRV_AS(cuGraphInstantiate_v2, instantiate_v2)(
	                                   exec, graph, error_node, log, log_bytes));
}

SIM_API cudaError_t rt_exec_update_11(cudaGraphExec_t exec, cudaGraph_t graph,
                                      cudaGraphNode_t *error_node,
                                      enum cudaGraphExecUpdateResult *result)
{
	return rt_leave(
	        rt_enter()
	                ?: (cudaError_t)DRV_AS(cuGraphExecUpdate, exec_update_v1)(
	                           exec, graph, error_node, (CUgraphExecUpdateResult *)result));
}
#endif

SIM_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	return RT_FORWARD(cuGraphExecDestroy, exec);
}
