/* SPDX-License-Identifier: Apache-2.0 */
/* What graphs hold: the rows of table `graph_nodes`, and what kernels ran by them. */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"

static const struct tf_graph_nodes *row_at(const struct model_part *p, uint32_t index)
{
	const struct recording *r = p->recording;
	const struct tf_table *t = tf_at(&r->map, p->header->graph_nodes, sizeof(*t));

	return t && index < r->graph_nodes
	               ? tf_entry(&r->map, t, index, sizeof(struct tf_graph_nodes))
	               : NULL;
}

/* A row that others belong to; NULL where that is none, or they are not all there. */
static const struct tf_graph_nodes *first_at(const struct model_part *p, uint32_t index)
{
	const struct tf_graph_nodes *all = row_at(p, index);

	return all && all->kind == TF_NODES_ALL && all->rows < p->recording->graph_nodes - index
	               ? all
	               : NULL;
}

uint64_t model_times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static struct model_graph_part part_of(const struct model_part *p, const struct tf_graph_nodes *n)
{
	struct model_graph_part part = {
	        .kind = (enum tf_nodes)n->kind,
	        .nodes = n->nodes,
	        .bytes = n->bytes,
	        .direction = n->direction < SPY_DIR_COUNT ? n->direction : (uint8_t)SPY_DIR_UNKNOWN,
	        .memory = n->memory < SPY_MEM_COUNT ? n->memory : (uint8_t)SPY_MEM_UNKNOWN};

	if (n->kind != TF_NODES_KERNEL)
		return part;
	part.kernel = p->model->kernels[p->kernel_row[n->kernel]].name;
	part.shared_bytes = n->shared_bytes;
	part.grid[0] = n->grid_x;
	part.grid[1] = n->grid_y;
	part.grid[2] = n->grid_z;
	part.block[0] = n->block_x;
	part.block[1] = n->block_y;
	part.block[2] = n->block_z;
	return part;
}

/* What ran by launches of graphs that held this. */
static void add_runs(struct model_part *p, const struct tf_graph_nodes *n, uint64_t launches)
{
	struct model_in_graphs *in = &p->model->in_graphs;
	uint64_t runs = model_times(n->nodes, launches);

	switch (n->kind) {
	case TF_NODES_KERNEL:
		CLAMP_ADD(in->kernels, runs);
		CLAMP_ADD(p->model->kernels[p->kernel_row[n->kernel]].graph_launches, runs);
		break;
	case TF_NODES_COPY:
		CLAMP_ADD(in->copies, runs);
		CLAMP_ADD(in->copy_bytes, model_times(n->bytes, launches));
		break;
	case TF_NODES_SET:
		CLAMP_ADD(in->sets, runs);
		break;
	default:
		CLAMP_ADD(in->others, runs);
	}
}

static bool is_sound(const struct tf_graph_nodes *n)
{
	return n->kind > TF_NODES_ALL && n->kind < TF_NODES_KINDS &&
	       (n->kind != TF_NODES_KERNEL || n->kernel < TF_KERNELS_MAX);
}

static int by_nodes(const void *a, const void *b)
{
	const struct model_graph_part *x = a, *y = b;

	if (x->nodes != y->nodes)
		return x->nodes > y->nodes ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static void add_parts(struct model_part *p, uint32_t first, const struct tf_graph_nodes *all)
{
	struct model *m = p->model;
	size_t start = m->graph_part_count;

	for (uint32_t i = 0; i < all->rows; i++) {
		const struct tf_graph_nodes *n = row_at(p, first + 1 + i);
		if (!n || !is_sound(n))
			continue;
		if (n->kind == TF_NODES_KERNEL)
			model_kernel_row(p, n->kernel); /* may move the rows */
		add_runs(p, n, all->launches);
		ALLOC_ROOM(m->graph_parts, m->graph_part_count);
		m->graph_parts[m->graph_part_count] = part_of(p, n);
		m->graph_parts[m->graph_part_count++].place = i;
	}
	if (m->graph_part_count > start)
		qsort(m->graph_parts + start, m->graph_part_count - start, sizeof(*m->graph_parts),
		      by_nodes);
}

/* Index + 1 of the model's first part of each row; the rows in between have none. */
static size_t *add_all(struct model_part *p)
{
	uint32_t rows = p->recording->graph_nodes;
	size_t *parts = alloc_zeroed(rows, sizeof(*parts));

	for (uint32_t i = 0; i < rows; i++) {
		const struct tf_graph_nodes *all = first_at(p, i);
		if (!all)
			continue;
		parts[i] = p->model->graph_part_count + 1;
		CLAMP_ADD(p->model->in_graphs.launches, all->launches);
		if (all->flags & (TF_NODES_PART | TF_NODES_REFUSED))
			CLAMP_ADD(p->model->in_graphs.launches_in_part, all->launches);
		add_parts(p, i, all);
		i += all->rows;
	}
	return parts;
}

bool model_graphs_known(const struct model *m)
{
	return model_is_known(m) && (!m->totals.graph_launches || m->in_graphs.launches);
}

void model_add_graph_nodes(struct model_part *p)
{
	const struct recording *r = p->recording;
	struct model *m = p->model;
	size_t *parts = add_all(p);

	for (uint32_t i = 0; i < r->graphs; i++) {
		const struct tf_graph *g = model_graph(p, i);
		uint32_t row = p->graph_row[i], at = g ? g->nodes & ~TF_GRAPH_OTHER_NODES : 0;
		if (row == UINT32_MAX || !at || at > r->graph_nodes || !parts[at - 1])
			continue;
		const struct tf_graph_nodes *all = row_at(p, at - 1);
		struct model_graph *graph = &m->graphs[row];
		graph->nodes_known = true;
		graph->nodes_in_part = all->flags & (TF_NODES_PART | TF_NODES_REFUSED);
		graph->nodes_changed = g->nodes & TF_GRAPH_OTHER_NODES;
		graph->nodes = all->nodes;
		graph->parts = parts[at - 1] - 1;
		for (uint32_t k = 0; k < all->rows; k++) {
			const struct tf_graph_nodes *n = row_at(p, at + k);
			graph->part_count += n && is_sound(n);
		}
	}
	free(parts);
}
