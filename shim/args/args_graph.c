/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/args/args.h"

#include <string.h>
#include "shim/base/clock.h"
#include "shim/handles/graph_content.h"
#include "shim/base/gate.h"
#include "shim/handles/registry.h"
#include "shim/sampler/sampler.h"

#define NO_GRAPH UINT32_MAX
#define NO_VALUE GRAPH_NO_NUMBER /* of the registry: neither number nor content */
/* Updates of a process after which the graph is asked about: who updates at every step is not
 * followed for ever. */
#define UPDATES_ASKED 4096u
/* Time to read graphs by their kinds of nodes: in any process; one part of so many of its time; and
 * for one graph. */
#define READ_FIRST_NS 20000000u
#define READ_SHARE    100u
#define READ_MOST_NS  50000000u
/* Updates in a row that left the nodes alike, after which one of so many is read. */
#define UPDATES_ALIKE 16u

#define TICKS_KNOWN (1u << 20) /* which are some 300 us to 1 ms */

static uint64_t read_ticks;

static void fill(struct spy_span *s, uint32_t graph, uint32_t content, CUgraphExec exec,
                 CUstream stream)
{
	struct tf_record *r = spy_args_target(s);

	if (!r)
		return;
	r->graph.graph = graph;
	r->graph.content = content;
	r->graph.nodes = 0;
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

/* ---- what it does, what it holds ---- */

/* The tick until which a graph may be read by its kinds of nodes; 0: the time for that is used up.
 */
static uint64_t may_read_until(uint64_t now)
{
	uint64_t load = tf_header(&spy_map)->load,
	         ns = READ_FIRST_NS + (now > load ? clock_ns_of(now - load) / READ_SHARE : 0),
	         spent = clock_ns_of(__atomic_load_n(&read_ticks, __ATOMIC_RELAXED));

	if (spent >= ns)
		return 0;
	ns = ns - spent < READ_MOST_NS ? ns - spent : READ_MOST_NS;
	uint64_t known = clock_ns_of(TICKS_KNOWN);
	return known ? now + ns * TICKS_KNOWN / known : 0;
}

/*
 * Asks the driver, where GPU time is measured; that is no time of the call's. `most`: nodes of a
 * content; `nodes`: whether those are wanted by their kinds.
 */
static struct graph_reading *ask(CUgraph graph, uint32_t most, bool nodes)
{
	uint64_t start = spy_clock(), until = nodes && spy_map.base ? may_read_until(start) : 0;

	if (spy_gate_page.gate.gpu == SPY_GPU_NONE || (!most && !until))
		return NULL;
	struct graph_reading *reading = graph_read(graph, most, until);
	uint64_t ticks = spy_clock() - start;
	if (until)
		__atomic_fetch_add(&read_ticks, ticks, __ATOMIC_RELAXED);
	if (sampler_take_out(ticks))
		spy_count(&spy_tls.thread->graph_ticks, ticks);
	return reading;
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

/* From now on an executable holds what stands at `row` (index + 1) of `graph_nodes`; 0: nobody
 * knows what. */
static void holds(CUgraphExec exec, uint32_t row)
{
	if (row)
		registry_put(HANDLE_GRAPH_NODES, (uintptr_t)exec, row, 0, 0);
	else
		registry_drop(HANDLE_GRAPH_NODES, (uintptr_t)exec);
}

static uint32_t nodes_of(CUgraphExec exec)
{
	uint32_t row = 0;

	registry_get(HANDLE_GRAPH_NODES, (uintptr_t)exec, &row);
	return row;
}

static uint32_t keep_nodes(struct graph_reading *reading, uint32_t number)
{
	return reading && reading->read ? graph_parts_keep(&reading->parts, number) : 0;
}

static void made_with_nodes(uint32_t number, uint32_t row)
{
	struct tf_graph *g =
	        row ? tf_entry(&spy_map, &tf_header(&spy_map)->graphs, number, sizeof(*g)) : NULL;
	if (g) /* it was not launched yet: the drain has nothing to say of it */
		__atomic_store_n(&g->nodes, row, __ATOMIC_RELAXED);
}

/*
 * `tick` 0: its making was not seen. `reading`: what the driver says, or NULL; a new content is
 * named after this graph, so that there are at most as many as the table of graphs has rows. Of two
 * threads that meet it at once each may name it: then it is two classes.
 */
static uint32_t learn(CUgraphExec exec, uint64_t tick, uint64_t ticks,
                      struct graph_reading *reading)
{
	uint64_t hash = reading ? reading->content : 0;
	uint32_t number = add_row(exec, tick, ticks), content = content_of(hash),
	         row = keep_nodes(reading, number);

	if (hash && !content && number != NO_GRAPH) {
		content = number + 1;
		registry_put(HANDLE_GRAPH_CONTENT, content_key(hash), content, 0, 0);
	}
	made_with_nodes(number, row);
	holds(exec, row);
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
		value = learn(exec, 0, 0, NULL);
	fill(s, registry_graph_number(value), registry_graph_content(value), exec, stream);
	struct tf_record *r = spy_args_target(s);
	if (r)
		r->graph.nodes = nodes_of(exec);
	if (rc != CUDA_SUCCESS)
		return;
	if (spy_is_captured(s, stream)) { /* becomes a child graph */
		spy_count(&th->captured[SPY_CLASS_GRAPH_LAUNCH], 1);
		spy_outer()->rec->flags |= TF_CAPTURED;
	} else {
		spy_count(&th->items[SPY_CLASS_GRAPH_LAUNCH], 1);
		if (sampler_wanted(s))
			sampler_graph_launched(sampler_key_graph(exec));
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
	struct graph_reading *reading = ask(graph, GRAPH_NODES_MOST, true);
	uint32_t value = learn(*exec, now, now > start ? now - start : 0, reading);
	graph_reading_end(reading);
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
	registry_drop(HANDLE_GRAPH_NODES, (uintptr_t)exec);
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

/* Whether the nodes are read at this update: who updates at every step, and always to the same
 * kinds of nodes, is looked at now and then. */
static bool update_is_read(uint32_t alike)
{
	return alike < UPDATES_ALIKE || alike % UPDATES_ALIKE == 0;
}

/*
 * It does what the graph does now, in its own class where that was not met before: a graph names no
 * content but its first. Where the update failed, nobody says what it does.
 */
static void updated(struct spy_span *s, CUresult rc, CUgraphExec exec, CUgraph graph)
{
	static uint32_t asked, alike;
	uint32_t value = NO_VALUE, before = nodes_of(exec);

	if (value_of(exec, &value) && rc == CUDA_SUCCESS) {
		uint32_t number = registry_graph_number(value), content = 0, most = 0;
		/* Relaxed, both: a few more or less do not matter. */
		uint32_t same = __atomic_fetch_add(&alike, 1, __ATOMIC_RELAXED);
		if (!(value & GRAPH_CHANGED) &&
		    __atomic_load_n(&asked, __ATOMIC_RELAXED) < UPDATES_ASKED &&
		    __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED) < UPDATES_ASKED)
			most = GRAPH_NODES_UPDATED;
		bool read = !before || update_is_read(same);
		struct graph_reading *reading = ask(graph, most, read);
		if (reading)
			content = content_of(reading->content);
		if (read) {
			uint32_t row = keep_nodes(reading, number);
			if (!row || row != before)
				__atomic_store_n(&alike, 0, __ATOMIC_RELAXED);
			holds(exec, row);
		}
		graph_reading_end(reading);
		if (!(value & GRAPH_CHANGED))
			remember(exec, value = registry_graph(number, content));
	} else if (rc != CUDA_SUCCESS && value != NO_VALUE) {
		holds(exec, 0);
		if (!(value & GRAPH_CHANGED)) {
			value = registry_graph(registry_graph_number(value), 0);
			remember(exec, value | GRAPH_CHANGED);
		}
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

/* Its class is its own from now on. */
static void changed(CUgraphExec exec)
{
	uint32_t value;

	if (value_of(exec, &value) && !(value & GRAPH_CHANGED))
		remember(exec, registry_graph(registry_graph_number(value), 0) | GRAPH_CHANGED);
}

void args_graph_exec_changed(struct spy_span *s, CUresult rc, CUgraphExec exec, ...)
{
	changed(exec);
	holds(exec, 0);
}

void args_graph_exec_alike(struct spy_span *s, CUresult rc, CUgraphExec exec, ...)
{
	changed(exec);
}

/*
 * A child graph takes the place of another of the same shape: XLA gives new buffers so to what a
 * library captured. If the executable has nodes as it holds, it is taken for one that was so
 * before; it is read now and then, as graphs of updates are.
 */
void args_graph_child_changed(struct spy_span *s, CUresult rc, CUgraphExec exec, CUgraphNode node,
                              CUgraph child)
{
	static uint32_t alike;
	uint32_t row = nodes_of(exec);

	changed(exec);
	if (!row || rc != CUDA_SUCCESS ||
	    !update_is_read(__atomic_fetch_add(&alike, 1, __ATOMIC_RELAXED)))
		return;
	struct graph_reading *reading = ask(child, 0, true);
	if (!reading || !reading->read || !graph_parts_has_all(row, &reading->parts)) {
		__atomic_store_n(&alike, 0, __ATOMIC_RELAXED);
		holds(exec, 0);
	}
	graph_reading_end(reading);
}

/* A kernel's node that becomes one which the graph has, is taken for one that was so before: new
 * arguments are what such calls are made for. */
static void kernel_changed(CUresult rc, CUgraphExec exec, const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	uint32_t row = nodes_of(exec);

	changed(exec);
	if (!row || rc != CUDA_SUCCESS)
		return;
	struct tf_graph_nodes part = graph_parts_of_kernel(graph_kernel(params), params);
	if (!graph_parts_has(row, &part))
		holds(exec, 0);
}

void args_graph_kernel_changed(struct spy_span *s, CUresult rc, CUgraphExec exec, CUgraphNode node,
                               const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	if (params)
		kernel_changed(rc, exec, params);
}

/* Of CUDA 11: the same struct but for its end. */
void args_graph_kernel_changed_v1(struct spy_span *s, CUresult rc, CUgraphExec exec,
                                  CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS_v2 p = {0};

	if (!params)
		return;
	memcpy(&p, params, sizeof(*params));
	kernel_changed(rc, exec, &p);
}
