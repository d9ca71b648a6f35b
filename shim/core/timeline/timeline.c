/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_ops.h"

#include <math.h>
#include "shim/core/gpu_time/estimate_pinned.h"
#include "shim/core/work/work_class.h"

/* ---- one call ---- */

static enum cuda_role role_of(struct timeline *t, uint16_t call, unsigned cls)
{
	if (!t->roles[call]) {
		const struct tf_call *c =
		        tf_entry(t->map, &tf_header(t->map)->calls, call, sizeof(*c));
		char name[sizeof(c->name) + 1] = "";
		if (c)
			memcpy(name, c->name, sizeof(c->name));
		t->roles[call] = (uint8_t)(cuda_role_of(name, cls) + 1);
	}
	return (enum cuda_role)(t->roles[call] - 1);
}

static unsigned state_of(unsigned cls)
{
	static const uint8_t states[SPY_CLASS_COUNT] = {
	        [SPY_CLASS_LAUNCH] = TF_HOST_LAUNCH,    [SPY_CLASS_GRAPH_LAUNCH] = TF_HOST_LAUNCH,
	        [SPY_CLASS_COPY] = TF_HOST_COPY,        [SPY_CLASS_SET] = TF_HOST_COPY,
	        [SPY_CLASS_SYNC] = TF_HOST_SYNC_USEFUL, [SPY_CLASS_ALLOC] = TF_HOST_ALLOC,
	        [SPY_CLASS_MODULE] = TF_HOST_MODULE,    [SPY_CLASS_STREAM] = TL_HOST_ISSUE,
	        [SPY_CLASS_EVENT] = TL_HOST_ISSUE,      [SPY_CLASS_GRAPH] = TL_HOST_ISSUE,
	        [SPY_CLASS_QUERY] = TL_HOST_ISSUE,      [SPY_CLASS_CONTEXT] = TF_HOST_OTHER,
	        [SPY_CLASS_OTHER] = TF_HOST_OTHER,
	};

	return cls < SPY_CLASS_COUNT ? states[cls] : TF_HOST_OTHER;
}

enum tf_work_kind tl_work_of(const struct tf_record *r, unsigned cls)
{
	enum tf_work_kind kind = work_kind(cls);

	if (kind == TF_WORK_NONE || r->result || tf_is_part(r) ||
	    r->flags & (TF_CAPTURED | TF_NO_ARGS))
		return TF_WORK_NONE;
	if (kind == TF_WORK_GRAPH && !r->graph.handle)
		return TF_WORK_NONE;
	if ((kind == TF_WORK_COPY || kind == TF_WORK_SET) &&
	    (!r->copy.bytes || r->copy.direction == SPY_DIR_HTOH))
		return TF_WORK_NONE;
	return kind;
}

/* What a record says of streams and events. */
static void follow(struct timeline *t, uint32_t thread, const struct tf_record *r,
                   enum cuda_role role)
{
	switch (role) {
	case CUDA_ROLE_STREAM_MADE:
		tl_stream_made(t, r);
		break;
	case CUDA_ROLE_STREAM_GONE:
		tl_stream_gone(t, thread, r);
		break;
	case CUDA_ROLE_EVENT_RECORD:
		tl_event_record(t, thread, r);
		break;
	case CUDA_ROLE_EVENT_WAIT:
		tl_event_wait(t, thread, r);
		break;
	case CUDA_ROLE_EVENT_GONE:
		tl_event_gone(t, r->event.event);
		break;
	case CUDA_ROLE_HOST_FUNCTION:
		tl_host_function(t, thread, r);
		break;
	case CUDA_ROLE_HOST_NODE:
		t->host_functions = true;
		break;
	case CUDA_ROLE_QUERY_STREAM:
	case CUDA_ROLE_QUERY_EVENT:
		tl_query(t, thread, r, role);
		break;
	default:
		break;
	}
}

