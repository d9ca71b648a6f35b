/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/progress.h"
#include "report/model/events/events_internal.h"
#include "shim/core/format/trace_sites.h"
#include "shim/core/work/work_class.h"

#define ROUND 1024u /* records after which the timeline settles what is certain ... */
/* ... since so many rounds: a full queue shows late what work took, 1,022 pieces behind it. */
#define ROUNDS  8u
#define YEAR_NS 3.2e16 /* a recording is not longer */

/* ---- the timeline's side ---- */

static uint64_t duration(void *to, uint32_t thread, const struct tf_record *r,
                         const struct tf_work *work, uint64_t ticks, bool *known)
{
	struct events *e = to;
	struct events_given *g = given_find(&e->givens, TF_CAUSE(thread, r->start));
	const uint32_t cls = work && e->works && work >= e->works && work < e->works + TF_WORKS
	                             ? (uint32_t)(work - e->works)
	                             : EVENTS_NONE;
	const double measured =
	        r->flags & TF_SAMPLED && work ? times_measured(&e->times, work->kind, r) : NAN;
	double ns = measured;

	if (isnan(ns) && !*known && cls != EVENTS_NONE)
		ns = e->times.classes[cls].mean;
	if (!isnan(ns)) {
		ticks = (uint64_t)(ns / e->clock.ns_per_tick);
		*known = true;
	}
	if (g) {
		g->work.cls = cls;
		g->takes = *known ? ticks : 0;
		g->work.timed = !isnan(measured) ? EVENTS_BY_EVENTS
		                : *known         ? EVENTS_BY_CLASS
		                                 : EVENTS_GUESSED;
	}
	return ticks;
}

