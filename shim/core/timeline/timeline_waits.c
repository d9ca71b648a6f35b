/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_ops.h"

#include "shim/core/cuda/streams.h"

#define SPREAD      3.0 /* standard deviations that one piece of work may be off its class's mean */
#define LATE_MOST   16u /* work may have lasted so many times the wait beyond its estimated end */
#define LEARN_FIRST 16u /* the first waits, which the latency follows faster */

/* What a call with a staged copy takes before its first is known: so much, and its bytes at so many
 * a ns. */
#define STAGED_CALL_NS 8000.0
#define STAGED_RATE    11.0

#define SHORT_CHAIN_NS   50000.0
#define LONG_WAIT_NS     100000.0 /* of a call that waits for nothing */
#define LATENCY_LEAST_NS 200.0
#define LATENCY_MOST_NS  100000.0

/* ---- what a wait waits for ---- */

struct awaited {
	uint64_t end;       /* of the last op, by estimate; 0 = there is none */
	struct tl_op *last; /* that op */
	unsigned functions; /* host functions behind it, which are waited for as well */
};

static void look_at(struct timeline *t, struct awaited *w, uint64_t id, bool functions)
{
	struct tl_op *op = tl_op(t, id);

	if (!op || (w->last && tl_op_end(t, op) < w->end))
		return;
	w->last = op;
	w->end = tl_op_end(t, op);
	w->functions = functions ? op->functions : 0;
}

/* Whether a wait for `stream` (NULL: for the device) waits for `s` too: one for the legacy default
 * stream waits for all blocking ones. */
static bool awaits(const struct tl_stream *stream, const struct tl_stream *s)
{
	return !stream || s == stream || cuda_stream_sync_waits(stream->flags, s->flags);
}

static struct awaited awaited(struct timeline *t, unsigned device, const struct tl_stream *stream,
                              const struct tl_event *event)
{
	const struct tl_device *d = &t->device[device];
	struct awaited w = {0};

	if (event) {
		look_at(t, &w, event->op, false);
		w.functions = w.last ? event->functions : 0;
		look_at(t, &w, event->wait, false);
		return w;
	}
	for (uint32_t i = 0; i < d->actives; i++) {
		const struct tl_stream *s = &t->streams[d->active[i] - 1];
		if (!awaits(stream, s))
			continue;
		look_at(t, &w, s->tail, true);
		look_at(t, &w, s->wait, false);
	}
	look_at(t, &w, stream ? stream->tail : d->last, true);
	if (stream)
		look_at(t, &w, stream->wait, false);
	return w;
}

/* An op, and all before it on its stream, ended by tick `by`. */
static void op_finished(struct timeline *t, uint64_t id, uint64_t by)
{
	const struct tl_op *op = tl_op(t, id);
	struct tl_stream *s = op ? tl_op_stream(t, op) : NULL;

	if (s)
		tl_finished(t, s, id, by);
}

/* All that awaited() looks at had ended by tick `by`. */
static void finished(struct timeline *t, unsigned device, const struct tl_stream *stream,
                     const struct tl_event *event, uint64_t by)
{
	const struct tl_device *d = &t->device[device];

	if (event) {
		op_finished(t, event->op, by);
		op_finished(t, event->wait, by);
		return;
	}
	for (uint32_t i = 0; i < d->actives; i++) {
		struct tl_stream *s = &t->streams[d->active[i] - 1];
		if (!awaits(stream, s))
			continue;
		tl_finished(t, s, s->tail, by);
		op_finished(t, s->wait, by);
	}
	if (stream)
		op_finished(t, stream->wait, by);
}

void tl_awaited_by(struct timeline *t, const struct tl_stream *stream, uint64_t by)
{
	finished(t, stream->device, stream, NULL, by);
}

/*
 * Learns `latency` from a wait for work that nothing but its own launch held back (TL_OP_CHAINED):
 * the time from the launch's return to the wait's return, less the work's duration. Where the work
 * was done before the wait began (`waited` false) that is an upper bound. Only short work of known
 * duration is used, that ahead of it included: an error of it would be part of the result.
 */
