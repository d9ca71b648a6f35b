/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/json/out_json.h"

static json_t *failures_of(const struct model *m, size_t api)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->failure_count; i++) {
		const struct model_failure *f = &m->failures[i];
		if (f->api != api)
			continue;
		char *name = model_error(m->apis[api].level, f->result);
		json_t *o = json_object();
		json_put(o, "code", json_integer(f->result));
		json_put(o, "name", json_text(name));
		json_put(o, "count", out_json_count(m, f->count));
		json_push(list, o);
		free(name);
	}
	return list;
}

json_t *out_json_apis(const struct model *m, size_t limit)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->api_count && i < limit; i++) {
		const struct model_api *a = &m->apis[i];
		json_t *o = json_object();
		json_put(o, "name", json_text(a->name));
		json_put(o, "level", json_text(model_level_name(a->level)));
		json_put(o, "class", json_text(model_class_names[a->cls]));
		json_put(o, "calls", out_json_count(m, a->calls));
		json_put(o, "failed", out_json_count(m, a->failed));
		json_put(o, "total_ns", json_ns(a->total));
		json_put(o, "mean_ns", json_ns(a->mean));
		json_put(o, "p50_ns", json_ns(a->q.p50));
		json_put(o, "p90_ns", json_ns(a->q.p90));
		json_put(o, "p99_ns", json_ns(a->q.p99));
		json_put(o, "max_ns", json_ns(a->max));
		json_put(o, "failures", failures_of(m, i));
		json_push(list, o);
	}
	return list;
}

/* What the driver says of the shape launched most often. */
static void put_facts(json_t *o, const struct model_shape *s)
{
	json_put(o, "registers", s->registers ? json_count(s->registers) : json_null());
	json_put(o, "static_shared_bytes",
	         s->registers ? json_count(s->static_shared) : json_null());
	json_put(o, "occupancy", json_share(shape_occupancy(s)));
}

json_t *out_json_kernels(const struct model *m, size_t limit)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->kernel_count && i < limit; i++) {
		const struct model_kernel *k = &m->kernels[i];
		json_t *o = json_object();
		json_put(o, "name", json_text(k->name));
		json_put(o, "launches", out_json_count(m, k->launches));
		json_put(o, "captured", out_json_count(m, k->captured));
		json_put(o, "graph_launches",
		         model_graphs_known(m) ? json_count(k->graph_launches) : json_null());
		json_put(o, "failed", out_json_count(m, k->failed));
		json_put(o, "api_total_ns", json_ns(k->total));
		json_put(o, "api_mean_ns", json_ns(k->mean));
		json_put(o, "api_p50_ns", json_ns(k->q.p50));
		json_put(o, "api_p90_ns", json_ns(k->q.p90));
		json_put(o, "api_p99_ns", json_ns(k->q.p99));
		json_put(o, "api_max_ns", json_ns(k->max));
		json_put(o, "first_ns", json_ns(k->first));
		json_put(o, "first_launches", out_json_count(m, k->firsts));
		json_put(o, "launch_ns", json_ns(k->overhead));
		json_put(o, "queue_p50_ns", json_ns(k->queue_p50));
		json_put(o, "queue_total_ns", json_ns(k->queue));
		json_put(o, "queue_count",
		         isfinite(k->queue) ? json_count(k->queued) : json_null());
		out_json_put_gpu_time(o, &k->gpu);
		json_put(o, "launch_per_gpu", json_share(k->overhead / k->gpu.total));
		json_put(o, "gpu_share", json_share(k->gpu.total / m->gpu.all.total));
		json_put(o, "window_share", json_share(k->gpu.total / m->window));
		json_put(o, "shapes", k->shapes ? json_count(k->shapes) : json_null());
		json_put(o, "grid", k->most.launches ? json_triple(k->most.grid) : json_null());
		json_put(o, "block", k->most.launches ? json_triple(k->most.block) : json_null());
		json_put(o, "shared_bytes",
		         k->most.launches ? json_count(k->most.shared_bytes) : json_null());
		put_facts(o, &k->most);
		json_push(list, o);
	}
	return list;
}

