/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/handles/graph_parts.h"

#include <string.h>
#include "shim/base/gate.h"
#include "shim/handles/registry.h"

#define PLACES (2 * GRAPH_PARTS_MOST)

void graph_parts_begin(struct graph_parts *p, uint64_t until)
{
	p->all = (struct tf_graph_nodes){.kind = TF_NODES_ALL};
	p->parts = p->count = 0;
	p->until = until;
	memset(p->place, 0, sizeof(p->place));
}

/* ---- alike or not ---- */

/* What tells one kind of nodes from another. */
struct key {
	uint64_t word[4];
};

static struct key key_of(const struct tf_graph_nodes *n)
{
	return (struct key){{(uint64_t)n->kernel << 32 | n->shared_bytes,
	                     (uint64_t)n->grid_x << 32 | n->grid_y << 16 | n->grid_z,
	                     (uint64_t)n->block_x << 32 | n->block_y << 16 | n->block_z,
	                     (uint64_t)n->kind << 32 | n->direction << 16 | n->memory}};
}

static uint64_t mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0xff51afd7ed558ccdu;
	return h ^ h >> 32;
}

static uint64_t hash_of(const struct key *k)
{
	uint64_t h = 1;

	for (unsigned i = 0; i < 4; i++)
		h = mix(h, k->word[i]);
	return h;
}

/* The part that such nodes are in, made where it is new; NULL: there are too many. */
static struct tf_graph_nodes *part_of(struct graph_parts *p, const struct tf_graph_nodes *node)
{
	struct key key = key_of(node);
	uint32_t at = (uint32_t)(hash_of(&key) >> 20) % PLACES;

	for (; p->place[at]; at = (at + 1) % PLACES) {
		struct tf_graph_nodes *have = &p->part[p->place[at] - 1];
		struct key other = key_of(have);
		if (!memcmp(&other, &key, sizeof(key)))
			return have;
	}
	if (p->parts == GRAPH_PARTS_MOST)
		return NULL;
	p->part[p->parts] = *node;
	p->place[at] = (uint16_t)(p->parts + 1);
	return &p->part[p->parts++];
}

static void add(struct graph_parts *p, const struct tf_graph_nodes *node, uint64_t bytes)
{
	struct tf_graph_nodes *part = part_of(p, node);

	p->all.nodes++;
	if (!part) {
		p->all.flags |= TF_NODES_PART;
		return;
	}
	part->nodes++;
	part->bytes += bytes;
}

/* ---- nodes ---- */

static uint16_t most_16(unsigned value)
{
	return (uint16_t)(value < UINT16_MAX ? value : UINT16_MAX);
}

struct tf_graph_nodes graph_parts_of_kernel(uint32_t kernel,
                                            const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	return (struct tf_graph_nodes){
	        .kind = TF_NODES_KERNEL,
	        .kernel = kernel,
	        .shared_bytes = params->sharedMemBytes,
	        .grid_x = params->gridDimX,
	        .grid_y = most_16(params->gridDimY),
	        .grid_z = most_16(params->gridDimZ),
	        .block_x = most_16(params->blockDimX),
	        .block_y = most_16(params->blockDimY),
	        .block_z = (uint8_t)(params->blockDimZ < UINT8_MAX ? params->blockDimZ : UINT8_MAX),
	};
}

void graph_parts_kernel(struct graph_parts *p, uint32_t kernel,
                        const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	struct tf_graph_nodes node = graph_parts_of_kernel(kernel, params);

	add(p, &node, 0);
}

static bool is_host(enum spy_memory m)
{
	return m == SPY_MEM_PAGEABLE || m == SPY_MEM_PINNED;
}

void graph_parts_copy(struct graph_parts *p, enum spy_memory to, enum spy_memory from,
                      uint64_t bytes)
{
	enum spy_memory host = is_host(from) ? from : is_host(to) ? to : SPY_MEM_DEVICE;
	struct tf_graph_nodes node = {.kind = TF_NODES_COPY, .memory = (uint8_t)host};

	if (to == SPY_MEM_UNKNOWN || from == SPY_MEM_UNKNOWN)
		node.direction = SPY_DIR_UNKNOWN;
	else if (is_host(from))
		node.direction = is_host(to) ? SPY_DIR_HTOH : SPY_DIR_HTOD;
	else
		node.direction = is_host(to) ? SPY_DIR_DTOH : SPY_DIR_DTOD;
	add(p, &node, bytes);
}

