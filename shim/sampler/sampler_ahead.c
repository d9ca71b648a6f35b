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
	CUgraphExec exec;
	CUgraph graph;

	if (!g->exec) { /* the graph stays: its node names the one of the exec */
		rc = sampler_cu.graph_create(&graph, 0);
		if (rc == CUDA_SUCCESS)
			rc = sampler_cu.graph_add(&g->node, graph, NULL, 0, &node);
		if (rc == CUDA_SUCCESS)
			rc = sampler_cu.graph_make(&exec, graph, 0);
		if (rc == CUDA_SUCCESS)
			g->exec = exec;
	} else if (us != g->us) {
		rc = sampler_cu.graph_change(g->exec, g->node, &node);
	}
	if (rc == CUDA_SUCCESS)
		g->us = us;
	return rc;
}

/*
 * Launches of one exec wait for one another, on whatever streams they are. So one of ours is
 * launched again only when it is done, as the events behind it tell: the program's streams must not
 * wait for each other because of us.
 */
static CUresult is_done(const struct sampler_pair *p)
{
	CUresult rc = sampler_cu.event_query(p->a);

	return rc == CUDA_SUCCESS ? sampler_cu.event_query(p->b) : rc;
}

bool sampler_make_ahead(struct sampler_context *c, struct sampler_pair *p,
                        const struct sampler_spot *spot, unsigned us)
{
	if (!spot->graphs)
		return true;
	if (!section_clear())
		return false;
	CUresult rc = is_done(p);
	return sampler_accepted(c, rc == CUDA_SUCCESS ? set_graph(c, &p->ahead, us) : rc);
}

static CUresult put_graph(const struct sampler_graph *g, const struct sampler_spot *spot)
{
	return sampler_cu.graph_launch[spot->ptds](g->exec, spot->stream);
}

bool sampler_put_ahead(struct sampler_context *c, const struct sampler_pair *p,
                       const struct sampler_spot *spot, unsigned us)
{
	return section_clear() && sampler_accepted(c, spot->graphs ? put_graph(&p->ahead, spot)
	                                                           : put_kernel(c, spot, us));
}

bool sampler_put_null(struct sampler_context *c, struct sampler_pair *p,
                      const struct sampler_spot *spot)
{
	if (!section_clear())
		return false;
	if (!spot->graphs)
		return sampler_accepted(c, put_kernel(c, spot, 0));
	return sampler_accepted(c, set_graph(c, &p->null, 0)) &&
	       sampler_accepted(c, put_graph(&p->null, spot));
}

void sampler_ahead_lost(struct sampler_pair *p)
{
	p->ahead.exec = p->null.exec = NULL;
}
