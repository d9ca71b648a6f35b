/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"

void model_add_graphs(struct model_part *p)
{
	const struct recording *r = p->recording;
	struct model *m = p->model;

	for (uint32_t i = 0; i < r->graphs; i++) {
		const struct tf_graph *g = tf_entry(&r->map, &p->header->graphs, i, sizeof(*g));
		p->graph_row[i] = g && g->handle ? (uint32_t)m->graph_count : UINT32_MAX;
		if (!g || !g->handle)
			continue;
		ALLOC_ROOM(m->graphs, m->graph_count);
		m->graphs[m->graph_count++] = (struct model_graph){
		        .pid = p->process->pid,
		        .handle = g->handle,
		        .launches = g->launches,
		        .updates = g->updates,
		        .total = clock_ns(&p->clock, g->sum_ticks),
		        .instantiate = clock_ns(&p->clock, g->instantiate_ticks),
		        .alive = !g->destroyed,
		};
	}
}

const struct tf_graph *model_graph(const struct model_part *p, uint32_t id)
{
	return tf_entry(&p->recording->map, &p->header->graphs, id & ~TF_GRAPH_ALIKE,
	                sizeof(struct tf_graph));
}

/* What several processes could not intercept is told once. */
static bool known_gap(struct model *m, const struct tf_gap *g, char *name)
{
	for (size_t i = 0; i < m->gap_count; i++) {
		struct model_uncovered *have = &m->gaps[i];
		if (have->kind == g->kind && have->version == g->version &&
		    (name ? have->name && !strcmp(have->name, name) : !have->name)) {
			CLAMP_ADD(have->count, g->count);
			return true;
		}
	}
	return false;
}

void model_add_gaps(struct model_part *p)
{
	const struct recording *r = p->recording;
	struct model *m = p->model;

	for (uint32_t i = 0; i < r->gaps; i++) {
		const struct tf_gap *g = tf_entry(&r->map, &p->header->gaps, i, sizeof(*g));
		char *name = g ? model_text(g->name, sizeof(g->name)) : NULL;
		if (!g || known_gap(m, g, name)) {
			free(name);
			continue;
		}
		ALLOC_ROOM(m->gaps, m->gap_count);
		m->gaps[m->gap_count++] = (struct model_uncovered){
		        .name = name, .kind = g->kind, .version = g->version, .count = g->count};
	}
}