static void learn_latency(struct timeline *t, const struct tl_op *op, uint64_t end, uint64_t until,
                          bool waited)
{
	const struct tl_stream *s = tl_op_stream(t, op);
	uint64_t ready = op->ready - tl_min(op->ready, tl_start_latency(t));
	uint64_t step = t->latency / (t->latencies < LEARN_FIRST ? 4 : 32) + 1;

	if (!(op->flags & TL_OP_CHAINED) || op->flags & (TL_OP_UNKNOWN | TL_OP_CUT) ||
	    (s && s->unknown) || end - ready > tl_ticks(t, SHORT_CHAIN_NS))
		return;
	uint64_t rest = until + tl_start_latency(t) > end ? until + tl_start_latency(t) - end : 0;
	if (rest > t->latency && (!waited || rest > tl_ticks(t, LATENCY_MOST_NS)))
		return;
	t->latencies++;
	if (rest > t->latency + step)
		t->latency += step;
	else if (rest + step < t->latency)
		t->latency -= step;
	else
		t->latency = rest;
	t->latency = tl_max(t->latency, tl_ticks(t, LATENCY_LEAST_NS));
}

/*
 * A call waited `waited` ticks and returned at `end`, later than the work's estimated end: whether
 * the work lasted until then, or the call took long for another reason. Work of known classes may
 * take twice its estimate, or SPREAD standard deviations more; beyond that the host was late. Work
 * of unknown duration may have lasted unless the wait is short beside the time since its estimated
 * end: it would be chance that it ended in just that wait. A host function behind the work may have
 * taken any time, so nothing follows.
 */
static bool may_last(struct timeline *t, const struct awaited *w, uint64_t end, uint64_t waited)
{
	const struct tl_stream *s = tl_op_stream(t, w->last);
	uint64_t late = end - tl_min(end, w->end);
	double ns = (double)late / t->ticks_per_ns;

	if (w->functions || w->end + t->noise >= end)
		return false;
	if (s && s->since_proof &&
	    (late <= s->since_ticks + t->noise || ns * ns <= SPREAD * SPREAD * s->since_variance))
		return true;
	if (s && s->since_proof && !s->unknown)
		return false;
	/* Work that an earlier wait showed ended did not last until a slow call much later. */
	return late / LATE_MOST <= waited ||
	       ((!s || s->since_proof) && waited > tl_ticks(t, LONG_WAIT_NS));
}

/* ---- syncs and queries ---- */

/* What a wait or query is for: a device, a stream or an event; false where that is not known. */
static bool target(struct timeline *t, uint32_t thread, const struct tf_record *r,
                   enum cuda_role role, unsigned *device, struct tl_stream **stream,
                   struct tl_event **event)
{
	*device = t->threads[thread].device;
	*stream = NULL;
	*event = NULL;
	if (role == CUDA_ROLE_SYNC_ALL)
		return true;
	if (r->flags & TF_NO_ARGS)
		return false;
	if (role == CUDA_ROLE_SYNC_EVENT || role == CUDA_ROLE_QUERY_EVENT) {
		*event = tl_event(t, r->event.event);
		return *event != NULL;
	}
	*stream = tl_stream(t, thread, r->stream, r->flags);
	if ((*stream)->has_device)
		*device = (*stream)->device;
	return true;
}

uint64_t tl_sync(struct timeline *t, uint32_t thread, const struct tf_record *r,
                 enum cuda_role role)
{
	uint64_t back = r->end - tl_min(r->end - r->start, tl_return_latency(t));
	bool waited = back - r->start > t->noise;
	struct tl_stream *stream;
	struct tl_event *event;
	unsigned device;

	if (t->mode == TF_GPU_OFF)
		return r->end;
	if (!target(t, thread, r, role, &device, &stream, &event))
		return r->start;
	struct awaited w = awaited(t, device, stream, event);
	if (!w.last || r->result)
		return r->start;
	if (t->mode == TF_GPU_CUPTI) {
		finished(t, device, stream, event, r->end);
		return tl_max(r->start, tl_min(w.end, r->end));
	}
	uint64_t until = tl_min(w.end, back);
	bool longer = waited && may_last(t, &w, back, back - r->start);
	if (!w.functions)
		learn_latency(t, w.last, w.end, r->end, waited);
	finished(t, device, stream, event, back);
	if (waited) {
		struct tf_device_time *time = tl_device(t, device)->time;
		if (time)
			time->anchored++;
		if (longer) {
			tl_extend(t, w.last, back);
			until = back;
		}
	}
	return tl_max(r->start, until);
}

