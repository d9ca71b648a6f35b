/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/model_gpu_pairs.h"
#include "report/model/model_internal.h"

/* By number of a graph, index + 1 of a class: of that graph alone, of all with the content that it
 * was the first to have. */
struct graph_classes {
	uint32_t *own, *alike;
	uint32_t count; /* of graphs */
};

static struct graph_classes classes_of(const struct model_part *p, const struct tf_work *works,
                                       uint32_t count)
{
	struct graph_classes c = {.count = p->recording->graphs};

	c.own = alloc_zeroed(c.count, sizeof(*c.own));
	c.alike = alloc_zeroed(c.count, sizeof(*c.alike));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t graph = works[i].id & ~TF_GRAPH_ALIKE;
		if (works[i].kind == TF_WORK_GRAPH && graph < c.count)
			(works[i].id & TF_GRAPH_ALIKE ? c.alike : c.own)[graph] = i + 1;
	}
	return c;
}

/* Index + 1 of the class of all of a graph's launches; 0 where they are of several, or none. */
static uint32_t class_of(const struct graph_classes *c, uint32_t number, const struct tf_graph *g)
{
	if (!g->content)
		return c->own[number];
	return g->content - 1 < c->count ? c->alike[g->content - 1] : 0;
}

void model_add_graph_rows(const struct model_part *p, const struct tf_work *works,
                          const struct model_work_time *times,
                          const struct model_work_share *shares, uint32_t count)
{
	struct graph_classes c = classes_of(p, works, count);

	for (uint32_t i = 0; i < c.count; i++) {
		const struct tf_graph *g = model_graph(p, i);
		uint32_t row = p->graph_row[i], cls = g ? class_of(&c, i, g) : 0;
		if (row == UINT32_MAX || !cls--)
			continue;
		double part = 1;
		if (g->content && works[cls].count)
			part = fmin(1, (double)g->launches / (double)works[cls].count);
		model_gpu_sum_share(&p->model->graphs[row].gpu.sum, &times[cls], &shares[cls],
		                    part);
	}
	free(c.own);
	free(c.alike);
}
