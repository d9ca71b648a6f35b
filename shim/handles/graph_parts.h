/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of one graph, those that are alike put together, and their rows in table `graph_nodes`.
 * For graph_content.c, which asks the driver, and shim/args.
 */
#ifndef SPY_GRAPH_PARTS_H
#define SPY_GRAPH_PARTS_H

#include <stdbool.h>
#include "shim/base/cuda_types.h"
#include "shim/core/format/trace_format.h"

#define GRAPH_PARTS_MOST 1024u /* kinds of nodes of a graph; the rest of it is not told apart */

struct graph_parts {
	struct tf_graph_nodes all; /* its row of kind TF_NODES_ALL */
	struct tf_graph_nodes part[GRAPH_PARTS_MOST];
	uint32_t parts;
	uint32_t count; /* nodes met; by graph_content.c: when to look at the clock */
	uint64_t until; /* tick at which the reading ends, done or not */
	uint16_t place[2 * GRAPH_PARTS_MOST]; /* by hash of a part: its index + 1 */
};

void graph_parts_begin(struct graph_parts *p, uint64_t until);

/* Nodes as the driver tells them. `kernel`: index in table `kernels`. */
void graph_parts_kernel(struct graph_parts *p, uint32_t kernel,
                        const CUDA_KERNEL_NODE_PARAMS_v2 *params);
void graph_parts_copy(struct graph_parts *p, enum spy_memory to, enum spy_memory from,
                      uint64_t bytes);
void graph_parts_set(struct graph_parts *p, uint64_t bytes);
void graph_parts_other(struct graph_parts *p, enum tf_nodes kind);

/*
 * The rows of this in table `graph_nodes`, made where no graph before had the same; index + 1 of
 * the first, 0: they found no place. `graph`: index in table `graphs`.
 */
uint32_t graph_parts_keep(struct graph_parts *p, uint32_t graph);

/* Whether what stands at `row` (index + 1) holds such a node, so that a node that becomes one is
 * most likely the one that was one before. */
bool graph_parts_has(uint32_t row, const struct tf_graph_nodes *part);
/* The same of all the nodes of a graph; false where not all of them were told. */
bool graph_parts_has_all(uint32_t row, const struct graph_parts *of);
/* A kernel's node as a row, for that. */
struct tf_graph_nodes graph_parts_of_kernel(uint32_t kernel,
                                            const CUDA_KERNEL_NODE_PARAMS_v2 *params);

#endif
