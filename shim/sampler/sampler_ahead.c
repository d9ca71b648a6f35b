/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_ahead.h"

#include "shim/sampler/sampler_section.h"

/* The argument of the stall, and where the driver finds it: it copies both. */
struct stall_argument {
	unsigned long long ns;
	void *at[1];
};

static CUresult put_kernel(const struct sampler_context *c, const struct sampler_spot *spot,
                           unsigned us)
{
	struct stall_argument argument = {us * 1000ull, {&argument.ns}};

	return sampler_cu.launch[spot->ptds](us ? c->stall : c->null, 1, 1, 1, 1, 1, 1, 0,
	                                     spot->stream, us ? argument.at : NULL, NULL);
}

/* One that is under way is freed when it is done: cuGraphExecDestroy(). */
static void drop(struct sampler_graph *g)
{
	if (g->exec)
		sampler_cu.graph_exec_destroy(g->exec);
	if (g->graph)
		sampler_cu.graph_destroy(g->graph);
	*g = (struct sampler_graph){0};
}

/* The graph's node runs a kernel of ours for so long. The exec of a launch that is under way may be
 * changed: what it launches next is. */
static CUresult set_graph(const struct sampler_context *c, struct sampler_graph *g, unsigned us)
{
	struct stall_argument argument = {us * 1000ull, {&argument.ns}};
	const CUDA_KERNEL_NODE_PARAMS_v2 node = {.func = us ? c->stall : c->null,
	                                         .gridDimX = 1,
	                                         .gridDimY = 1,
	                                         .gridDimZ = 1,
	                                         .blockDimX = 1,
	                                         .blockDimY = 1,
	                                         .blockDimZ = 1,
	                                         .kernelParams = us ? argument.at : NULL};
	CUresult rc = CUDA_SUCCESS;

	if (!g->graph) { /* it stays: its node names the one of the exec */
		rc = sampler_cu.graph_create(&g->graph, 0);
		if (rc == CUDA_SUCCESS)
			rc = sampler_cu.graph_add(&g->node, g->graph, NULL, 0, &node);
		if (rc == CUDA_SUCCESS)
			rc = sampler_cu.graph_make(&g->exec, g->graph, 0);
		if (rc != CUDA_SUCCESS)
			drop(g);
	} else if (us != g->us) {
		rc = sampler_cu.graph_change(g->exec, g->node, &node);
	}
	if (rc == CUDA_SUCCESS)
		g->us = us;
	return rc;
}

static bool make(struct sampler_context *c, struct sampler_graph *g,
                 const struct sampler_spot *spot, unsigned us)
{
	return !spot->graphs || (section_clear() && sampler_accepted(c, set_graph(c, g, us)));
}

static bool put(struct sampler_context *c, struct sampler_pair *p, const struct sampler_graph *g,
                const struct sampler_spot *spot, unsigned us)
{
	if (!section_clear())
		return false;
	if (!spot->graphs)
		return sampler_accepted(c, put_kernel(c, spot, us));
	if (!sampler_accepted(c, sampler_cu.graph_launch[spot->ptds](g->exec, spot->stream)))
		return false;
	p->open = true;
	return true;
}

bool sampler_make_ahead(struct sampler_context *c, struct sampler_pair *p,
                        const struct sampler_spot *spot, unsigned us)
{
	return make(c, &p->ahead, spot, us);
}

bool sampler_put_ahead(struct sampler_context *c, struct sampler_pair *p,
                       const struct sampler_spot *spot, unsigned us)
{
	return put(c, p, &p->ahead, spot, us);
}

bool sampler_make_null(struct sampler_context *c, struct sampler_pair *p,
                       const struct sampler_spot *spot)
{
	return make(c, &p->null, spot, 0);
}

bool sampler_put_null(struct sampler_context *c, struct sampler_pair *p,
                      const struct sampler_spot *spot)
{
	return put(c, p, &p->null, spot, 0);
}

void sampler_ahead_drop(struct sampler_pair *p)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	const bool any = p->ahead.graph || p->null.graph;

	if (any && sampler_cu.exchange_mode(&mode) == CUDA_SUCCESS) {
		drop(&p->ahead);
		drop(&p->null);
		sampler_cu.exchange_mode(&mode);
	}
	p->ahead = p->null = (struct sampler_graph){0}; /* never again, destroyed or not */
	p->open = false;
}
