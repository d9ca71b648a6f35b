/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/args/args.h"
#include "shim/handles/graph_content.h"
#include "shim/base/gate.h"
#include "shim/handles/registry.h"
#include "shim/sampler/sampler.h"

#define NO_GRAPH UINT32_MAX
#define NO_VALUE GRAPH_NO_NUMBER /* of the registry: neither number nor content */
/* Updates of a process after which the graph is asked about: who updates at every step is not
 * followed for ever. */
#define UPDATES_ASKED 4096u

static void fill(struct spy_span *s, uint32_t graph, uint32_t content, CUgraphExec exec,
                 CUstream stream)
{
	struct tf_record *r = spy_args_target(s);

	if (!r)
		return;
	r->graph.graph = graph;
	r->graph.content = content;
	r->graph.handle = (uintptr_t)exec;
	r->stream = (uintptr_t)stream;
}

/* ---- what is known of an executable ---- */

static bool value_of(CUgraphExec exec, uint32_t *value)
{
	return registry_get(HANDLE_GRAPH_EXEC, (uintptr_t)exec, value);
}

/* A row in table `graphs`; its index, or NO_GRAPH. */
static uint32_t add_row(CUgraphExec exec, uint64_t tick, uint64_t ticks)
{
	struct tf_header *h = tf_header(&spy_map);
	uint32_t number = NO_GRAPH;

	spy_lock();
	struct tf_graph *g = tf_append(&spy_map, &h->graphs);
	if (g) {
		number = h->graphs.count;
		g->handle = (uintptr_t)exec;
		g->instantiated = tick;
		g->instantiate_ticks = ticks;
		tf_publish(&h->graphs);
	}
	spy_unlock();
	if (!g)
		spy_count_anomaly(SPY_ANOMALY_GRAPHS_FULL);
	return number;
}

/* Asks what the graph does, where GPU time is measured; that is no time of the call's. */
static uint64_t ask_content(CUgraph graph, uint32_t most)
{
	if (spy_gate_page.gate.gpu == SPY_GPU_NONE)
		return 0;
	uint64_t start = spy_clock(), hash = graph_content(graph, most);
	uint64_t ticks = spy_clock() - start;
	if (sampler_take_out(ticks))
		spy_count(&spy_tls.thread->graph_ticks, ticks);
	return hash;
}

/* A key of the registry has room for 61 bits. */
static uint64_t content_key(uint64_t hash)
{
	return hash >> 3;
}

/* The content that has this hash; 0: it was not met yet. */
static uint32_t content_of(uint64_t hash)
{
	uint32_t content = 0;

	if (hash)
		registry_get(HANDLE_GRAPH_CONTENT, content_key(hash), &content);
	return content;
}

/*
 * `tick` 0: its making was not seen. `hash`: see graph_content(); a new content is named after this
 * graph, so that there are at most as many as the table of graphs has rows. Of two threads that
 * meet it at once each may name it: then it is two classes.
 */
static uint32_t learn(CUgraphExec exec, uint64_t tick, uint64_t ticks, uint64_t hash)
{
	uint32_t number = add_row(exec, tick, ticks), content = content_of(hash);

	if (hash && !content && number != NO_GRAPH) {
		content = number + 1;
		registry_put(HANDLE_GRAPH_CONTENT, content_key(hash), content, 0, 0);
	}
	uint32_t value = registry_graph(number, content);
	registry_put(HANDLE_GRAPH_EXEC, (uintptr_t)exec, value, 0, 0);
	return value;
}

/* ---- launches ---- */

void args_graph_launch(struct spy_span *s, CUresult rc, CUgraphExec exec, CUstream stream)
{
	uint32_t value = NO_VALUE;

	if (!spy_recording(spy_outer()))
		return;
	struct tf_thread *th = spy_tls.thread;
	if (!value_of(exec, &value) && rc == CUDA_SUCCESS && exec && spy_map.base)
		value = learn(exec, 0, 0, 0);
	fill(s, registry_graph_number(value), registry_graph_content(value), exec, stream);
	if (rc != CUDA_SUCCESS)
		return;
	if (spy_is_captured(s, stream)) { /* becomes a child graph */
		spy_count(&th->captured[SPY_CLASS_GRAPH_LAUNCH], 1);
		spy_outer()->rec->flags |= TF_CAPTURED;
	} else {
		spy_count(&th->items[SPY_CLASS_GRAPH_LAUNCH], 1);
	}
}

