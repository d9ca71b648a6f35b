/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a graph does: as one number, so that graphs of equal content are one class of GPU work, for
 * programs that instantiate a graph anew for every launch or two; and as the nodes it holds, for
 * the tables. For shim/args.
 *
 * The driver is asked for the nodes and edges, on the thread that has just instantiated the graph
 * or updated an executable by it: whoever made the graph, by capture, node by node, as a clone, it
 * is the same question. Equal: the same kinds of nodes in the same order with the same edges; of
 * kernels which one, its grid, block and dynamic shared memory; of copies and sets their sizes and
 * kinds of memory; of host functions which one; all of it of child graphs. Arguments and addresses
 * are left out, as they are of the classes of kernels and copies.
 */
#ifndef SPY_GRAPH_CONTENT_H
#define SPY_GRAPH_CONTENT_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/base/cuda_types.h"
#include "shim/handles/graph_parts.h"

/* Nodes of a graph that are looked at, those of child graphs too: a graph of more is seldom made
 * for a launch or two. */
#define GRAPH_NODES_MOST 1024u
/* The same where an executable is updated: that keeps its class anyway if it has one of its own,
 * and may be done at every step. */
#define GRAPH_NODES_UPDATED 64u
/* Nodes whose kinds are read, for the tables. */
#define GRAPH_NODES_READ 65536u

/* The driver's functions that it takes, named for the unit test. */
struct graph_driver {
	CUresult (*exchange_mode)(CUstreamCaptureMode *);
	CUresult (*nodes)(CUgraph, CUgraphNode *, size_t *);
	CUresult (*edges)(CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
	CUresult (*type)(CUgraphNode, CUgraphNodeType *);
	CUresult (*kernel)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2 *);
	CUresult (*copy)(CUgraphNode, CUDA_MEMCPY3D *);
	CUresult (*set)(CUgraphNode, CUDA_MEMSET_NODE_PARAMS *);
	CUresult (*host)(CUgraphNode, CUDA_HOST_NODE_PARAMS *);
	CUresult (*child)(CUgraphNode, CUgraph *);
	/* Of CUDA 12.3; NULL where the driver has none. */
	CUresult (*func_name)(const char **, CUfunction);
	CUresult (*kernel_name)(const char **, CUkernel);
};
extern struct graph_driver graph_cu;

/* Once a recording, before any graph is made; false: the driver lacks one of them, and no content
 * is ever known. */
bool graph_content_find(void);

/* What was read of a graph. */
struct graph_reading {
	/* As one number; 0 where it cannot be told: more than `most` nodes, a refusal, or a node
	 * that does what cannot be seen (a conditional one, operations on memory that may wait). */
	uint64_t content;
	bool read; /* the nodes by their kinds were asked for */
	struct graph_parts parts;
};

/*
 * Reads a graph; NULL where nothing can be asked. `most`: nodes of a content. `until`: the tick at
 * which the reading of nodes by their kinds ends; 0: it is not asked for. Queries alone, in relaxed
 * capture mode, in a quiet section; no stream is touched, errno stays. The calling thread is inside
 * a call that was given the graph, so that nobody else may change it. To be given back soon.
 */
struct graph_reading *graph_read(CUgraph graph, uint32_t most, uint64_t until);
void graph_reading_end(struct graph_reading *reading);

/* The kernel of a node, as index in table `kernels`. */
uint32_t graph_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *params);

#endif
