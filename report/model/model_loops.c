/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/model/model_internal.h"

static char *marker_name(const struct model_part *p, uint8_t cls, uint64_t marker)
{
	const struct tf_map *map = &p->recording->map;
	uint32_t id = marker < UINT32_MAX ? (uint32_t)marker : UINT32_MAX, bytes;

	if (cls == SPY_CLASS_LAUNCH && id < p->recording->kernels) {
		const struct tf_kernel *k = tf_entry(map, &p->header->kernels, id, sizeof(*k));
		const char *text = k ? tf_text(map, k->name, &bytes) : NULL;
		return text && bytes < 4096 ? name_demangle(text, bytes) : NULL;
	}
	if (cls == SPY_CLASS_SYNC && id < p->recording->calls) {
		const struct tf_call *c = tf_entry(map, &p->header->calls, id, sizeof(*c));
		return c ? model_text(c->name, sizeof(c->name)) : NULL;
	}
	const char *what = cls == SPY_CLASS_GRAPH_LAUNCH ? "a graph's launch"
	                   : cls == SPY_CLASS_COPY       ? "a copy"
	                   : cls == SPY_CLASS_SET        ? "a memset"
	                   : cls == SPY_CLASS_OTHER      ? "a longer time without calls"
	                                                 : NULL;
	return alloc_string(what);
}

/* Within the window, one behind the other. */
static void add_stretches(const struct model_part *p, struct model_loop *to,
                          const struct tf_loop *from)
{
	uint32_t count = from->episodes < TF_EPISODES ? from->episodes : TF_EPISODES;
	double window = p->process->window, last = 0;

	to->stretches = alloc_zeroed(count + 1u, sizeof(*to->stretches));
	for (uint32_t i = 0; i < count && p->window_start; i++) {
		const struct tf_episode *e = &from->episode[i];
		double start = clock_between(&p->clock, p->window_start, e->start),
		       end = clock_between(&p->clock, p->window_start, e->end);
		start = fmax(start, last);
		end = fmin(end, window);
		if (!(end > start) || !e->steps)
			continue;
		to->stretches[to->stretch_count++] =
		        (struct model_stretch){start, end, (double)e->steps};
		last = end;
	}
}

static void add_levels(const struct model_part *p, struct model_loop *to,
                       const struct tf_loop *from)
{
	to->level_count = from->levels < TF_LEVELS ? from->levels : TF_LEVELS;
	to->step_level = from->step_level;
	if (!to->level_count) { /* the steps are the only one that is known */
		to->level_count = 1;
		to->step_level = 0;
		to->levels[0] = (struct model_level){.marker = alloc_string(to->marker),
		                                     .cls = to->cls,
		                                     .anchors = to->anchors,
		                                     .seen = (double)to->steps,
		                                     .events = to->events};
		return;
	}
	for (unsigned i = 0; i < to->level_count; i++) {
		const struct tf_level *l = &from->level[i];
		to->levels[i] = (struct model_level){
		        .marker = marker_name(p, l->cls, l->marker),
		        .cls = l->cls,
		        .anchors = l->anchors,
		        .seen = (double)l->seen,
		        .events = (double)l->events_x1000 / 1000,
		};
	}
}

void model_add_loop(struct model_part *p, const struct tf_loop *from)
{
	struct model *m = p->model;
	const struct tf_counts *c = &from->counts;
	const struct tf_hist *hist =
	        from->hist ? tf_at(&p->recording->map, from->hist, sizeof(*hist)) : NULL;
	const struct tf_thread *thread =
	        from->thread == TF_LOOP_ALL ? NULL : recording_thread(p->recording, from->thread);
	struct model_spread spread = {0};
	double steps = (double)from->steps;

	ALLOC_ROOM(m->loops, m->loop_count);
	struct model_loop *to = &m->loops[m->loop_count++];
	*to = (struct model_loop){
	        .process = p->process_index,
	        .tid = thread ? thread->tid : 0,
	        .marker = marker_name(p, from->cls, from->marker),
	        .cls = from->cls,
	        .anchors = from->anchors,
	        .steps = from->steps,
	        .odd = from->odd,
	        .stride = from->stride,
	        .events = steps > 0 ? (double)from->events / steps : 0,
	        .alike = steps > 0 ? fmin(1, (double)from->alike_x1000 / 1000 / steps) : 0,
	        .time = clock_ns(&p->clock, from->ticks),
	        .work = {(double)c->launches, (double)c->graph_launches, (double)c->syncs,
	                 (double)c->copies, (double)c->pageable_copies, (double)c->sets,
	                 (double)c->copy_bytes, (double)c->allocs,
	                 clock_ns(&p->clock, c->launch_ticks), NAN},
	};
	if (hist)
		spread_add(&spread, hist, p->clock.ns_per_tick);
	to->q = spread_quantiles(&spread, INFINITY);
	free(spread.hist);
	add_stretches(p, to, from);
	add_levels(p, to, from);
}

void model_free_loops(struct model *m)
{
	for (size_t i = 0; i < m->loop_count; i++) {
		struct model_loop *l = &m->loops[i];
		for (unsigned k = 0; k < l->level_count; k++)
			free(l->levels[k].marker);
		free(l->marker);
		free(l->stretches);
	}
	free(m->loops);
}
