/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, their nodes, captures, and graphs made ready to run.
 * Included by the graph sources and by those whose calls can be captured. */
#pragma once
#include "tests/sim/driver_copy.h"

#define NODE_PARAMS 32 /* kernel arguments that a node can show */

struct sim_node {
	struct sim_handle handle;
	struct sim_graph *graph;
	struct sim_node *next, *prev; /* in the order of creation */
	CUgraphNodeType type;
	struct sim_node **deps;
	unsigned dep_count, dep_room;
	struct sim_node *origin; /* of a clone */
	unsigned mark;           /* scratch of walks; its index in the graph */
	bool disabled;
	struct node_work *work; /* what it does; NULL for an empty node */
};

/* What a node does; copied into executable graphs. */
struct node_work {
	union {
		struct {
			CUDA_KERNEL_NODE_PARAMS params;
			uint64_t gpu_ns;
			unsigned truth_index;
			struct sim_func *func;
		} kernel;
		struct {
			struct sim_copy copy;
			CUDA_MEMCPY3D params;
		} copy;
		struct {
			struct sim_set set;
			CUDA_MEMSET_NODE_PARAMS params;
		} set;
		CUDA_HOST_NODE_PARAMS host;
		struct sim_graph *child;
		struct sim_event *event;
		CUDA_MEM_ALLOC_NODE_PARAMS alloc;
		CUdeviceptr free;
	};
	uint64_t argument[NODE_PARAMS]; /* a kernel's arguments as far as they are known */
	void *params[NODE_PARAMS];
};

struct sim_graph {
	struct sim_handle handle;
	struct sim_node *first, *last;
	unsigned count;
	bool owned; /* by a child node or a capture: not the program's */
	struct user_ref *users;
};

/* A capture in progress; all of it under one lock. */
struct sim_capture {
	struct sim_capture *next;
	unsigned long long id;
	CUstreamCaptureMode mode;
	struct sim_thread *owner;
	struct sim_stream *origin;
	struct sim_graph *graph;
	bool own_graph; /* to be freed when the capture fails */
	bool invalid;
	struct sim_stream **stream; /* all that take part */
	unsigned streams;
};

struct exec_node {
	CUgraphNodeType type;
	struct node_work *work;
	struct sim_node *origin;
	unsigned *deps; /* indices of earlier nodes */
	unsigned dep_count;
	bool disabled;
};

struct sim_exec {
	struct sim_handle handle;
	struct exec_node *node; /* in an order of execution */
	unsigned count;
	unsigned long long flags;
	uint64_t *end_ns;         /* of each node in the launch under way */
	_Atomic uint64_t tail_ns; /* a graph does not run beside itself */
	pthread_mutex_t lock;
};

/* driver_graph.c */
struct sim_graph *graph_get(CUgraph h);
struct sim_node *node_get(CUgraphNode h);
struct sim_graph *graph_new(void);
void graph_free(struct sim_graph *g);
void node_free(struct sim_node *n);
/* A node that depends on those given; takes `work`, which came from malloc. */
CUresult node_add(struct sim_graph *g, CUgraphNodeType type, struct sim_node *const *deps,
                  size_t count, struct node_work *work, struct sim_node **out);
CUresult graph_copy(struct sim_graph *g, struct sim_graph **out);
bool node_depend(struct sim_node *n, struct sim_node *on);
void graph_number(struct sim_graph *g);

/* driver_user_object.c */
void user_refs_drop(struct sim_graph *g);

/* driver_node_work.c: what nodes do, from the parameters of the API; the results need free(). */
CUresult work_kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct node_work **out);
CUresult work_launch(const struct sim_launch *l, struct node_work **out);
CUresult work_copy(const CUDA_MEMCPY3D *p, struct node_work **out);
CUresult work_copy_of(const struct sim_copy *c, struct node_work **out);
CUresult work_set(const CUDA_MEMSET_NODE_PARAMS *p, struct node_work **out);
CUresult work_set_of(const struct sim_set *s, struct node_work **out);
struct node_work *work_new(void);
struct node_work *work_clone(const struct node_work *w, CUgraphNodeType type);

/* driver_exec.c */
struct sim_exec *exec_get(CUgraphExec h);
CUresult exec_build(struct sim_graph *g, struct exec_node **nodes, unsigned *count);
void exec_nodes_free(struct exec_node *node, unsigned count);
struct exec_node *exec_find(struct sim_exec *e, const struct sim_node *n);
/* What an executable graph does now, as a graph of its own. */
CUresult exec_graph(const struct sim_exec *e, struct sim_graph **out);

/* driver_exec_launch.c */
void exec_run(struct sim_exec *e, struct sim_stream *s);

/* driver_capture.c, driver_capture_work.c */
/* The next node of a captured stream; takes `work`. */
CUresult capture_add(struct sim_stream *s, CUgraphNodeType type, struct node_work *work);
CUresult capture_kernel(struct sim_stream *s, const struct sim_launch *l);
CUresult capture_copy(struct sim_stream *s, const struct sim_copy *c);
CUresult capture_set(struct sim_stream *s, const struct sim_set *set);
CUresult capture_host(struct sim_stream *s, CUhostFn fn, void *data);
CUresult capture_alloc(struct sim_stream *s, CUdeviceptr p, size_t bytes);
CUresult capture_free(struct sim_stream *s, CUdeviceptr p);
/* Takes `child`. */
CUresult capture_graph(struct sim_stream *s, struct sim_graph *child);
CUresult capture_event_record(struct sim_stream *s, struct sim_event *e, unsigned flags);
CUresult capture_event_wait(struct sim_stream *s, struct sim_event *e, unsigned flags);
CUresult capture_event_touched(struct sim_event *e);
void capture_lock(void);
void capture_unlock(void);
/* With the lock held: replaces what the stream's next node depends on. */
CUresult capture_set_deps(struct sim_stream *s, struct sim_node *const *deps, size_t count);
CUresult capture_add_deps(struct sim_stream *s, struct sim_node *const *deps, size_t count);
bool capture_join(struct sim_capture *c, struct sim_stream *s);
void capture_list_add(struct sim_capture *c);
/* Ends it for all its streams and frees it, but not its graph. */
void capture_close(struct sim_capture *c);
