/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/progress.h"
#include "report/events/events_internal.h"
#include "shim/core/work/work_class.h"

#define ROUND   1024u  /* records after which the timeline settles what is certain */
#define YEAR_NS 3.2e16 /* a recording is not longer */

/* ---- the timeline's side ---- */

static uint64_t duration(void *to, uint32_t thread, const struct tf_record *r,
                         const struct tf_work *work, uint64_t ticks, bool *known)
{
	struct events *e = to;
	struct given *g = given_find(&e->givens, TF_CAUSE(thread, r->start));
	const uint32_t cls = work && e->works && work >= e->works && work < e->works + TF_WORKS
	                             ? (uint32_t)(work - e->works)
	                             : EVENTS_NONE;
	const double measured =
	        r->flags & TF_SAMPLED && work ? times_measured(&e->times, work->kind, r) : NAN;
	double ns = measured;

	if (isnan(ns) && !*known && cls != EVENTS_NONE)
		ns = e->times.classes[cls].mean;
	if (!isnan(ns)) {
		ticks = (uint64_t)(ns / e->clock->ns_per_tick);
		*known = true;
	}
	if (g) {
		g->cls = cls;
		g->takes = *known ? ticks : 0;
		g->timed = !isnan(measured) ? EVENTS_BY_EVENTS
		           : *known         ? EVENTS_BY_CLASS
		                            : EVENTS_GUESSED;
	}
	return ticks;
}

static void placed(void *to, const struct timeline_piece *p)
{
	struct events *e = to;
	struct given *g = p->cause ? given_find(&e->givens, p->cause) : NULL;
	struct events_work w = {.start = p->start,
	                        .end = p->end,
	                        .stream = EVENTS_NONE,
	                        .cls = EVENTS_NONE,
	                        .kernel = p->kernel,
	                        .device = p->device,
	                        .kind = p->kind,
	                        .timed = EVENTS_BY_CUPTI,
	                        .node = p->graph_node,
	                        .first = true};

	if (g) {
		if (!g->start)
			g->start = p->start;
		if (!p->last)
			return;
		w.record = &g->r;
		w.number = g->number;
		w.thread = g->thread;
		w.stream = g->stream;
		w.cls = g->cls;
		if (p->estimated) {
			w.start = g->start;
			w.timed = g->timed;
		}
		w.first = !g->placed;
		if (p->kind == TF_WORK_KERNEL && !p->graph_node)
			w.kernel = g->r.launch.kernel;
		g->placed = true;
		g->start = 0;
	} else if (!p->last) {
		return;
	} else if (p->estimated) {
		w.timed = EVENTS_BY_CLASS;
	}
	e->figures->works++;
	if (w.timed == EVENTS_BY_CUPTI)
		e->to->work(e->to->to, &w);
	else
		lay_work(e, &w, g ? g->takes : 0);
	/* Activities of CUPTI may tell more of it later. */
	if (g && p->estimated && e->header->gpu_mode != TF_GPU_CUPTI)
		given_end(&e->givens, g);
}

/* ---- opening ---- */

/* Figures that the drain adds to begin anew; the names stay. */
static void forget_figures(struct events *e)
{
	struct tf_header *h = e->header;

	memset(h->host_ticks, 0, sizeof(h->host_ticks));
	memset(h->devices_time, 0, sizeof(h->devices_time));
	h->timeline_upto = h->timeline_unknown = 0;
	h->keep = h->store = 0;
	for (uint32_t i = 0; i < e->recording->threads; i++)
		if (e->threads[i])
			e->threads[i]->nested_ticks = 0;
	for (uint32_t i = 0; e->learns && e->works && i < TF_WORKS; i++) {
		struct tf_work *w = &e->works[i];
		w->count = w->ticks = w->bytes = w->exact_count = 0;
		w->exact_ns = 0;
		memset(w->pairs, 0, sizeof(w->pairs));
		if (w->kind == TF_WORK_COPY)
			w->staged_ns = 0;
	}
	if (e->learns)
		h->weights = 0;
}

