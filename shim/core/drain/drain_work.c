/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of work, counted in their classes, kernels and graphs. */
#include "shim/core/drain/drain_inside.h"
#include "shim/core/work/work_class.h"

#define KERNEL_HISTS 4096u /* kernels with a histogram of their own: bounds what they cost */

static void count_anomaly(struct drain *d, enum spy_anomaly what)
{
	tf_header(d->map)->anomaly[what]++;
}

/* Counts a piece of work in its class; NULL when that found no place. */
static struct tf_work *feed_work(struct drain *d, const struct tf_record *r, enum tf_work_kind kind)
{
	bool nothing = kind == TF_WORK_COPY && r->copy.direction == SPY_DIR_HTOH;
	struct tf_work key;

	if (!nothing)
		feed_first(d, r->start);
	work_key(&key, kind, r);
	struct tf_work *w = work_find(d->map, &key);
	if (!w) {
		count_anomaly(d, SPY_ANOMALY_WORKS_FULL);
		return NULL;
	}
	if (kind == TF_WORK_KERNEL && !w->count) {
		struct tf_kernel *kernel =
		        tf_entry(d->map, &tf_header(d->map)->kernels, key.id, sizeof(*kernel));
		if (kernel)
			kernel->shapes++;
	}
	w->count++;
	w->ticks += r->end - r->start;
	if (kind == TF_WORK_COPY || kind == TF_WORK_SET)
		w->bytes += r->copy.bytes;
	return w;
}

/* One whose class stands at no place yet. */
static struct tf_work *__attribute__((noinline))
feed_new_launch(struct drain *d, const struct tf_record *r, uint32_t bucket,
                struct feed_launch *place)
{
	struct tf_header *h = tf_header(d->map);
	uint32_t index = r->launch.kernel;

	struct tf_kernel *kernel = tf_entry(d->map, &h->kernels, index, sizeof(*kernel));
	if (!kernel)
		return NULL;
	struct tf_hist *hist = index < KERNEL_HISTS ? feed_hist(d, &kernel->hist) : NULL;
	if (hist)
		hist_add_to(hist, bucket);
	struct tf_work *work = feed_work(d, r, TF_WORK_KERNEL);
	if (work && (hist || index >= KERNEL_HISTS)) {
		memcpy(place->key, r->arg, sizeof(place->key));
		place->work = work;
		place->hist = hist;
		place->symbols = steps_symbols_of(r, SPY_CLASS_LAUNCH);
	}
	return work;
}

/* Launches of what a graph holds, whatever its number. */
static void count_nodes(struct drain *d, const struct tf_record *r)
{
	struct tf_table *nodes = tf_at(d->map, tf_header(d->map)->graph_nodes, sizeof(*nodes));
	struct tf_graph_nodes *all =
	        nodes && r->graph.nodes ? tf_entry(d->map, nodes, r->graph.nodes - 1, sizeof(*all))
	                                : NULL;

	if (all && all->kind == TF_NODES_ALL)
		all->launches++;
}

/* One that gave work. `bucket`: of the call's time in histograms. */
static inline struct tf_work *feed_launch(struct drain *d, const struct tf_record *r,
                                          uint32_t bucket)
{
	struct feed_launch *place = feed_launch_place(d->feed, r);
	if (!feed_is_launch(place, r))
		return feed_new_launch(d, r, bucket, place);
	feed_first(d, r->start);
	place->work->count++;
	place->work->ticks += r->end - r->start;
	if (place->hist)
		hist_add_to(place->hist, bucket);
	return place->work;
}

static void count_graph(struct tf_graph *g, const struct tf_record *r)
{
	if (g->nodes != r->graph.nodes)
		g->nodes |= TF_GRAPH_OTHER_NODES;
	if (!g->launches)
		g->content = r->graph.content;
	else if (g->content != r->graph.content)
		g->content = TF_GRAPH_SEVERAL;
	g->launches++;
	g->sum_ticks += r->end - r->start;
}

/* One that found no place in the table is of a class all the same if its content is known. */
static struct tf_work *feed_graph(struct drain *d, const struct tf_record *r, uint8_t cls)
{
	struct tf_header *h = tf_header(d->map);
	struct tf_graph *graph = tf_entry(d->map, &h->graphs, r->graph.graph, sizeof(*graph));

	if (r->result || !r->graph.handle || (r->flags & (TF_CAPTURED | TF_NO_ARGS)))
		return NULL;
	if (cls == SPY_CLASS_GRAPH_LAUNCH) {
		count_nodes(d, r);
		if (graph)
			count_graph(graph, r);
		return graph || r->graph.content ? feed_work(d, r, TF_WORK_GRAPH) : NULL;
	}
	if (graph && !tf_is_part(r))
		graph->updates++;
	return NULL;
}

struct tf_work *feed_work_of(struct drain *d, const struct tf_record *r, uint8_t cls,
                             uint32_t bucket)
{
	switch (cls) {
	case SPY_CLASS_LAUNCH:
		return r->result || (r->flags & (TF_CAPTURED | TF_NO_ARGS))
		               ? NULL
		               : feed_launch(d, r, bucket);
	case SPY_CLASS_GRAPH_LAUNCH:
	case SPY_CLASS_GRAPH:
		return feed_graph(d, r, cls);
	case SPY_CLASS_COPY:
	case SPY_CLASS_SET:
		if (!r->result && !(r->flags & (TF_CAPTURED | TF_NO_ARGS)))
			return feed_work(d, r, work_kind(cls));
		return NULL;
	default:
		return NULL;
	}
}
