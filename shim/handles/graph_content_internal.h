/* SPDX-License-Identifier: Apache-2.0 */
/* How graph_content.c, which goes through a graph, and graph_nodes.c, which looks at a node, hang
 * together. */
#ifndef SPY_GRAPH_CONTENT_INTERNAL_H
#define SPY_GRAPH_CONTENT_INTERNAL_H

#include "shim/handles/graph_content.h"

#define GRAPH_EDGES_MOST 4096u
#define GRAPH_PLACES     (2 * GRAPH_NODES_MOST)

/* Where one graph is looked at, its children after each other behind it. Only pages that are used
 * cost memory. */
struct graph_walk {
	struct graph_reading reading;        /* first */
	CUgraphNode nodes[GRAPH_NODES_READ]; /* of the graphs around the present one, then its own
	                                      */
	CUgraphNode from[GRAPH_EDGES_MOST], to[GRAPH_EDGES_MOST]; /* of the present one */
	uint16_t place[GRAPH_PLACES]; /* by hash of a node of the present one: its index + 1 */
	uint32_t used, most;          /* of `nodes`; those that a content may have */
	uint64_t hash;
	bool known; /* what was met so far can be told by `hash` */
	bool reads; /* parts are asked for, and there is time for them */
	struct graph_parts *parts;
};

/* One more value of a hash. */
uint64_t graph_mix(uint64_t h, uint64_t value);

/* The content cannot be told by a hash; the driver refused; there are too many nodes, or no time.
 */
void graph_unknown(struct graph_walk *w);
void graph_refused(struct graph_walk *w);
void graph_too_much(struct graph_walk *w);

/* The hash of all that was met so far. */
void graph_met(struct graph_walk *w, uint64_t hash);

/* A node of this kind: into the hash, and among the parts. */
void graph_add_kernel(struct graph_walk *w, CUgraphNode node);
void graph_add_copy(struct graph_walk *w, CUgraphNode node);
void graph_add_set(struct graph_walk *w, CUgraphNode node);
void graph_add_host(struct graph_walk *w, CUgraphNode node);
void graph_add_other(struct graph_walk *w, enum tf_nodes kind);

#endif