struct events *events_open(struct recording *r, const struct clock *clock, uint32_t first)
{
	struct events *e = alloc_zeroed(1, sizeof(*e));
	const double year = YEAR_NS / clock->ns_per_tick;

	e->recording = r;
	e->clock = clock;
	e->header = tf_header(&r->map);
	e->number = first;
	e->works = tf_at(&r->map, e->header->works, TF_WORKS * sizeof(*e->works));
	e->threads = alloc_zeroed((size_t)r->threads + 1, sizeof(struct tf_thread *));
	e->device = alloc_zeroed((size_t)r->threads + 1, sizeof(*e->device));
	e->roles = alloc_zeroed((size_t)r->calls + 1, sizeof(*e->roles));
	for (uint32_t i = 0; i < r->threads; i++)
		e->threads[i] = (struct tf_thread *)recording_thread(r, i);
	e->tick_most = year < 1e18 ? e->header->load + (uint64_t)year : UINT64_MAX / 4;
	events_store_open(&e->store, &r->map);
	times_find(&e->times, r, clock, &e->store);
	givens_start(&e->givens);
	/* All of the run is there, the samples too: what was known when counts. Else what was known
	 * in the end. */
	e->learns = e->store.whole;
	return e;
}

const struct events_class *events_classes(const struct events *e)
{
	return e->times.classes;
}

bool events_stream_is_default(const struct events *e, uint32_t stream)
{
	return stream < EVENTS_STREAMS && e->streams.is_default[stream];
}

uint32_t events_last(const struct events *e)
{
	return e->number;
}

void events_close(struct events *e)
{
	times_end(&e->times);
	givens_end(&e->givens);
	streams_end(&e->streams);
	free(e->threads);
	free(e->device);
	free(e->roles);
	free(e);
}

/* ---- one record ---- */

static uint8_t role_of(struct events *e, uint16_t id, const struct tf_call *call)
{
	char name[sizeof(call->name) + 1] = "";

	if (!e->roles[id]) {
		memcpy(name, call->name, sizeof(call->name));
		e->roles[id] = (uint8_t)(cuda_role_of(name, call->cls) + 1);
	}
	return (uint8_t)(e->roles[id] - 1);
}

/* It gives the GPU work: as the timeline has it. */
static bool works(const struct tf_record *r, uint8_t cls)
{
	const enum tf_work_kind kind = work_kind(cls);

	if (kind == TF_WORK_NONE || r->result || tf_is_part(r) ||
	    r->flags & (TF_CAPTURED | TF_NO_ARGS) || (kind == TF_WORK_GRAPH && !r->graph.handle))
		return false;
	return (kind != TF_WORK_COPY && kind != TF_WORK_SET) ||
	       (r->copy.bytes && r->copy.direction != SPY_DIR_HTOH);
}

static bool can_be(const struct events *e, const struct tf_record *r)
{
	return r->end >= r->start && r->start >= e->header->load && r->end <= e->tick_most;
}

static void reach(struct events *e, const struct tf_record *r)
{
	struct events_figures *f = e->figures;

	if (!f->from)
		f->from = e->store.whole ? r->start : r->end;
	if (r->end > f->until)
		f->until = r->end;
}