void tl_query(struct timeline *t, uint32_t thread, const struct tf_record *r, enum cuda_role role)
{
	struct tl_stream *stream;
	struct tl_event *event;
	unsigned device;

	if (t->mode != TF_GPU_SAMPLE || (r->result && r->result != CUDA_NOT_READY) ||
	    !target(t, thread, r, role, &device, &stream, &event))
		return;
	if (!r->result) {
		finished(t, device, stream, event, r->end);
		return;
	}
	struct awaited w = awaited(t, device, stream, event);
	if (!w.last || w.end + t->noise >= r->start)
		return;
	/* Not ready, though by estimate the work is done: it lasts longer, or a host function
	 * behind it does, which may be one that is not known (host_functions). */
	if ((!t->host_functions && !w.functions) ||
	    (!(w.last->flags & TL_OP_CUT) && may_last(t, &w, r->start, UINT64_MAX)))
		tl_extend(t, w.last, r->start);
}

/* ---- calls that turn out to wait ---- */

/* By what the estimate of the work ahead leaves of the call: a first call that was as long as its
 * wait must not stand for those after it. */
static void learn_staged(uint32_t *typical, uint64_t own, bool doubtful)
{
	if (own < *typical / 2)
		*typical = (uint32_t)((own + *typical) / 2);
	tl_learn(typical, own, doubtful);
}

/*
 * How long a call with a staged copy waited for earlier work. What the copy itself takes follows
 * from its bytes and from the calls before it, so the rest of the call was a wait. *waited: it was
 * clearly longer than the estimate of that work says, or that work's duration is a guess.
 */
static uint64_t staged_wait(struct timeline *t, const struct tf_record *r, const struct awaited *w,
                            uint64_t ticks, uint32_t *typical, bool *waited)
{
	uint64_t left = w->end > r->start ? w->end - r->start : 0, own = *typical;
	uint64_t floor = tl_ticks(t, cuda_staged_least_ns((double)r->copy.bytes)),
	         least = tl_max(floor, own - own / 4);
	uint64_t wait = tl_min(left, ticks - tl_min(least, ticks));
	const struct tl_stream *ahead = w->last ? tl_op_stream(t, w->last) : NULL;

	if (ahead && ahead->unknown) {
		if (!own)
			own = tl_ticks(t, STAGED_CALL_NS + (double)r->copy.bytes / STAGED_RATE);
		/* The call's length is all there is to tell it, and the host's memory may be slow:
		 * not where that work must have lasted for longer than the wait before the call. */
		uint64_t past = r->start - tl_min(w->end, r->start);
		*waited = tl_is_long(t, own, ticks) && past <= ticks - own;
		if (!*waited)
			tl_learn(typical, ticks, true);
		return *waited ? ticks - own : wait;
	}
	*waited = left > t->noise / 3 && tl_is_long(t, own, ticks - wait);
	learn_staged(typical, tl_max(ticks - tl_min(left, ticks), floor), left > 0);
	return *waited ? tl_max(wait, tl_min(ticks - own, left + left / 2 + t->latency)) : wait;
}

/* From when on a call with a staged copy had the time for it that it would have had on an idle
 * stream, where the work ahead ended at tick `from`. */
static uint64_t staged_from(const struct timeline *t, const struct tf_record *r, uint64_t from)
{
	double own;

	if (r->copy.direction != SPY_DIR_HTOD || from <= r->start || from >= r->end)
		return from;
	own = estimate_staged_ahead(&t->costs.bus[0], (double)r->copy.bytes,
	                            (double)(r->end - from) / t->ticks_per_ns,
	                            (double)(from - r->start) / t->ticks_per_ns);
	return tl_max(r->start, r->end - tl_min(tl_ticks(t, own), r->end - r->start));
}

/* A free, or loading or unloading of code: when it returns, all work of the device has ended. */
static bool is_device_wait(const struct tf_record *r, enum cuda_role role)
{
	if (role != CUDA_ROLE_FREE)
		return cuda_role_waits_for_device(role);
	return !(r->flags & TF_NO_ARGS) && r->alloc.address && r->alloc.memory != SPY_MEM_UNKNOWN;
}