void graph_parts_set(struct graph_parts *p, uint64_t bytes)
{
	const struct tf_graph_nodes node = {.kind = TF_NODES_SET};

	add(p, &node, bytes);
}

void graph_parts_other(struct graph_parts *p, enum tf_nodes kind)
{
	const struct tf_graph_nodes node = {.kind = (uint16_t)kind};

	add(p, &node, 0);
}

/* ---- the table ---- */

static struct tf_table *table(void)
{
	return spy_map.base
	               ? tf_at(&spy_map, tf_header(&spy_map)->graph_nodes, sizeof(struct tf_table))
	               : NULL;
}

static struct tf_graph_nodes *row_at(uint32_t index)
{
	struct tf_table *t = table();

	return t && index < tf_count(t)
	               ? tf_entry(&spy_map, t, index, sizeof(struct tf_graph_nodes))
	               : NULL;
}

/* A key of the registry has room for 61 bits. */
static uint64_t digest_of(const struct graph_parts *p)
{
	uint64_t h = mix(mix(p->all.nodes, p->all.flags), p->parts);

	for (uint32_t i = 0; i < p->parts; i++) {
		struct key key = key_of(&p->part[i]);
		h = mix(mix(mix(h, hash_of(&key)), p->part[i].nodes), p->part[i].bytes);
	}
	return h >> 3;
}

static bool append(struct tf_table *t, const struct tf_graph_nodes *row)
{
	struct tf_graph_nodes *to = tf_append(&spy_map, t);

	if (!to)
		return false;
	*to = *row;
	tf_publish(t);
	return true;
}

/* Under the shim's lock. Who reads meanwhile finds a first row without the others. */
static uint32_t append_all(struct tf_table *t, struct graph_parts *p)
{
	uint32_t first = t->count, rows = 0;

	if (first >= t->max || t->max - first <= p->parts || !append(t, &p->all))
		return 0;
	while (rows < p->parts && append(t, &p->part[rows]))
		rows++;
	struct tf_graph_nodes *all = tf_entry(&spy_map, t, first, sizeof(*all));
	if (all && rows < p->parts)
		all->flags |= TF_NODES_PART; /* the file is full */
	if (all)
		__atomic_store_n(&all->rows, rows, __ATOMIC_RELEASE);
	return first + 1;
}

uint32_t graph_parts_keep(struct graph_parts *p, uint32_t graph)
{
	struct tf_table *t = table();
	uint64_t digest = digest_of(p);
	uint32_t row = 0;

	if (!t || registry_get(HANDLE_GRAPH_PARTS, digest, &row))
		return row;
	p->all.graph = graph;
	for (uint32_t i = 0; i < p->parts; i++)
		p->part[i].graph = graph;
	spy_lock();
	row = append_all(t, p);
	spy_unlock();
	if (row)
		registry_put(HANDLE_GRAPH_PARTS, digest, row, 0, 0);
	return row;
}

bool graph_parts_has(uint32_t row, const struct tf_graph_nodes *part)
{
	const struct tf_graph_nodes *all = row ? row_at(row - 1) : NULL;
	struct key wanted = key_of(part);

	for (uint32_t i = 0; all && i < all->rows; i++) {
		const struct tf_graph_nodes *have = row_at(row + i);
		struct key key = have ? key_of(have) : (struct key){{0}};
		if (have && !memcmp(&key, &wanted, sizeof(key)))
			return true;
	}
	return false;
}

bool graph_parts_has_all(uint32_t row, const struct graph_parts *of)
{
	if (of->all.flags & (TF_NODES_PART | TF_NODES_REFUSED))
		return false;
	for (uint32_t i = 0; i < of->parts; i++)
		if (!graph_parts_has(row, &of->part[i]))
			return false;
	return true;
}