static void take_call(struct events *e, const struct tf_record *r)
{
	const struct tf_call *call =
	        r->call < e->recording->calls
	                ? tf_entry(&e->recording->map, &e->header->calls, r->call, sizeof(*call))
	                : NULL;
	struct tf_thread *thread = r->thread < e->recording->threads ? e->threads[r->thread] : NULL;
	struct events_call c = {.record = r, .thread = r->thread, .stream = EVENTS_NONE};

	if (!call || !thread || !can_be(e, r) || call->cls >= SPY_CLASS_COUNT ||
	    e->number == UINT32_MAX - 1) {
		e->figures->left_out++;
		return;
	}
	c.cls = call->cls;
	c.level = call->level;
	c.role = role_of(e, r->call, call);
	c.number = ++e->number;
	c.part = tf_is_part(r);
	if (c.cls == SPY_CLASS_CONTEXT && !r->result && r->arg[0] && r->arg[0] <= TF_DEVICES_TIMED)
		e->device[r->thread] = (uint16_t)(r->arg[0] - 1);
	c.device = e->device[r->thread];
	if (c.role == CUDA_ROLE_STREAM_MADE && !r->result && !(r->flags & TF_NO_ARGS))
		stream_made(&e->streams, r);
	else if (!(r->flags & TF_NO_ARGS) &&
	         (cuda_role_is_on_stream(c.role) || work_kind(c.cls) != TF_WORK_NONE))
		c.stream = stream_of(&e->streams, r, r->thread, c.device);
	c.works = e->header->gpu_mode != TF_GPU_OFF && works(r, c.cls);
	if (c.works) {
		struct given *g = given_add(&e->givens, TF_CAUSE(r->thread, r->start));
		g->r = *r;
		g->number = c.number;
		g->stream = c.stream;
		g->thread = r->thread;
		g->cls = EVENTS_NONE;
		g->timed = EVENTS_GUESSED;
	}
	reach(e, r);
	e->figures->calls++;
	e->to->call(e->to->to, &c);
	drain_feed(&e->drain, thread, r->thread, r);
}

static void take_range(struct events *e, const struct tf_record *r)
{
	const struct events_range range = {.record = r,
	                                   .range = r->thread,
	                                   .thread = r->result > 0 && (uint32_t)r->result <=
	                                                                      e->recording->threads
	                                                     ? (uint32_t)r->result - 1
	                                                     : EVENTS_NONE};

	if (!can_be(e, r) || r->thread >= e->recording->ranges) {
		e->figures->left_out++;
		return;
	}
	e->figures->ranges++;
	if (e->to->range)
		e->to->range(e->to->to, &range);
}

static void take(struct events *e, const struct tf_record *r)
{
	struct tf_thread nobody = {0};

	switch (r->call) {
	case TF_CALL_SAMPLE:
		if (e->learns)
			drain_feed(&e->drain, &nobody, 0, r);
		return;
	case TF_CALL_FACTS:
		return;
	case TF_CALL_ACTIVITY:
		if (can_be(e, r))
			drain_feed_activity(&e->drain, r);
		else
			e->figures->left_out++;
		return;
	case TF_CALL_RANGE:
		take_range(e, r);
		return;
	case TF_CALL_OWN:
		if (r->thread < e->recording->threads && e->threads[r->thread])
			drain_feed(&e->drain, e->threads[r->thread], r->thread, r);
		return;
	default:
		take_call(e, r);
	}
}

void events_tell(struct events *e, const struct events_to *to, struct events_figures *figures)
{
	struct tf_record r;
	uint64_t certain = 0; /* up to which all calls were told */
	uint64_t all = 0;

	*figures = (struct events_figures){.whole = e->store.whole};
	e->to = to;
	e->figures = figures;
	forget_figures(e);
	e->watch = (struct timeline_watch){e, placed, duration};
	e->drain = (struct drain){.map = &e->recording->map,
	                          .timeline = timeline_new(&e->recording->map)};
	if (!e->drain.timeline || !drain_feed_begin(&e->drain))
		alloc_failed();
	timeline_watch(e->drain.timeline, &e->watch);
	if (e->learns)
		timeline_is_first(e->drain.timeline);
	for (unsigned i = 0; i < e->store.parts; i++)
		all += e->store.part[i].count;
	while (events_store_next(&e->store, &r)) {
		take(e, &r);
		if (++figures->records % ROUND)
			continue;
		progress_share(figures->records, all);
		if (certain)
			timeline_advance(e->drain.timeline, certain);
		certain = figures->until;
	}
	timeline_finish(e->drain.timeline);
	lay_rest(e);
	figures->unplaced = givens_unplaced(&e->givens);
	timeline_free(e->drain.timeline);
	drain_end(&e->drain);
}
