/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/call_log_internal.h"
#include "report/model/model_gpu_pairs.h"
#include "report/model/phases.h"
#include "shim/core/gpu_time/gpu_kinds.h"

#define STORE_PAGE_MOST (1u << 24) /* records */
/* On a kind of GPU that was measured single classes are within 250 ns of CUPTI's or 1 %, nine of
 * ten, and all work of eight programs of short kernels within 60 ns a piece: docs/MEASURED.md. */
#define OFF_APART 0.7

/* ---- the records that a recording keeps ---- */

struct store {
	const struct tf_map *map;
	const struct tf_store *s;
	uint64_t page, room, written; /* records */
};

static bool store_open(struct store *to, const struct tf_map *map, uint64_t offset)
{
	const struct tf_store *s = offset ? tf_at(map, offset, sizeof(*s)) : NULL;

	*to = (struct store){.map = map, .s = s};
	if (!s || !s->page_records || s->page_records > STORE_PAGE_MOST)
		return false;
	to->page = s->page_records;
	to->room = to->page * (s->pages_max < TF_STORE_PAGES ? s->pages_max : TF_STORE_PAGES);
	/* Acquire: records below it are complete. Pairs with the drain's store. */
	to->written = __atomic_load_n(&s->written, __ATOMIC_ACQUIRE);
	return to->room != 0;
}

/* What stands at a place; false where nothing ever did. */
static bool store_read(const struct store *s, uint64_t place, struct tf_record *to)
{
	uint64_t page = s->s->pages[place / s->page];
	const struct tf_record *r =
	        page && page < 1ull << 62
	                ? tf_at(s->map, page + place % s->page * sizeof(*r), sizeof(*r))
	                : NULL;

	if (!r)
		return false;
	*to = *r;
	return to->start || to->end;
}

/* ---- taking them ---- */

struct taking {
	const struct model_part *part;
	struct call_log *call_log;
	uint64_t most; /* records; room below is for so many */
	struct call_log_taken *taken;
	size_t count;
	struct nested_sums {
		double sync, alloc, module, ours;
		uint64_t since; /* tick: start of the first nested one */
	} * nested;             /* by thread: of what is nested, and ours, of a call to come */
	struct tf_record *activities;
	size_t activity_count;
	uint64_t first_end; /* of the first call: what ended earlier may be missing; ticks */
};

static uint8_t class_of(const struct model_part *p, uint16_t call)
{
	const struct tf_call *c =
	        call < p->recording->calls
	                ? tf_entry(&p->recording->map, &p->header->calls, call, sizeof(*c))
	                : NULL;

	return c && c->cls < SPY_CLASS_COUNT ? c->cls : SPY_CLASS_COUNT;
}

static void take_nested(struct taking *t, const struct tf_record *r, uint8_t cls)
{
	struct nested_sums *n = &t->nested[r->thread];
	double ns = clock_ns(&t->part->clock, r->end - r->start);

	if (!n->since)
		n->since = r->start;
	if (cls == SPY_CLASS_SYNC)
		n->sync += ns;
	else if (cls == SPY_CLASS_ALLOC)
		n->alloc += ns;
	else if (cls == SPY_CLASS_MODULE)
		n->module += ns;
}

/* The record of a call, if it can be one: its times are within the window. */
static bool is_call(const struct taking *t, const struct tf_record *r, uint8_t cls)
{
	const struct model_part *p = t->part;

	return cls < SPY_CLASS_COUNT && r->thread < p->recording->threads &&
	       r->start >= p->window_start && r->end >= r->start && r->end <= p->window_end;
}

