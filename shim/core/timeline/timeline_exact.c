/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_ops.h"
#define PROBES     8u
#define GIVE_UP_NS 3e9 /* after which an activity is waited for no more */

/* ---- calls by cause ---- */

static uint32_t bucket_of(uint64_t cause)
{
	return tl_cause_hash(cause) % (TL_DELAYED * 2 / PROBES) * PROBES;
}

static struct tl_delayed *by_cause(struct tl_exact *x, uint64_t cause)
{
	const uint32_t *bucket = &x->by_cause[bucket_of(cause)];

	for (uint32_t i = 0; cause && i < PROBES; i++)
		if (bucket[i] && tl_cause_of(&x->delayed[bucket[i] - 1]) == cause)
			return &x->delayed[bucket[i] - 1];
	return NULL;
}

/* Enters a call into the hash table: over an entry that is stale, or else over the oldest. */
static void file(struct tl_exact *x, uint32_t place)
{
	uint64_t cause = tl_cause_of(&x->delayed[place]);
	uint32_t *bucket = &x->by_cause[bucket_of(cause)], best = 0, oldest = 0;

	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t at = bucket[i];
		if (!at || bucket_of(tl_cause_of(&x->delayed[at - 1])) != bucket_of(cause)) {
			best = i;
			break;
		}
		uint32_t age = (place - (at - 1)) % TL_DELAYED;
		if (age >= oldest) {
			oldest = age;
			best = i;
		}
	}
	bucket[best] = place + 1;
}

static bool is_pending(const struct tl_exact *x, const struct tl_delayed *d)
{
	uint64_t place = (uint64_t)(d - x->delayed);

	return (place - x->tail) % TL_DELAYED < x->head - x->tail;
}

static void tell(struct tl_exact *x, struct tl_delayed *d, const struct tl_activity *a)
{
	d->gpu_start = d->gpu_end ? tl_min(d->gpu_start, a->start) : a->start;
	d->gpu_end = tl_max(d->gpu_end, a->end);
	d->round = x->round;
	d->device = a->device;
}

/* ---- activities that come before their calls ---- */

static struct tl_activity *orphans_beside(struct tl_exact *x, uint64_t cause)
{
	return &x->orphan[tl_cause_hash(cause) % (TL_ORPHANS / TL_ORPHANS_BESIDE) *
	                  TL_ORPHANS_BESIDE];
}

/* One entry for each call: of a graph's nodes the first start and the last end. */
static void keep_orphan(struct tl_exact *x, const struct tl_activity *a)
{
	struct tl_activity *beside = orphans_beside(x, a->cause);
	struct tl_activity *to = &beside[x->orphans++ % TL_ORPHANS_BESIDE]; /* where none is free */

	for (uint32_t i = 0; i < TL_ORPHANS_BESIDE; i++)
		if (beside[i].cause == a->cause) {
			beside[i].start = tl_min(beside[i].start, a->start);
			beside[i].end = tl_max(beside[i].end, a->end);
			return;
		}
	for (uint32_t i = 0; i < TL_ORPHANS_BESIDE; i++)
		if (!beside[i].cause)
			to = &beside[i];
	*to = *a;
}

static void tell_orphan(struct tl_exact *x, struct tl_delayed *d)
{
	struct tl_activity *beside = orphans_beside(x, tl_cause_of(d));

	for (uint32_t i = 0; i < TL_ORPHANS_BESIDE; i++)
		if (beside[i].cause == tl_cause_of(d)) {
			tell(x, d, &beside[i]);
			beside[i].cause = 0;
		}
}

/* ---- activities in the order of their start ---- */