/* How the call's time divides. */
static struct tl_split divide(struct timeline *t, uint32_t thread, const struct tf_record *r,
                              unsigned cls, struct tf_work *work, enum cuda_role role)
{
	unsigned state = state_of(cls);

	switch (cls) {
	case SPY_CLASS_SYNC:
		return (struct tl_split){tl_sync(t, thread, r, role), TF_HOST_SYNC_USEFUL,
		                         TF_HOST_SYNC_WASTED};
	case SPY_CLASS_LAUNCH:
	case SPY_CLASS_GRAPH_LAUNCH:
		return tl_launch(t, thread, r);
	case SPY_CLASS_SET:
		if (r->flags & TF_NO_ARGS || !cuda_set_holds(cuda_copy_of(r)))
			return tl_submit(t, thread, r, TF_WORK_SET, &t->call_typical[r->call]);
		/* fall through */
	case SPY_CLASS_COPY:
	case SPY_CLASS_ALLOC:
	case SPY_CLASS_MODULE:
		return tl_implicit(t, thread, r, cls, state, work, role);
	default:
		return (struct tl_split){r->start, (uint8_t)state, (uint8_t)state};
	}
}

static void nested(struct timeline *t, uint32_t thread, const struct tf_record *r,
                   struct tl_split split)
{
	if (split.at > r->start)
		tl_nested(t, thread, r->start, tl_min(split.at, r->end), split.before);
	if (split.at < r->end)
		tl_nested(t, thread, tl_max(split.at, r->start), r->end, split.after);
}

/* A wait's time, at the site that it was made from. */
static void tell_site(struct timeline *t, const struct tf_record *r, struct tl_split split)
{
	struct tf_sites *area = tf_at(t->map, tf_header(t->map)->sites, sizeof(*area));
	uint32_t number = tf_site_of(r);
	struct tf_site *site =
	        area && number ? tf_entry(t->map, &area->sites, number - 1, sizeof(*site)) : NULL;

	if (!site)
		return;
	uint64_t until = tl_min(tl_max(split.at, r->start), r->end);
	site->useful_ticks += until - r->start;
	site->wasted_ticks += r->end - until;
}

void tl_take(struct timeline *t, uint32_t thread, const struct tf_record *r, unsigned cls,
             struct tf_work *work, struct tl_delayed *exact)
{
	struct tl_thread *th = &t->threads[thread];

	if (cls == TIMELINE_OWN) {
		tl_own(t, thread, r->start, r->end);
		return;
	}
	enum cuda_role role = role_of(t, r->call, cls);
	enum tf_work_kind kind = tl_work_of(r, cls);
	if (cls == SPY_CLASS_CONTEXT && !r->result && r->arg[0] && r->arg[0] <= TF_DEVICES_TIMED)
		th->device = (uint16_t)(r->arg[0] - 1);
	if (t->mode != TF_GPU_OFF)
		follow(t, thread, r, role);
	struct tl_split split = divide(t, thread, r, cls, work, role);
	tl_called(t, thread, r->end);
	if (r->flags & TF_NESTED) {
		nested(t, thread, r, split);
		if (kind != TF_WORK_NONE && t->mode != TF_GPU_OFF)
			tl_issue(t, thread, r, kind, work, exact, split.at);
		return;
	}
	if (cls == SPY_CLASS_SYNC && r->flags & TF_SITE)
		tell_site(t, r, split);
	if (cls == SPY_CLASS_LAUNCH && r->flags & TF_FIRST) {
		struct tf_thread *figures = tl_thread_of(t, thread);
		if (figures)
			figures->first_ticks += r->end - r->start;
	}
	if (kind != TF_WORK_NONE && t->mode != TF_GPU_OFF)
		tl_issue(t, thread, r, kind, work, exact, split.at);
	tl_spent(t, thread, r->start, r->end, split);
	if (kind != TF_WORK_NONE)
		tl_host(t, thread, r->end);
	else if (!t->host_issued)
		t->host_thread = thread;
}

void timeline_call(struct timeline *t, uint32_t thread, const struct tf_record *r, unsigned cls,
                   struct tf_work *work)
{
	const struct tf_header *h = tf_header(t->map);