/* ---- made, changed, destroyed ---- */

static void instantiated(struct spy_span *s, CUresult rc, CUgraphExec *exec, CUgraph graph)
{
	uint64_t now = spy_clock(), start = spy_outer()->rec->start;

	if (rc != CUDA_SUCCESS || !exec || !*exec || !spy_map.base) {
		fill(s, NO_GRAPH, 0, NULL, NULL);
		return;
	}
	uint32_t value = learn(*exec, now, now > start ? now - start : 0,
	                       ask_content(graph, GRAPH_NODES_MOST));
	fill(s, registry_graph_number(value), 0, NULL, NULL);
}

void args_instantiate_log(struct spy_span *s, CUresult rc, CUgraphExec *exec, CUgraph graph,
                          CUgraphNode *node, char *log, size_t bytes)
{
	instantiated(s, rc, exec, graph);
}

void args_instantiate_flags(struct spy_span *s, CUresult rc, CUgraphExec *exec, CUgraph graph,
                            unsigned long long flags)
{
	instantiated(s, rc, exec, graph);
}

void args_instantiate_params(struct spy_span *s, CUresult rc, CUgraphExec *exec, CUgraph graph,
                             CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	instantiated(s, rc, exec, graph);
}

/* The handle may be reused the moment the real call returns: it is forgotten before. */
void before_graph_exec_destroy(struct spy_span *s, CUgraphExec exec)
{
	uint32_t value;

	if (!value_of(exec, &value))
		return;
	registry_drop(HANDLE_GRAPH_EXEC, (uintptr_t)exec);
	struct tf_graph *g = spy_map.base ? tf_entry(&spy_map, &tf_header(&spy_map)->graphs,
	                                             registry_graph_number(value), sizeof(*g))
	                                  : NULL;
	if (g)
		__atomic_store_n(&g->destroyed, spy_clock(), __ATOMIC_RELAXED);
}

void args_graph_exec_destroy(struct spy_span *s, CUresult rc, CUgraphExec exec)
{
	fill(s, NO_GRAPH, 0, NULL, NULL);
}

static void remember(CUgraphExec exec, uint32_t value)
{
	registry_put(HANDLE_GRAPH_EXEC, (uintptr_t)exec, value, 0, 0);
}

/*
 * It does what the graph does now, in its own class where that was not met before: a graph names no
 * content but its first. Where the update failed, nobody says what it does.
 */
static void updated(struct spy_span *s, CUresult rc, CUgraphExec exec, CUgraph graph)
{
	static uint32_t asked;
	uint32_t value = NO_VALUE;

	if (value_of(exec, &value) && !(value & GRAPH_CHANGED)) {
		uint32_t number = registry_graph_number(value), content = 0;
		/* Relaxed: a few more or less do not matter. */
		if (rc == CUDA_SUCCESS &&
		    __atomic_load_n(&asked, __ATOMIC_RELAXED) < UPDATES_ASKED &&
		    __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED) < UPDATES_ASKED)
			content = content_of(ask_content(graph, GRAPH_NODES_UPDATED));
		value = registry_graph(number, content);
		remember(exec, rc == CUDA_SUCCESS ? value : value | GRAPH_CHANGED);
	}
	fill(s, registry_graph_number(value), 0, exec, NULL);
}

void args_graph_update_v1(struct spy_span *s, CUresult rc, CUgraphExec exec, CUgraph graph,
                          CUgraphNode *node, CUgraphExecUpdateResult *result)
{
	updated(s, rc, exec, graph);
}

void args_graph_update(struct spy_span *s, CUresult rc, CUgraphExec exec, CUgraph graph,
                       CUgraphExecUpdateResultInfo *info)
{
	updated(s, rc, exec, graph);
}

void args_graph_exec_changed(struct spy_span *s, CUresult rc, CUgraphExec exec, ...)
{
	uint32_t value;

	if (value_of(exec, &value) && !(value & GRAPH_CHANGED))
		remember(exec, registry_graph(registry_graph_number(value), 0) | GRAPH_CHANGED);
}
