/* SPDX-License-Identifier: Apache-2.0 */
/* Work captured: what would have gone to the device becomes a node of the graph. */
#include <stdlib.h>
#include "tests/sim/driver_graph.h"

CUresult capture_add(struct sim_stream *s, CUgraphNodeType type, struct node_work *work)
{
	struct sim_capture *c;
	struct sim_node *n;
	CUresult rc;

	capture_lock();
	c = atomic_load(&s->capture);
	if (!c || c->invalid) {
		free(work);
		capture_unlock();
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	rc = node_add(c->graph, type, s->deps, s->dep_count, work, &n);
	if (rc == CUDA_SUCCESS)
		rc = capture_set_deps(s, &n, 1);
	capture_unlock();
	return rc;
}

static CUresult add_counted(struct sim_stream *s, CUgraphNodeType type, struct node_work *work,
                            CUresult made)
{
	CUresult rc = made == CUDA_SUCCESS ? capture_add(s, type, work) : made;

	if (rc == CUDA_SUCCESS)
		sim_total()->captured++;
	return rc;
}

CUresult capture_kernel(struct sim_stream *s, const struct sim_launch *l)
{
	struct node_work *w = NULL;
	CUresult rc = work_launch(l, &w);

	return add_counted(s, CU_GRAPH_NODE_TYPE_KERNEL, w, rc);
}

CUresult capture_copy(struct sim_stream *s, const struct sim_copy *c)
{
	struct node_work *w = NULL;
	CUresult rc = work_copy_of(c, &w);

	return add_counted(s, CU_GRAPH_NODE_TYPE_MEMCPY, w, rc);
}

CUresult capture_set(struct sim_stream *s, const struct sim_set *set)
{
	struct node_work *w = NULL;
	CUresult rc = work_set_of(set, &w);

	return add_counted(s, CU_GRAPH_NODE_TYPE_MEMSET, w, rc);
}

CUresult capture_host(struct sim_stream *s, CUhostFn fn, void *data)
{
	struct node_work *w = work_new();

	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->host.fn = fn;
	w->host.userData = data;
	return capture_add(s, CU_GRAPH_NODE_TYPE_HOST, w);
}

CUresult capture_alloc(struct sim_stream *s, CUdeviceptr p, size_t bytes)
{
	struct node_work *w = work_new();

	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->alloc.dptr = p;
	w->alloc.bytesize = bytes;
	w->alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	w->alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	w->alloc.poolProps.location.id = s->ctx->device->ordinal;
	return capture_add(s, CU_GRAPH_NODE_TYPE_MEM_ALLOC, w);
}

CUresult capture_free(struct sim_stream *s, CUdeviceptr p)
{
	struct node_work *w = work_new();

	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w->free = p;
	return capture_add(s, CU_GRAPH_NODE_TYPE_MEM_FREE, w);
}

CUresult capture_graph(struct sim_stream *s, struct sim_graph *child)
{
	struct node_work *w = work_new();

	if (!w)
		return CUDA_ERROR_OUT_OF_MEMORY;
	child->owned = true;
	w->child = child;
	return add_counted(s, CU_GRAPH_NODE_TYPE_GRAPH, w, CUDA_SUCCESS);
}
