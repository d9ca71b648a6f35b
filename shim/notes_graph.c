#include "shim/notes.h"
#include "shim/lifecycle.h"
#include "shim/registry.h"

#define NO_GRAPH UINT32_MAX

static void fill(struct spy_span *s, uint32_t graph, CUgraphExec exec, CUstream stream)
{
	struct tf_record *r = spy_note_target(s);

	if (!r)
		return;
	r->graph.graph = graph;
	r->graph.content = 0;
	r->graph.handle = (uintptr_t)exec;
	r->stream = (uintptr_t)stream;
}

/* The graph's number; one whose making was not seen gets one now. */
static uint32_t number_of(CUgraphExec exec, uint64_t tick, uint64_t ticks)
{
	struct tf_header *h = spy_map.base ? tf_header(&spy_map) : NULL;
	uint32_t number = NO_GRAPH;

	if (!h || !exec)
		return NO_GRAPH;
	if (!tick && registry_get(HANDLE_GRAPH_EXEC, (uintptr_t)exec, &number))
		return number;
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
		spy_count_trouble(SPY_TROUBLE_GRAPHS_FULL);
	registry_put(HANDLE_GRAPH_EXEC, (uintptr_t)exec, number, 0, 0);
	return number;
}

void note_graph_launch(struct spy_span *s, CUresult rc, CUgraphExec exec, CUstream stream)
{
	struct tf_thread *th = spy_tls.thread;
	uint32_t number = NO_GRAPH;

	if (!spy_recording(spy_outer()))
		return;
	if (!registry_get(HANDLE_GRAPH_EXEC, (uintptr_t)exec, &number) && rc == CUDA_SUCCESS)
		number = number_of(exec, 0, 0);
	fill(s, number, exec, stream);
	if (rc != CUDA_SUCCESS)
		return;
	if (spy_is_captured(s, stream)) { /* becomes a child graph */
		th->captured[SPY_CLASS_GRAPH_LAUNCH]++;
		spy_outer()->rec->flags |= TF_CAPTURED;
	} else {
		th->items[SPY_CLASS_GRAPH_LAUNCH]++;
	}
}

static void instantiated(struct spy_span *s, CUresult rc, CUgraphExec *exec)
{
	uint64_t now = spy_clock(), start = spy_outer()->rec->start;

	if (rc == CUDA_SUCCESS && exec && *exec)
		fill(s, number_of(*exec, now, now > start ? now - start : 0), NULL, NULL);
	else
		fill(s, NO_GRAPH, NULL, NULL);
}

void note_instantiate_log(struct spy_span *s, CUresult rc, CUgraphExec *exec, CUgraph graph,
                          CUgraphNode *node, char *log, size_t bytes)
{
	instantiated(s, rc, exec);
}

void note_instantiate_flags(struct spy_span *s, CUresult rc, CUgraphExec *exec, CUgraph graph,
                            unsigned long long flags)
{
	instantiated(s, rc, exec);
}

void note_instantiate_params(struct spy_span *s, CUresult rc, CUgraphExec *exec, CUgraph graph,
                             CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	instantiated(s, rc, exec);
}

/* The handle may be reused the moment the real call returns: it is forgotten before. */
void before_graph_exec_destroy(struct spy_span *s, CUgraphExec exec)
{
	uint32_t number;

	if (!registry_get(HANDLE_GRAPH_EXEC, (uintptr_t)exec, &number))
		return;
	registry_drop(HANDLE_GRAPH_EXEC, (uintptr_t)exec);
	struct tf_graph *g =
	        spy_map.base ? tf_entry(&spy_map, &tf_header(&spy_map)->graphs, number, sizeof(*g))
	                     : NULL;
	if (g)
		__atomic_store_n(&g->destroyed, spy_clock(), __ATOMIC_RELAXED);
}

void note_graph_exec_destroy(struct spy_span *s, CUresult rc, CUgraphExec exec)
{
	fill(s, NO_GRAPH, NULL, NULL);
}

static void updated(struct spy_span *s, CUgraphExec exec)
{
	uint32_t number = NO_GRAPH;

	registry_get(HANDLE_GRAPH_EXEC, (uintptr_t)exec, &number);
	fill(s, number, exec, NULL);
}

void note_graph_update_v1(struct spy_span *s, CUresult rc, CUgraphExec exec, CUgraph graph,
                          CUgraphNode *node, CUgraphExecUpdateResult *result)
{
	updated(s, exec);
}

void note_graph_update(struct spy_span *s, CUresult rc, CUgraphExec exec, CUgraph graph,
                       CUgraphExecUpdateResultInfo *info)
{
	updated(s, exec);
}