static void take(struct taking *t, const struct tf_record *r)
{
	uint8_t cls;

	if (t->call_log->records == t->most)
		return;
	t->call_log->records++;
	if (r->call == TF_CALL_ACTIVITY) {
		if (t->part->header->gpu_mode == TF_GPU_CUPTI && r->end >= r->start && r->stream)
			t->activities[t->activity_count++] = *r;
		return;
	}
	if (r->call == TF_CALL_OWN) {
		if (is_call(t, r, 0))
			t->nested[r->thread].ours += clock_ns(&t->part->clock, r->end - r->start);
		return;
	}
	cls = class_of(t->part, r->call);
	if (!is_call(t, r, cls))
		return;
	if (!t->first_end)
		t->first_end = r->end;
	if (r->flags & TF_NESTED) {
		take_nested(t, r, cls);
		return;
	}
	struct nested_sums *n = &t->nested[r->thread];
	bool inside = n->since >= r->start;
	t->taken[t->count] = (struct call_log_taken){
	        .r = *r,
	        .nested_sync = inside ? (float)n->sync : 0,
	        .nested_alloc = inside ? (float)n->alloc : 0,
	        .nested_module = inside ? (float)n->module : 0,
	        .ours = (float)n->ours,
	        .order = (uint32_t)t->count,
	};
	t->count++;
	*n = (struct nested_sums){0};
}

/* The last `most` records of a store, oldest first. True where these are all it ever had. */
static bool take_store(struct taking *t, const struct store *s, uint64_t most)
{
	uint64_t places = s->room < most ? s->room : most;
	struct tf_record r;

	/* Behind the newest stands the oldest, or nothing yet. */
	for (uint64_t i = 0; i < places; i++)
		if (store_read(s, (s->written % s->room + (s->room - places) + i) % s->room, &r))
			take(t, &r);
	return s->written <= places && (s->written == s->room || !store_read(s, s->room - 1, &r));
}

/* Both stores, `keep` behind the trace. True where nothing is missing before. */
static bool take_all(struct taking *t)
{
	const uint64_t most = t->most;
	const struct tf_header *h = t->part->header;
	struct store trace, keep;
	bool traced = store_open(&trace, &t->part->recording->map, h->store) && trace.written;
	bool kept = store_open(&keep, &t->part->recording->map, h->keep) && keep.written;
	bool whole = true;

	if (traced && (!kept || keep.written < keep.room) && (!kept || keep.written < most)) {
		if (trace.written < trace.room) /* the rest of it is still empty */
			trace.room = trace.written;
		trace.written = trace.room;
		whole = take_store(t, &trace, most - (kept ? keep.written : 0));
	} else if (traced) {
		whole = false;
	}
	if (kept)
		whole &= take_store(t, &keep, most);
	return whole;
}

static int by_start(const void *a, const void *b)
{
	const struct call_log_taken *x = a, *y = b;

	if (x->r.start != y->r.start)
		return x->r.start < y->r.start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* ---- what they cover ---- */

/* Over the slices that lie in [from, up to), ns since load. */
static double cpu_wait(const struct overview *p, double from, double until)
{
	double wait = 0, known = 0;

	for (size_t i = 0; p->cpu_known && i < p->count; i++) {
		double start = p->origin + (double)i * p->width;
		if (start < from || start + p->width > until)
			continue;
		wait += p->cpu_wait[i];
		known += p->cpu_known[i];
	}
	return known > 0 ? wait / known : NAN;
}

static void find_cover(struct call_log *h, const struct taking *t, bool whole)
{
	const struct model_part *p = t->part;
	const struct tf_header *header = p->header;
	uint64_t from = whole || !t->first_end ? p->window_start : t->first_end, until = from;
	size_t first, slices;

	for (size_t i = 0; i < t->count; i++)
		if (t->taken[i].r.end > until)
			until = t->taken[i].r.end;
	if (header->range_mode != TF_RANGE_ALL) { /* outside of it calls are not recorded */
		if (header->range_from > from)
			from = header->range_from;
		if (header->range_to && header->range_to < until)
			until = header->range_to;
	}
	h->window = p->process->window;
	h->from = clock_between(&p->clock, p->window_start, from);
	h->until = fmax(h->from, clock_between(&p->clock, p->window_start, until));
	h->whole = whole && h->from <= 0;
	const struct overview *overview = &p->process->overview;
	if (overview->count && overview->host) {
		double ends = phases_startup(overview) - overview->window;
		if (ends > 0)
			h->steady = fmin(ends, h->window);
		slices = phases_teardown(overview, &first);
		ends = overview->origin + (double)first * overview->width - overview->window;
		if (slices && ends > h->steady && ends < h->window)
			h->window = ends;
		h->until = fmin(h->until, h->window);
		h->cpu_wait = cpu_wait(overview, overview->window + h->steady,
		                       overview->window + h->window);
	}
	double most = h->judged = h->window - h->steady;
	h->coverage = most > 0 ? fmax(0, h->until - fmax(h->from, h->steady)) / most : NAN;
	if (h->coverage > 1)
		h->coverage = 1;
}

/* Those that began before all are there are left out. */
static void drop_early(struct taking *t, uint64_t from)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++)
		if (t->taken[i].r.start >= from)
			t->taken[kept++] = t->taken[i];
	t->count = kept;
}

