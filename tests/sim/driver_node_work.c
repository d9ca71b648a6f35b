/* SPDX-License-Identifier: Apache-2.0 */
/* From the API's parameters to what a node does. */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver_graph.h"

static CUresult make(struct node_work **out)
{
	*out = work_new();
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult refuse(struct node_work **out, CUresult rc)
{
	if (rc != CUDA_SUCCESS) {
		free(*out);
		*out = NULL;
	}
	return rc;
}

/* Arguments are copied as far as they are known: the one that scales the cost. */
CUresult work_launch(const struct sim_launch *l, struct node_work **out)
{
	int arg = l->func->cost_arg;
	CUDA_KERNEL_NODE_PARAMS *p;
	CUresult rc = make(out);

	if (rc != CUDA_SUCCESS)
		return rc;
	p = &(*out)->kernel.params;
	p->func = (CUfunction)l->func;
	memcpy(&p->gridDimX, l->grid, sizeof(l->grid));
	memcpy(&p->blockDimX, l->block, sizeof(l->block));
	p->sharedMemBytes = l->shared_bytes;
	(*out)->kernel.func = l->func;
	(*out)->kernel.gpu_ns = launch_gpu_ns(l);
	(*out)->kernel.truth_index = l->func->truth_index;
	for (unsigned i = 0; i < NODE_PARAMS; i++)
		(*out)->params[i] = &(*out)->argument[i];
	if (arg >= 0 && arg < NODE_PARAMS)
		(*out)->argument[arg] =
		        l->func->cost_ns ? (*out)->kernel.gpu_ns / l->func->cost_ns : 0;
	if (l->params || l->extra)
		p->kernelParams = (*out)->params;
	return CUDA_SUCCESS;
}

CUresult work_kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct node_work **out)
{
	struct sim_launch l = {
	        .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
	        .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
	        .shared_bytes = p->sharedMemBytes,
	        .params = p->kernelParams,
	        .extra = p->extra,
	};
	CUfunction f = p->func ? p->func : (CUfunction)p->kern;
	struct sim_ctx *ctx = ctx_current();
	CUresult rc;

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	rc = launch_check(ctx, f, &l);
	return rc == CUDA_SUCCESS ? work_launch(&l, out) : rc;
}

CUresult work_copy_of(const struct sim_copy *c, struct node_work **out)
{
	CUDA_MEMCPY3D *p;
	CUresult rc = make(out);

	if (rc != CUDA_SUCCESS)
		return rc;
	(*out)->copy.copy = *c;
	p = &(*out)->copy.params;
	p->dstMemoryType = p->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
	p->dstDevice = c->dst.p;
	p->srcDevice = c->src.p;
	p->dstPitch = c->dst.pitch;
	p->srcPitch = c->src.pitch;
	p->dstHeight = c->dst.pitch ? c->dst.slice / c->dst.pitch : 0;
	p->srcHeight = c->src.pitch ? c->src.slice / c->src.pitch : 0;
	p->WidthInBytes = c->width;
	p->Height = c->height;
	p->Depth = c->depth;
	return CUDA_SUCCESS;
}

CUresult work_copy(const CUDA_MEMCPY3D *p, struct node_work **out)
{
	CUresult rc = make(out);

	if (rc != CUDA_SUCCESS)
		return rc;
	(*out)->copy.params = *p;
	rc = copy_from_3d(&(*out)->copy.copy, p);
	if (rc == CUDA_SUCCESS)
		rc = copy_resolve(&(*out)->copy.copy);
	return refuse(out, rc);
}

CUresult work_set_of(const struct sim_set *s, struct node_work **out)
{
	CUDA_MEMSET_NODE_PARAMS *p;
	CUresult rc = make(out);

	if (rc != CUDA_SUCCESS)
		return rc;
	(*out)->set.set = *s;
	p = &(*out)->set.params;
	p->dst = s->dst.p;
	p->pitch = s->dst.pitch;
	p->value = s->value;
	p->elementSize = s->value_bytes;
	p->width = s->width / s->value_bytes;
	p->height = s->height;
	return CUDA_SUCCESS;
}

CUresult work_set(const CUDA_MEMSET_NODE_PARAMS *p, struct node_work **out)
{
	struct sim_set s = {
	        .dst = {.p = p->dst, .pitch = p->pitch},
	        .value = p->value,
	        .value_bytes = p->elementSize,
	        .width = p->width * p->elementSize,
	        .height = p->height,
	};
	CUresult rc;

	if (!p->dst || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
		return CUDA_ERROR_INVALID_VALUE;
	rc = set_resolve(&s);
	return rc == CUDA_SUCCESS ? work_set_of(&s, out) : rc;
}