	if (!t->window)
		tl_find_window(t);
	if (h->exit_return && r->start >= h->exit_return && r->result == TF_TOO_LATE)
		return; /* no part of the window */
	bool taken = t->window && r->end >= r->start && r->end < TL_TICKS_MOST / 2 &&
	             thread < TL_THREADS && cls <= TIMELINE_OWN;
	if (!taken || (r->flags & TF_NO_ARGS && work_kind(cls) && !r->result && !tf_is_part(r)))
		tf_header(t->map)->timeline_unknown++;
	if (!taken)
		return;
	t->seen = tl_max(t->seen, r->end);
	if (t->mode == TF_GPU_CUPTI)
		tl_exact_call(t, thread, r, cls, work);
	else
		tl_take(t, thread, r, cls, work, NULL);
}

void timeline_sample(struct timeline *t, const struct tf_work *work)
{
	bool known;

	t->version++;
	if (work->kind == TF_WORK_EMPTY || work->kind == TF_WORK_NULL) {
		t->costs_due = true;
		t->calibrated |= work->id < 64 ? 1ull << work->id : 0;
	} else if (estimate_tells_bus(work)) {
		t->costs_due = t->copies_timed = true;
	}
	if (work->kind != TF_WORK_KERNEL)
		return;
	uint64_t ticks = tl_duration(t, work, &known);
	struct tl_mean *m = &t->means[work->id % TL_KERNELS];
	if (!known)
		return;
	if (m->kernel != work->id)
		*m = (struct tl_mean){.kernel = work->id};
	if (m->count < UINT32_MAX) {
		m->count++;
		m->sum_ns += (double)ticks / t->ticks_per_ns;
	}
}

/* ---- settling ---- */

static void find_costs(struct timeline *t)
{
	estimate_costs_among(t->map, t->calibrated, t->copies_timed, &t->costs);
	t->costs_version++;
	t->version++;
	t->costs_due = false;
}

void tl_look_at_bus(struct timeline *t)
{
	for (int i = 0; i < 2; i++)
		if (isnan(t->costs.bus[i].rate) && !isnan(estimate_bus_told(t->map).rate))
			find_costs(t);
}

void timeline_advance(struct timeline *t, uint64_t now)
{
	tl_set_rate(t);
	if (t->costs_due)
		find_costs(t);
	tl_look_at_bus(t);
	if (!t->window || t->mode == TF_GPU_OFF)
		return;
	if (t->mode == TF_GPU_CUPTI)
		now = tl_exact_advance(t, now, false);
	now = tl_min(now, t->seen);
	for (unsigned i = 0; i < TF_DEVICES_TIMED; i++)
		if (t->device[i].actives)
			tl_book_streams(t, i, now);
}

/* The return of the last call, lost records and all. */
static uint64_t window_end(struct timeline *t)
{
	uint32_t threads = tf_count(&tf_header(t->map)->threads);
	uint64_t end = t->seen, last_return = tf_header(t->map)->exit_return;

	if (last_return) /* later ones, unless they came too late, are in `seen` */
		return last_return < TL_TICKS_MOST / 2 ? tl_max(end, last_return) : end;
	for (uint32_t i = 0; i < threads && i < TL_THREADS; i++) {
		const struct tf_thread *thread = tl_thread_of(t, i);
		/* Relaxed: an age, as good as any other of this moment. */
		uint64_t last =
		        thread ? __atomic_load_n(&thread->last_return, __ATOMIC_RELAXED) : 0;
		if (last < TL_TICKS_MOST / 2)
			end = tl_max(end, last);
	}
	return end;
}

void timeline_finish(struct timeline *t)
{
	if (!t->window)
		tl_find_window(t);
	if (!t->window)
		return;
	uint64_t end = t->seen = window_end(t);
	if (t->mode == TF_GPU_CUPTI)
		tl_exact_advance(t, end, true);
	timeline_advance(t, end);
	if (t->watch && t->mode == TF_GPU_CUPTI)
		tl_tell_exact_rest(t);
	else if (t->watch)
		tl_tell_rest(t);
	if (end > t->host_until)
		tl_host(t, t->host_thread, end);
	for (unsigned i = 0; i < TF_DEVICES_TIMED; i++)
		if (tf_header(t->map)->devices_time[i]) {
			tl_device(t, i);
			tl_book_rest(t, i, end);
		}
}