struct tl_split tl_implicit(struct timeline *t, uint32_t thread, const struct tf_record *r,
                            unsigned cls, unsigned state, struct tf_work *work, enum cuda_role role)
{
	struct tl_split split = {r->start, (uint8_t)state, (uint8_t)state};
	const struct tf_work *all = tl_works(t);
	uint32_t *typical = work && all ? &t->work_typical[work - all] : &t->call_typical[r->call];
	uint64_t nested = tl_nested_ticks(t, thread, r->start), ticks = r->end - r->start;

	ticks -= tl_min(nested, ticks);
	if (r->result || t->mode == TF_GPU_OFF)
		return split;
	bool copy = state == TF_HOST_COPY, known_args = !(r->flags & TF_NO_ARGS),
	     holds = known_args && tl_holds(r, work_kind(cls)),
	     staged = copy && known_args && cuda_copy_is_staged(cuda_copy_of(r));
	if (copy && !holds && (!known_args || r->copy.memory != SPY_MEM_PAGEABLE))
		return tl_submit(t, thread, r, TF_WORK_COPY, typical);
	if (!copy && !cuda_role_may_wait_for_device(role))
		return split;
	holds = holds || is_device_wait(r, role);
	struct tl_stream *stream = copy ? tl_stream(t, thread, r->stream, r->flags) : NULL;
	unsigned device = stream && stream->has_device ? stream->device : t->threads[thread].device;
	/* A staged copy that does not hold its caller waits only for a buffer: until the copy that
	 * used it last ends. */
	unsigned buffers = staged ? cuda_copy_buffers(cuda_copy_of(r)) : 0;
	const struct tl_event buffer = {
	        .op = buffers ? t->device[device].staged[CUDA_STAGING_BUFFERS - buffers] : 0};
	const struct tl_event *event = buffers ? &buffer : NULL;
	struct awaited w = awaited(t, device, stream, event);
	uint64_t left = w.end > r->start ? w.end - r->start : 0;
	/* What a copy takes by itself follows from its class, before there was a call to learn
	 * from. */
	bool known;
	uint64_t own = *typical, alone = copy && work ? tl_duration(t, work, &known) : 0;
	if (work && !own)
		own = alone + t->latency;
	bool waited = left > t->noise / 3 && tl_is_long(t, own, ticks);
	uint64_t wait = waited ? tl_min(ticks - own, left + left / 2 + t->latency) : 0;
	if (t->mode == TF_GPU_SAMPLE && staged) {
		wait = staged_wait(t, r, &w, ticks, typical, &waited);
	} else {
		/* A call that is known to wait did, as long as there was work. */
		uint64_t held = holds ? tl_min(left, ticks - tl_min(alone, ticks)) : 0;
		wait = tl_max(wait, held);
		/* Where that work's duration is a guess, so is the wait: then the whole call bounds
		 * what the call itself takes. */
		const struct tl_stream *ahead = w.last ? tl_op_stream(t, w.last) : NULL;
		bool guessed = t->mode == TF_GPU_SAMPLE && ahead && ahead->unknown;
		tl_learn(typical, guessed ? ticks : ticks - held, left > 0);
	}
	if (!wait) {
		if (t->mode == TF_GPU_SAMPLE && holds && !copy)
			finished(t, device, NULL, NULL, r->end);
		return split;
	}
	split.before = TF_HOST_SYNC_USEFUL;
	split.at = r->start + wait;
	struct tf_thread *figures = tl_thread_of(t, thread);
	if (figures && (waited || wait > t->noise))
		figures->implicit_syncs++;
	/* A small copy whose bytes travel in the command waits for room in the queue: whose work
	 * takes the room is not known. */
	if (t->mode != TF_GPU_SAMPLE || (!holds && !buffers))
		return split;
	bool longer = waited && may_last(t, &w, split.at, wait);
	finished(t, device, stream, event, split.at);
	if (longer)
		tl_extend(t, w.last, split.at);
	if (staged && holds)
		split.at = staged_from(t, r, split.at);
	return split;
}
