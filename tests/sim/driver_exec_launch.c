/* SPDX-License-Identifier: Apache-2.0 */
/* A graph's launch: every node finds its place in time after those it depends on. */
#include "tests/sim/driver_graph.h"
#include "tests/sim/observe.h"

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static _Thread_local uint32_t node_now; /* 1 + place in the graph of the node that runs */
/* Of the launch, as far as it has come. */
static _Thread_local struct {
	uint64_t start_ns, end_ns;
	int device;
} span;

static uint64_t place(struct sim_stream *s, struct sim_device *d, enum sim_tl_engine engine,
                      struct sim_piece p, uint64_t start, uint64_t ns)
{
	void (*tell)(const struct sim_piece *) = atomic_load(&sim_observer);

	p.device = d->ordinal;
	p.stream = s->id;
	p.graph_node = node_now;
	p.call = sim_total()->calls;
	p.start_ns = sim_tl_place(&d->timeline, sim_tl_turn(engine, p.bytes), p.kind, start, ns);
	p.end_ns = p.start_ns + ns;
	if (tell)
		tell(&p);
	if (!span.end_ns || p.start_ns < span.start_ns) {
		span.start_ns = p.start_ns;
		span.device = p.device;
	}
	span.end_ns = later(span.end_ns, p.end_ns);
	return p.end_ns;
}

static uint64_t run_kernel(struct sim_stream *s, const struct node_work *w, uint64_t start)
{
	uint64_t ns = w->kernel.gpu_ns;

	if (w->kernel.func->own) /* takes its time, but is no work of the program's */
		return start + ns;
	sim_total()->graph_kernels++;
	truth_count_graph_kernel(w->kernel.truth_index, ns);
	if (!ns)
		return start;
	return place(s, s->ctx->device, TL_COMPUTE,
	             (struct sim_piece){.kind = TL_KERNEL, .kernel = w->kernel.func->name}, start,
	             ns);
}

static uint64_t run_copy(struct sim_stream *s, const struct sim_copy *c, uint64_t start)
{
	struct sim_device *d = c->direction == TRUTH_H2D ? c->dst.device : c->src.device;
	uint64_t ns = copy_gpu_ns(c);

	sim_total()->graph_copies++;
	copy_data(c);
	if (!copy_bytes(c) || c->direction == TRUTH_H2H)
		return start;
	return place(s, d ? d : s->ctx->device, copy_engine(c),
	             (struct sim_piece){.kind = TL_COPY, .bytes = copy_bytes(c)}, start, ns);
}

static uint64_t run_set(struct sim_stream *s, const struct sim_set *set, uint64_t start)
{
	uint64_t ns = set_gpu_ns(set);

	sim_total()->graph_sets++;
	set_data(set);
	return place(
	        s, s->ctx->device, TL_COMPUTE,
	        (struct sim_piece){.kind = TL_SET, .bytes = (uint64_t)set->width * set->height},
	        start, ns);
}

static void record(struct sim_event *e, uint64_t when, uint64_t host)
{
	pthread_mutex_lock(&e->lock);
	event_drop_capture(e);
	e->recorded = true;
	e->time_ns = when;
	e->host_seq = host;
	pthread_mutex_unlock(&e->lock);
}

static uint64_t run_node(struct sim_stream *s, const struct exec_node *n, uint64_t start)
{
	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return run_kernel(s, n->work, start);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return run_copy(s, &n->work->copy.copy, start);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return run_set(s, &n->work->set.set, start);
	case CU_GRAPH_NODE_TYPE_HOST:
		atomic_store(&s->host_sent,
		             hostfn_send(start, n->work->host.fn, n->work->host.userData));
		return start + SIM_HOST_FUNCTION_NS;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		if (handle_live(HANDLE_EVENT, n->work->event))
			record(n->work->event, start, atomic_load(&s->host_sent));
		return start;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		if (handle_live(HANDLE_EVENT, n->work->event))
			return later(start, n->work->event->time_ns);
		return start;
	default:
		return start;
	}
}

/* From the end of what a node depends on to its start. */
static uint64_t gap_before(const struct sim_stream *s, const struct exec_node *n)
{
	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
	case CU_GRAPH_NODE_TYPE_MEMCPY:
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return sim_config.graph_gap_ns +
		       (atomic_load(&s->mixed) ? sim_config.graph_mixed_ns : 0);
	default:
		return 0;
	}
}

static void tell_launch(const struct sim_stream *s)
{
	void (*tell)(const struct sim_piece *) = atomic_load(&sim_observer);
	struct sim_piece p = {
	        .kind = TL_NONE,
	        .device = span.device,
	        .stream = s->id,
	        .start_ns = span.start_ns,
	        .end_ns = span.end_ns,
	        .call = sim_total()->calls,
	};

	if (tell && span.end_ns)
		tell(&p);
}

/* The shim's: one kernel of its own. */
static bool is_own(const struct sim_exec *e)
{
	return e->count == 1 && e->node[0].type == CU_GRAPH_NODE_TYPE_KERNEL &&
	       e->node[0].work->kernel.func->own;
}

void exec_run(struct sim_exec *e, struct sim_stream *s)
{
	uint64_t begin, end;

	span.start_ns = span.end_ns = 0;
	atomic_store(&s->after_host, false);
	pthread_mutex_lock(&e->lock);
	begin = later(stream_begin(s, &s->queue[TL_COMPUTE]),
	              atomic_load(&s->tail_ns) + sim_config.gap_ns);
	if (is_own(e) && atomic_load(&e->tail_ns) > begin)
		sim_total()->own_waits++;
	begin = later(begin, atomic_load(&e->tail_ns));
	end = begin;
	for (unsigned i = 0; i < e->count; i++) {
		const struct exec_node *n = &e->node[i];
		uint64_t start = begin;

		for (unsigned k = 0; k < n->dep_count; k++)
			start = later(start, e->end_ns[n->deps[k]] + gap_before(s, n));
		node_now = i + 1;
		e->end_ns[i] = n->disabled ? start : run_node(s, n, start);
		end = later(end, e->end_ns[i]);
	}
	tell_launch(s);
	atomic_store(&e->tail_ns, end);
	s->engine = TL_COMPUTE;
	stream_end(s, &s->queue[TL_COMPUTE], end);
	pthread_mutex_unlock(&e->lock);
}

CUresult do_cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
	uint64_t from = sim_tl_now();
	struct sim_exec *e = exec_get(hGraph);
	struct sim_graph *child;
	struct sim_stream *s;
	CUresult rc = stream_use(hStream, &s);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!e)
		return CUDA_ERROR_INVALID_VALUE;
	if (unlikely(atomic_load(&s->capture))) {
		rc = exec_graph(e, &child);
		return rc == CUDA_SUCCESS ? capture_graph(s, child) : rc;
	}
	exec_run(e, s);
	if (is_own(e)) {
		sim_cost_since(from, sim_config.launch_ns);
		return CUDA_SUCCESS;
	}
	sim_cost_since(from, sim_config.graph_launch_ns);
	atomic_store(&s->graphs, true);
	sim_total()->graph_launches++;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream)
{
	struct sim_stream *s;
	CUresult rc = stream_use(hStream, &s);

	if (rc == CUDA_SUCCESS && !exec_get(hGraphExec))
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS && atomic_load(&s->capture))
		return capture_breaks(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	return rc;
}