/* CUPTI's records find their calls. */
static void add_activities(struct call_log *h, const struct taking *t)
{
	struct call_log_numbers causes = {0};

	if (!t->activity_count)
		return;
	for (size_t i = 0; i < t->count; i++)
		number_put(&causes, TF_CAUSE(t->taken[i].r.thread, t->taken[i].r.start),
		           (uint32_t)i);
	for (size_t i = 0; i < t->activity_count; i++)
		call_log_exact(h, t->part, &causes, &t->activities[i]);
	number_free(&causes);
	call_log_disbelieve(h);
}

/* Records that may be taken of this process, with what the ones before it left. */
static uint64_t records_most(const struct model *m, const struct recording *r)
{
	uint64_t used = 0, room = tf_bytes(&r->map) / sizeof(struct tf_record);

	for (size_t i = 0; i < m->process_count; i++)
		used += m->processes[i].call_log.records;
	uint64_t left = used < CALL_LOG_ALL ? CALL_LOG_ALL - used : 0;
	uint64_t most = left < CALL_LOG_RECORDS ? left : CALL_LOG_RECORDS;
	return most < room ? most : room;
}

/* Calls behind the window go, and what is behind it of one that began before: freeing at the end
 * can take long, and would seem to be worth saving. */
static void leave_teardown(struct call_log *h)
{
	h->count = call_log_at(h, h->window);
	for (size_t i = 0; i < h->count; i++)
		h->call_events[i].end = fmin(h->call_events[i].end, h->window);
}

/* On a kind of GPU that nobody measured all classes are off by what a pair costs there. */
static double off_apart(const struct model_part *p)
{
	return gpu_kind_of(&p->recording->map).source == GPU_UNMEASURED ? 0 : OFF_APART;
}

void model_add_call_log(struct model_part *p)
{
	struct call_log *h = &p->process->call_log;
	uint64_t most = records_most(p->model, p->recording);
	struct taking t = {.part = p, .call_log = h, .most = most};

	*h = (struct call_log){.window = NAN, .judged = NAN, .coverage = NAN, .cpu_wait = NAN};
	h->per_call = p->process->per_call;
	h->off_apart = off_apart(p);
	h->lost = p->process->lost || p->process->lost_calls;
	h->all = p->process->calls;
	if (!p->window_start || !most || !(p->clock.ns_per_tick > 0) ||
	    !(p->process->window >= 0 && p->process->window < 1e18)) {
		call_log_make(h, p, NULL, 0);
		return;
	}
	t.taken = alloc_zeroed(most, sizeof(*t.taken));
	t.activities = p->header->gpu_mode == TF_GPU_CUPTI
	                       ? alloc_zeroed(most, sizeof(*t.activities))
	                       : NULL;
	t.nested = alloc_zeroed(p->recording->threads, sizeof(*t.nested));
	bool whole = take_all(&t);
	if (!whole)
		drop_early(&t, t.first_end);
	find_cover(h, &t, whole);
	if (t.count)
		qsort(t.taken, t.count, sizeof(*t.taken), by_start);
	call_log_make(h, p, t.taken, t.count);
	add_activities(h, &t);
	leave_teardown(h);
	free(t.taken);
	free(t.activities);
	free(t.nested);
}

void call_log_free(struct call_log *h)
{
	free(h->call_events);
	free(h->calls);
	free(h->threads);
	free(h->streams);
	free(h->works);
	*h = (struct call_log){0};
}

size_t call_log_at(const struct call_log *h, double ns)
{
	size_t low = 0, high = h->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (h->call_events[middle].start >= ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

size_t call_log_steady(const struct call_log *h)
{
	return call_log_at(h, fmax(h->from, h->steady));
}