static void sift_up(struct tl_activity *heap, uint32_t at)
{
	struct tl_activity a = heap[at];

	for (; at && heap[(at - 1) / 2].start > a.start; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = a;
}

/* Removes an element of the heap. */
static void take_out(struct tl_exact *x, uint32_t at)
{
	struct tl_activity *heap = x->heap;
	uint32_t n = (x->activities - 1) % TL_PIECES;
	const struct tl_activity a = heap[n];

	x->activities = n;
	if (at >= n)
		return;
	for (uint32_t child = 2 * at + 1; child < n; at = child, child = 2 * at + 1) {
		if (child + 1 < n && heap[child + 1].start < heap[child].start)
			child++;
		if (heap[child].start >= a.start)
			break;
		heap[at] = heap[child];
	}
	heap[at] = a;
	sift_up(heap, at);
}

static void __attribute__((noinline)) tell_watch(struct timeline *t, const struct tl_activity *a)
{
	const struct timeline_piece told = {.start = a->start,
	                                    .end = a->end,
	                                    .cause = a->cause,
	                                    .kernel = a->kernel,
	                                    .device = a->device,
	                                    .kind = a->kind,
	                                    .last = true,
	                                    .estimated = a->estimated,
	                                    .graph_node = a->graph_node};

	t->watch->placed(t->watch->to, &told);
}

/* Books the activity that starts first. */
static void book_first(struct timeline *t, uint64_t until)
{
	struct tl_exact *x = &t->exact;
	const struct tl_activity a = x->heap[0];
	const struct tl_delayed *d = by_cause(x, a.cause);
	struct tl_piece p = {
	        .start = a.start,
	        .end = a.end,
	        .device = a.device,
	        .kind = a.kind,
	        .flags = a.kind == TF_WORK_KERNEL && tl_is_comm(t, a.kernel) ? TL_OP_COMM : 0};

	if (d) {
		p.returned = d->r.end;
		p.thread = d->thread;
		p.row = d->row;
	}
	uint64_t *graph = &x->graph[a.device];
	if (a.graph_node && a.cause && *graph == a.cause)
		p.flags |= TL_OP_NODE;
	*graph = a.graph_node ? a.cause : 0;
	struct tl_piece counted = p;
	if (a.graph_node) /* it waited for nodes of its graph: no time in the launch queue */
		counted.returned = 0;
	tl_count_work(t, &counted, a.kernel, !a.guessed);
	tl_book(t, &p);
	if (t->watch)
		tell_watch(t, &a);
	take_out(x, 0);
}

void tl_tell_exact_rest(struct timeline *t)
{
	while (t->exact.activities) {
		const struct tl_activity a = t->exact.heap[0];
		tell_watch(t, &a);
		take_out(&t->exact, 0);
	}
}

static void add_activity(struct timeline *t, const struct tl_activity *a)
{
	struct tl_exact *x = &t->exact;

	if (x->activities == TL_PIECES)
		book_first(t, UINT64_MAX);
	x->heap[x->activities] = *a;
	sift_up(x->heap, x->activities++);
}

/* Books activities that start before `until`, up to the first whose call is not taken yet; with
 * `all` past it. */
static void book_until(struct timeline *t, uint64_t until, bool all)
{
	struct tl_exact *x = &t->exact;

	while (x->activities && x->heap[0].start < until) {
		const struct tl_activity *a = &x->heap[0];
		const struct tl_delayed *d = by_cause(x, a->cause);
		if (!all && d && is_pending(x, d))
			break;
		if (!all && !d && a->cause && until - a->start < tl_ticks(t, GIVE_UP_NS))
			break;
		book_first(t, all ? until : UINT64_MAX);
	}
}

void tl_exact_guess(struct timeline *t, const struct tl_op *op, const struct tl_delayed *d)
{
	const struct tl_stream *s = tl_op_stream(t, op);
	const struct tl_activity a = {.start = op->start,
	                              .end = op->end,
	                              .cause = d ? tl_cause_of(d) : 0,
	                              .kernel = op->kernel,
	                              .device = (uint8_t)(s ? s->device : 0),
	                              .kind = op->kind,
	                              .guessed = op->flags & TL_OP_UNKNOWN,
	                              .estimated = true};

	add_activity(t, &a);
}

void timeline_activity(struct timeline *t, const struct tf_record *r)
{
	struct tl_exact *x = &t->exact;
	struct tl_delayed *d = by_cause(x, r->stream);
	uint32_t device = r->activity.device;
	if (device == TF_DEVICE_OF_CALL)
		device = d ? t->threads[d->thread].device : 0;
	const struct tl_activity a = {.start = r->start,
	                              .end = r->end,
	                              .cause = r->stream,
	                              .kernel = r->activity.kernel,
	                              .device = (uint8_t)device,
	                              .kind = (uint8_t)r->thread,
	                              .graph_node = r->activity.graph_node != 0};

	if (t->mode != TF_GPU_CUPTI || !t->window || r->end < r->start ||
	    r->end >= TL_TICKS_MOST / 2 || device >= TF_DEVICES_TIMED ||
	    r->thread < TF_WORK_KERNEL || r->thread > TF_WORK_SET) {
		tf_header(t->map)->timeline_unknown++;
		return;
	}
	if (d && is_pending(x, d))
		tell(x, d, &a);
	else if (tl_exact_tell_late(t, &a))
		return;
	if (!d && a.cause)
		keep_orphan(x, &a);
	add_activity(t, &a);
}

/* ---- calls that wait ---- */

/* Removes the activities of a call whose times cannot be true; what is booked already stays. */
static void disbelieve(struct timeline *t, struct tl_delayed *d)
{
	struct tl_exact *x = &t->exact;
	bool found = false;

	for (uint32_t at = 0; at < x->activities;)
		if (x->heap[at].cause == tl_cause_of(d)) {
			take_out(x, at);
			found = true;
			at = 0; /* others changed places */
		} else {
			at++;
		}
	if (!found)
		return;
	d->gpu_start = d->gpu_end = 0;
	tf_header(t->map)->timeline_unknown++;
}

static void take_oldest(struct timeline *t)
{
	struct tl_exact *x = &t->exact;
	struct tl_delayed *d = &x->delayed[x->tail % TL_DELAYED];
	struct tf_work *works = tl_works(t);
	struct tf_work *work = d->work && works ? &works[d->work - 1] : NULL;

	if (d->gpu_end) {
		x->mute[d->r.call] = 0;
		if (tl_exact_is_implausible(t, d))
			disbelieve(t, d);
		if (work && d->gpu_end) {
			work->exact_count++;
			work->exact_ns += (double)(d->gpu_end - d->gpu_start) / t->ticks_per_ns;
		}
	} else if (d->waits) {
		x->mute[d->r.call] += x->mute[d->r.call] < TL_MUTE;
		tl_exact_give_up(x, d);
	}
	tl_take(t, d->thread, &d->r, d->cls, work, d);
	x->tail++;
}

static bool is_ready(const struct timeline *t, const struct tl_delayed *d, uint64_t now)
{
	if (!d->waits || now > d->r.end + tl_ticks(t, GIVE_UP_NS))
		return true;
	if (!d->gpu_end)
		return t->exact.mute[d->r.call] >= TL_MUTE;
	if (!tl_exact_is_several(d) && !tl_exact_is_long_copy(t, d))
		return true;
	/* A whole round brought no more of its activities, nor one that makes them implausible. */
	return t->exact.round - d->round > 1;
}

void tl_exact_call(struct timeline *t, uint32_t thread, const struct tf_record *r, unsigned cls,
                   struct tf_work *work)
{
	struct tl_exact *x = &t->exact;
	uint64_t partial = tf_header(t->map)->gpu_partial;
	const struct tf_work *works = tl_works(t);

	if (x->head - x->tail == TL_DELAYED)
		take_oldest(t);
	uint32_t place = (uint32_t)(x->head % TL_DELAYED);
	struct tl_delayed *d = &x->delayed[place];
	*d = (struct tl_delayed){.r = *r, .thread = (uint16_t)thread, .cls = (uint8_t)cls};
	d->work = work && works ? (uint32_t)(work - works) + 1 : 0;
	d->waits = tl_work_of(r, cls) != TF_WORK_NONE && (!partial || r->end < partial);
	x->head++;
	if (!d->waits)
		return;
	file(x, place);
	if (x->orphans)
		tell_orphan(x, d);
}

uint64_t tl_exact_advance(struct timeline *t, uint64_t now, bool all)
{
	struct tl_exact *x = &t->exact;

	x->round++;
	while (x->tail != x->head && (all || is_ready(t, &x->delayed[x->tail % TL_DELAYED], now)))
		take_oldest(t);
	book_until(t, tl_min(now, t->seen), all);
	return x->tail != x->head ? tl_min(now, x->delayed[x->tail % TL_DELAYED].r.start) : now;
}