static void placed(void *to, const struct timeline_piece *p)
{
	struct events *e = to;
	struct events_given *g = p->cause ? given_find(&e->givens, p->cause) : NULL;
	struct events_work w = {.stream = EVENTS_NONE, .cls = EVENTS_NONE, .graph = EVENTS_NONE};

	if (g) {
		if (!g->start)
			g->start = p->start;
		if (!p->last)
			return;
		w = g->work;
		w.first = !g->placed;
	} else if (!p->last || p->estimated) {
		return; /* ... estimated: told before, it turned out to have lasted longer */
	}
	w.start = g && p->estimated ? g->start : p->start;
	w.end = p->end;
	w.device = p->device;
	if (!g || p->kind != TF_WORK_KERNEL || p->graph_node)
		w.kernel = p->kernel;
	w.kind = p->kind;
	w.node = p->graph_node;
	w.timed = !p->estimated ? EVENTS_BY_CUPTI : g ? g->work.timed : EVENTS_BY_CLASS;
	if (g) {
		g->placed = true;
		g->start = 0;
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

static struct events *start(struct events *e, struct recording *r, uint32_t first)
{
	e->recording = r;
	clock_init(&e->clock, r);
	const double year = YEAR_NS / e->clock.ns_per_tick;
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
	if (isfinite(e->clock.ns_per_tick))
		times_find(&e->times, r, &e->clock, &e->store);
	givens_start(&e->givens);
	/* All of the run is there, the samples too: what was known when counts. Else what was known
	 * in the end. */
	e->learns = e->store.whole;
	return e;
}

struct events *events_of(struct recording *r, uint32_t first)
{
	return start(alloc_zeroed(1, sizeof(struct events)), r, first);
}

struct events *events_open(const char *path, uint32_t first)
{
	struct events *e = alloc_zeroed(1, sizeof(*e));
	char error[READER_ERROR_BYTES];

	/* It was read before: what is told is how much of the records is done. */
	progress_part_begin(0, 0, 1);
	int rc = recording_open(&e->own, path, &e->warnings, error);
	progress_part_end();
	if (!rc)
		return start(e, &e->own, first);
	complain("%s: %s", path, error);
	warnings_free(&e->warnings);
	free(e);
	return NULL;
}

int events_close(struct events *e)
{
	const bool own = e->recording == &e->own, shrank = own && recording_shrank(&e->own);

	if (shrank)
		complain("%s: it became shorter while it was read", e->own.path);
	times_end(&e->times);
	givens_end(&e->givens);
	streams_end(&e->streams);
	clock_free(&e->clock);
	if (own)
		recording_close(&e->own);
	warnings_free(&e->warnings);
	free(e->threads);
	free(e->device);
	free(e->roles);
	free(e);
	return shrank ? -1 : 0;
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

static void find_args(struct events_call *c, const struct tf_record *r)
{
	if (c->cls == SPY_CLASS_COPY || c->cls == SPY_CLASS_SET)
		c->bytes = r->copy.bytes;
	if (c->cls == SPY_CLASS_ALLOC)
		c->bytes = r->alloc.bytes;
	if (c->role == CUDA_ROLE_EVENT_RECORD || c->role == CUDA_ROLE_EVENT_WAIT ||
	    c->role == CUDA_ROLE_SYNC_EVENT)
		c->event = r->event.event;
}

/* What the GPU was given, until it is known when it ran. */
static void give(struct events *e, const struct events_call *c, const struct tf_record *r)
{
	struct events_given *g = given_add(&e->givens, TF_CAUSE(r->thread, r->start));
	struct events_work *w = &g->work;

	*w = (struct events_work){.given = r->start,
	                          .returned = r->end,
	                          .number = c->number,
	                          .stream = c->stream,
	                          .site = c->site,
	                          .thread = r->thread,
	                          .graph = EVENTS_NONE,
	                          .cls = EVENTS_NONE,
	                          .timed = EVENTS_GUESSED,
	                          .known = true};
	switch (work_kind(c->cls)) {
	case TF_WORK_GRAPH:
		w->graph = r->graph.graph;
		break;
	case TF_WORK_COPY:
	case TF_WORK_SET:
		w->bytes = r->copy.bytes;
		w->items = r->copy.items;
		w->direction = r->copy.direction;
		w->memory = r->copy.memory;
		break;
	default:
		w->kernel = r->launch.kernel;
	}
}

static void take_call(struct events *e, const struct tf_record *r)
{
	const struct tf_call *call =
	        r->call < e->recording->calls
	                ? tf_entry(&e->recording->map, &e->header->calls, r->call, sizeof(*call))
	                : NULL;
	struct tf_thread *thread = r->thread < e->recording->threads ? e->threads[r->thread] : NULL;
	struct events_call c = {.start = r->start,
	                        .end = r->end,
	                        .name = r->call,
	                        .thread = r->thread,
	                        .stream = EVENTS_NONE,
	                        .result = r->result,
	                        .site = tf_site_of(r),
	                        .args = !(r->flags & TF_NO_ARGS),
	                        .captured = r->flags & TF_CAPTURED,
	                        .nested = r->flags & TF_NESTED,
	                        .part = tf_is_part(r)};

	if (!call || !thread || !can_be(e, r) || call->cls >= SPY_CLASS_COUNT ||
	    e->number == UINT32_MAX - 1) {
		e->figures->left_out++;
		return;
	}
	c.cls = call->cls;
	c.level = call->level;
	c.role = role_of(e, r->call, call);
	c.number = ++e->number;
	if (c.args)
		find_args(&c, r);
	if (c.cls == SPY_CLASS_CONTEXT && !r->result && r->arg[0] && r->arg[0] <= TF_DEVICES_TIMED)
		e->device[r->thread] = (uint16_t)(r->arg[0] - 1);
	c.device = e->device[r->thread];
	if (c.role == CUDA_ROLE_STREAM_MADE && !r->result && c.args)
		stream_made(&e->streams, r);
	else if (c.args && (cuda_role_is_on_stream(c.role) || work_kind(c.cls) != TF_WORK_NONE))
		c.stream = stream_of(&e->streams, r, r->thread, c.device);
	c.works = e->header->gpu_mode != TF_GPU_OFF && works(r, c.cls);
	if (c.works)
		give(e, &c, r);
	reach(e, r);
	e->figures->calls += !c.part;
	e->to->call(e->to->to, &c);
	drain_feed(&e->drain, thread, r->thread, r);
}

static void take_range(struct events *e, const struct tf_record *r)
{
	const bool known = r->result > 0 && (uint32_t)r->result <= e->recording->threads;
	const struct events_range range = {.start = r->start,
	                                   .end = r->end,
	                                   .name = r->thread,
	                                   .thread = known ? (uint32_t)r->result - 1 : EVENTS_NONE,
	                                   .started = r->flags & TF_RANGE_STARTED};

	if (!can_be(e, r) || r->thread >= e->recording->ranges) {
		e->figures->left_out++;
		return;
	}
	e->figures->ranges++;
	if (e->to->range)
		e->to->range(e->to->to, &range);
}

/* A large structure: not to be cleared for each record. */
static void __attribute__((noinline)) take_sample(struct events *e, const struct tf_record *r)
{
	struct tf_thread nobody = {0};

	drain_feed(&e->drain, &nobody, 0, r);
}

static void take(struct events *e, const struct tf_record *r)
{
	switch (r->call) {
	case TF_CALL_SAMPLE:
		if (e->learns)
			take_sample(e, r);
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

void events_latest(struct events *e, uint64_t records)
{
	if (!events_store_latest(&e->store, records))
		return;
	e->store.whole = e->learns = false;
}

void events_tell(struct events *e, const struct events_to *to, struct events_figures *figures)
{
	struct tf_record r;
	uint64_t certain[ROUNDS] = {0}; /* up to which all calls were told, by round */
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
		uint64_t *oldest = &certain[figures->records / ROUND % ROUNDS];
		timeline_advance(e->drain.timeline, *oldest); /* with what is known of times too */
		*oldest = figures->until;
	}
	timeline_finish(e->drain.timeline);
	lay_rest(e);
	figures->unplaced = givens_unplaced(&e->givens);
	timeline_free(e->drain.timeline);
	drain_end(&e->drain);
}