json_t *out_json_copies(const struct model *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->copy_count; i++) {
		const struct model_copy *c = &m->copies[i];
		json_t *o = json_object();
		json_put(o, "direction", json_text(model_direction_names[c->direction]));
		json_put(o, "host_memory", json_text(model_memory_names[c->memory]));
		json_put(o, "async", json_boolean(c->async));
		json_put(o, "count", out_json_count(m, c->count));
		json_put(o, "bytes", out_json_count(m, c->bytes));
		json_put(o, "api_total_ns", json_ns(c->total));
		json_put(o, "api_max_ns", json_ns(c->max));
		out_json_put_gpu_time(o, &c->gpu);
		json_put(o, "gpu_bytes_per_s", json_share(c->timed_bytes / c->gpu.total * 1e9));
		json_push(list, o);
	}
	return list;
}

/* The kinds of nodes that a graph has most of. */
#define GRAPH_PARTS_MOST 32u

static json_t *graph_kernel(const struct model *m, const struct model_graph *g,
                            const struct model_graph_part *part)
{
	double share = model_graph_share(m, g, part);
	json_t *o = json_object();

	json_put(o, "name", json_text(part->kernel));
	json_put(o, "grid", json_triple(part->grid));
	json_put(o, "block", json_triple(part->block));
	json_put(o, "shared_bytes", json_count(part->shared_bytes));
	json_put(o, "nodes", json_count(part->nodes));
	json_put(o, "launches",
	         g->nodes_changed ? json_null()
	                          : json_count(model_times(part->nodes, g->launches)));
	json_put(o, "gpu_share_estimated", json_share(share));
	json_put(o, "gpu_total_ns_estimated", json_ns(share * g->gpu.total));
	return o;
}

static void put_nodes(json_t *o, const struct model *m, const struct model_graph *g)
{
	static const char *const counts[TF_NODES_KINDS] = {
	        [TF_NODES_KERNEL] = "kernel_nodes", [TF_NODES_COPY] = "copy_nodes",
	        [TF_NODES_SET] = "set_nodes",       [TF_NODES_HOST] = "host_nodes",
	        [TF_NODES_OTHER] = "other_nodes",   [TF_NODES_CONDITIONAL] = "conditional_nodes"};
	uint64_t sums[TF_NODES_KINDS] = {0}, bytes = 0, kinds = 0;
	json_t *list = json_array();

	for (size_t i = 0; i < g->part_count; i++) {
		const struct model_graph_part *part = &m->graph_parts[g->parts + i];
		sums[part->kind] += part->nodes;
		bytes += part->kind == TF_NODES_COPY ? part->bytes : 0;
		if (part->kind == TF_NODES_KERNEL && kinds++ < GRAPH_PARTS_MOST)
			json_push(list, graph_kernel(m, g, part));
	}
	json_put(o, "nodes", g->nodes_known ? json_count(g->nodes) : json_null());
	json_put(o, "nodes_complete",
	         g->nodes_known ? json_boolean(!g->nodes_in_part) : json_null());
	json_put(o, "nodes_changed", g->nodes_known ? json_boolean(g->nodes_changed) : json_null());
	for (unsigned i = TF_NODES_KERNEL; i < TF_NODES_KINDS; i++)
		json_put(o, counts[i], g->nodes_known ? json_count(sums[i]) : json_null());
	json_put(o, "copy_bytes", g->nodes_known ? json_count(bytes) : json_null());
	json_put(o, "kernel_kinds", g->nodes_known ? json_count(kinds) : json_null());
	json_put(o, "kernels", list);
}

json_t *out_json_graphs(const struct model *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->graph_count; i++) {
		const struct model_graph *g = &m->graphs[i];
		char *id = alloc_format("%#llx", (unsigned long long)g->handle);
		json_t *o = json_object();
		json_put(o, "id", json_text(id));
		json_put(o, "pid", json_count(g->pid));
		json_put(o, "launches", out_json_count(m, g->launches));
		json_put(o, "api_total_ns", json_ns(g->total));
		json_put(o, "instantiate_ns", json_ns(g->instantiate));
		out_json_put_gpu_time(o, &g->gpu);
		json_put(o, "updates", out_json_count(m, g->updates));
		json_put(o, "alive", json_boolean(g->alive));
		put_nodes(o, m, g);
		json_push(list, o);
		free(id);
	}
	return list;
}

json_t *out_json_gaps(const struct model *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->gap_count; i++) {
		const struct model_uncovered *g = &m->gaps[i];
		json_t *o = json_object();
		json_put(o, "kind", json_text(model_gap_name(g->kind)));
		json_put(o, "name", json_text(g->name));
		json_put(o, "version", g->version ? json_count(g->version) : json_null());
		json_put(o, "count", json_count(g->count));
		json_push(list, o);
	}
	return list;
}
