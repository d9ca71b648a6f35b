/* SPDX-License-Identifier: Apache-2.0 */
/* What of a graph's GPU time its kernels have: a graph is timed as one piece of work, so this is an
 * estimate, by what the same kernels take outside of graphs. */
#include <math.h>
#include <string.h>

#include "report/model/model.h"
#include "shim/core/cuda/engines.h"

static bool same_shape(const struct model_gpu_class *c, const struct model_graph_part *p)
{
	return !memcmp(c->grid, p->grid, sizeof(c->grid)) &&
	       !memcmp(c->block, p->block, sizeof(c->block));
}

/* Of one launch outside of graphs, in this shape or else in any; NaN: it was never timed. */
static double kernel_ns(const struct model *m, const struct model_graph_part *p)
{
	double any = NAN;
	uint64_t most = 0;

	for (size_t i = 0; i < m->gpu.class_count; i++) {
		const struct model_gpu_class *c = &m->gpu.classes[i];
		if (c->kind != TF_WORK_KERNEL || !c->name || !(c->mean > 0) ||
		    strcmp(c->name, p->kernel) != 0)
			continue;
		if (same_shape(c, p))
			return c->mean;
		if (c->count > most) {
			most = c->count;
			any = c->mean;
		}
	}
	return any;
}

/* Of all nodes like these in one launch. */
static double part_ns(const struct model *m, const struct model_graph_part *p)
{
	double bytes = p->nodes ? (double)p->bytes / (double)p->nodes : 0;

	switch (p->kind) {
	case TF_NODES_KERNEL:
		return (double)p->nodes * kernel_ns(m, p);
	case TF_NODES_COPY:
		return (double)p->nodes *
		       cuda_guess_ns(TF_WORK_COPY, (enum spy_direction)p->direction, bytes);
	case TF_NODES_SET:
		return (double)p->nodes * cuda_guess_ns(TF_WORK_SET, SPY_DIR_UNKNOWN, bytes);
	case TF_NODES_CONDITIONAL:
		return NAN; /* how often its body ran is not known */
	default:
		return 0;
	}
}

double model_graph_share(const struct model *m, const struct model_graph *g,
                         const struct model_graph_part *part)
{
	double sum = 0;

	if (!g->nodes_known || g->nodes_in_part || g->nodes_changed)
		return NAN;
	if (g->part_count == 1)
		return 1;
	for (size_t i = 0; i < g->part_count; i++)
		sum += part_ns(m, &m->graph_parts[g->parts + i]);
	return sum > 0 ? part_ns(m, part) / sum : NAN;
}
