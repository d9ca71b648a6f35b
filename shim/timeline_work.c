#include "shim/timeline_ops.h"

#include <math.h>
#include "shim/works.h"

/* Where nothing was measured: ns for each byte. */
#define HOST_COPY_RATE   20.0 /* over PCIe; bytes a ns */
#define DEVICE_COPY_RATE 1000.0

/* ---- ops ---- */

/* From here on it stays where it is. */
static void settle(struct tl_stream *s, struct tl_op *op)
{
	uint64_t start = tl_start_on(s, op), end = start + (op->end - op->start);

	op->start = start;
	op->end = end;
	op->flags |= TL_OP_SETTLED;
	s->settled = tl_max(s->settled, end);
}

/* The place of an old op is wanted: no list may lead to it any more. */
static void forget(struct timeline *t, struct tl_op *op)
{
	struct tl_stream *s = tl_op_stream(t, op);

	if (!s)
		return;
	if (s->head == op->id) {
		s->head = op->next;
		s->outstanding--;
	}
	if (s->book == op->id) {
		s->book = op->next;
		tf_header(t->map)->trouble[SPY_TROUBLE_TIMELINE]++;
	}
	if (s->back == op->id)
		s->back = op->next;
	if (s->tail == op->id)
		s->tail = 0;
}

/* Whether anything may still ask for an op, which is the oldest one. */
static bool is_in_use(struct timeline *t, const struct tl_op *op)
{
	const struct tl_stream *s = tl_op_stream(t, op);

	return op->flags & TL_OP_EVENT ||
	       (s && (s->head == op->id || s->book == op->id || s->back == op->id ||
	              s->tail == op->id || t->device[s->device].last == op->id));
}

/* Twice as many places: each op moves to the one that its id says now, or stays. */
static void double_ops(struct timeline *t)
{
	uint64_t places = t->ops_mask + 1;

	t->ops_mask = 2 * places - 1;
	for (uint64_t i = 0; i < places; i++) {
		struct tl_op *op = &t->ops[i];
		if (!(op->id & places))
			continue;
		t->ops[i + places] = *op;
		op->id = 0;
	}
}

/* A place for the next op. */
static struct tl_op *new_op(struct timeline *t)
{
	uint64_t id = ++t->last_op;
	struct tl_op *op = &t->ops[id & t->ops_mask];

	if (op->id && t->ops_mask < TL_OPS - 1 && is_in_use(t, op)) {
		double_ops(t);
		op = &t->ops[id & t->ops_mask];
	}
	if (op->id)
		forget(t, op);
	op->id = id;
	return op;
}

static void append(struct timeline *t, struct tl_stream *s, struct tl_op *op)
{
	struct tl_op *tail = tl_op(t, s->tail);

	op->shift = s->shift;
	op->stream = tl_place(t, s);
	op->generation = s->generation;
	if (tail)
		tail->next = op->id;
	s->tail = op->id;
	if (!s->head)
		s->head = op->id;
	if (!s->book)
		s->book = op->id;
	if (!s->back)
		s->back = op->id;
	s->outstanding++;
	s->since_proof++;
	s->since_ticks += op->end - op->start;
	if (op->flags & TL_OP_UNKNOWN)
		s->unknown++;
	op->entry = s->entries + 1;
	tl_enqueued(t, s, 1);
	tl_activate(t, s);
}

void tl_retire(struct timeline *t, struct tl_stream *s, uint64_t upto)
{
	for (struct tl_op *op = tl_op(t, s->head); op && tl_end_on(s, op) <= upto;
	     op = tl_op(t, s->head)) {
		settle(s, op);
		s->head = op->next;
		s->outstanding--;
	}
}

/* ---- how long ---- */

static double guess_ns(const struct tf_work *w)
{
	double bytes =
	        w->count ? (double)w->bytes / (double)w->count : (double)work_size_floor(w->size);

	if (w->kind == TF_WORK_COPY && w->direction != SPY_DIR_DTOD)
		return 1000 + bytes / HOST_COPY_RATE;
	if (w->kind == TF_WORK_COPY || w->kind == TF_WORK_SET)
		return 1000 + bytes / DEVICE_COPY_RATE;
	return NAN;
}

static double variance_of(const struct tf_work *w)
{
	double most = 0;

	for (int i = 0; i < TF_PAIRS; i++) {
		const struct tf_pairs *p = &w->pairs[i];
		double n = (double)p->count, mean = p->sum_ns / n;
		double variance = (p->sum_squares - n * mean * mean) / (n - 1);
		if (p->count > 1 && variance > most)
			most = variance;
	}
	return most;
}

uint64_t tl_find_duration(struct timeline *t, const struct tf_work *w, bool *known)
{
	struct tl_known *k = tl_known(t, w);
	double ns = NAN;

	*known = false;
	if (!k)
		return t->short_work;
	uint64_t stamp = tl_stamp(t, w);
	if (k->stamp != stamp)
		k->ns = estimate_ns_with(t->map, &t->costs, w);
	k->stamp = stamp;
	k->rate = t->ticks_per_ns;
	k->ticks = TL_TICKS_MOST;
	if (!isnan(k->ns)) {
		*known = true;
		k->variance = variance_of(w);
		return k->ticks = tl_ticks(t, k->ns);
	}
	if (w->kind == TF_WORK_KERNEL) {
		const struct tl_mean *m = &t->means[w->id % TL_KERNELS];
		if (m->count && m->kernel == w->id)
			ns = m->sum_ns / m->count;
		*known = !isnan(ns);
	}
	if (isnan(ns))
		ns = guess_ns(w);
	return isnan(ns) ? t->short_work : tl_ticks(t, ns);
}

/* ---- where ---- */

/* Nothing before it that it must wait for ends later. */
static uint64_t earliest(struct timeline *t, const struct tl_stream *s)
{
	const struct tl_device *d = &t->device[s->device];
	uint64_t from = s->wait;

	if (s->flags & TF_STREAM_LEGACY)
		return tl_max(from, tl_blocking_end(t, s));
	if (s->blocking && d->legacy) {
		const struct tl_stream *legacy = &t->streams[d->legacy - 1];
		const struct tl_op *last =
		        legacy->flags & TF_STREAM_LEGACY ? tl_op(t, legacy->tail) : NULL;
		from = tl_max(from, last ? tl_op_end(t, last) : 0);
	}
	return from;
}

/* By estimate: after its call's return, and after what it waits for. */
static void place(struct timeline *t, struct tl_stream *s, struct tl_op *op,
                  const struct tf_record *r, uint64_t ticks)
{
	const struct tl_op *before = tl_op(t, s->tail);
	uint64_t end = before ? tl_end_on(s, before) : 0;

	op->ready = r->end + tl_start_latency(t);
	if (r->flags & TF_STALLED)
		op->ready += t->stall;
	op->start = tl_max(op->ready, earliest(t, s));
	bool free = op->start == op->ready;
	if (end && end + t->gap > op->start) {
		op->start = end + t->gap;
		free = before->flags & TL_OP_CHAINED;
	} else {
		s->loose = op->id;
	}
	if (free)
		op->flags |= TL_OP_CHAINED;
	op->end = op->start + ticks;
}

/* A copy that its call waited for: it ended by the return, and all before it ended earlier. */
static void place_blocking(struct timeline *t, struct tl_stream *s, struct tl_op *op,
                           const struct tf_record *r, uint64_t ticks)
{
	uint64_t end = tl_max(r->start, r->end - tl_min(r->end - r->start, tl_return_latency(t)));

	op->start = end - tl_min(end - r->start, ticks);
	op->end = end;
	op->ready = r->start;
	s->loose = op->id;
	if (s->tail)
		tl_finished(t, s, s->tail, op->start);
}

/* On the row of its stream. */
static void count_on(struct tf_stream *row, const struct tf_record *r, enum tf_work_kind kind)
{
	if (kind == TF_WORK_KERNEL)
		row->kernels += r->launch.items ? r->launch.items : 1;
	else if (kind == TF_WORK_GRAPH)
		row->graphs++;
	else if (kind == TF_WORK_COPY)
		row->copies += r->copy.items ? r->copy.items : 1;
	else if (kind == TF_WORK_SET)
		row->sets += r->copy.items ? r->copy.items : 1;
}

struct tl_op *tl_issue(struct timeline *t, uint32_t thread, const struct tf_record *r,
                       enum tf_work_kind kind, const struct tf_work *work, struct tl_delayed *exact)
{
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	struct tf_stream *row = tl_stream_row(t, s, t->threads[thread].device);
	struct tl_device *d = tl_device(t, s->device);
	struct tl_op *op = new_op(t);
	bool known, ends_last = false;

	op->entered = r->start;
	op->returned = r->end;
	op->booked = op->next = 0;
	op->thread = (uint16_t)thread;
	op->kind = (uint8_t)kind;
	op->flags = 0;
	op->kernel = kind == TF_WORK_KERNEL ? r->launch.kernel : 0;
	if (kind == TF_WORK_KERNEL && tl_is_comm(t, op->kernel))
		op->flags |= TL_OP_COMM;
	uint64_t ticks = tl_duration(t, work, &known);
	if (!known)
		op->flags |= TL_OP_UNKNOWN;
	if (exact && exact->gpu_end) {
		op->flags &= (uint8_t)~TL_OP_UNKNOWN;
		op->start = op->ready = exact->gpu_start;
		op->end = exact->gpu_end;
	} else if (tl_ends_by_return(r, kind)) {
		place_blocking(t, s, op, r, ticks);
	} else {
		ends_last = d->last == s->tail; /* behind which it is placed */
		place(t, s, op, r, ticks);
	}
	append(t, s, op);
	if (known && !exact && tl_variance(t, work) > s->since_variance)
		s->since_variance = tl_variance(t, work);
	if (exact)
		exact->row = s->row;
	if (t->mode == TF_GPU_CUPTI) { /* booked from activities */
		s->book = 0;
		if (!exact || !exact->gpu_end)
			tl_exact_guess(t, op, exact);
	}
	const struct tl_op *last = ends_last ? NULL : tl_op(t, d->last);
	if (!last || tl_op_end(t, last) <= op->end)
		d->last = op->id;
	if (row)
		count_on(row, r, kind);
	return op;
}

/* ---- putting it right ---- */

/* Moves ops line[0..n) so that they end by tick `by`, the first not before `from`. */
static void move_ahead(struct timeline *t, uint32_t n, uint64_t from, uint64_t by)
{
	uint64_t limit = by;

	for (uint32_t i = n; i-- > 0;) {
		struct tl_op *op = &t->ops[t->line[i]];
		uint64_t ticks = op->end - op->start;
		if (op->end <= limit)
			break; /* neither it nor those before it are in the way */
		op->flags |= TL_OP_CUT;
		op->end = limit;
		op->start = tl_max(limit - tl_min(limit, ticks), tl_min(op->entered, limit));
		limit = op->start;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct tl_op *op = &t->ops[t->line[i]];
		op->start = tl_max(op->start, tl_min(from, by));
		op->end = tl_max(op->end, op->start);
		from = op->end;
	}
}

void tl_finished(struct timeline *t, struct tl_stream *s, uint64_t last, uint64_t by)
{
	const uint64_t before = s->settled;
	uint32_t n = 0;
	uint64_t was = 0;
	struct tl_op *op = tl_op(t, s->head);

	for (; op && op->id <= last && n < TL_OPS; op = tl_op(t, s->head)) {
		settle(s, op);
		was = op->end;
		t->line[n++] = (uint32_t)(op - t->ops);
		s->head = op->next;
		s->outstanding--;
	}
	if (n && was > by) {
		move_ahead(t, n, before, by);
		s->settled = tl_max(before, by);
		if (op) { /* what came later moves up, as far as its call lets it */
			s->shift -= (int64_t)(was - by);
			s->loose = s->tail;
		}
	}
	if (!op) {
		s->since_ticks = s->since_proof = s->unknown = 0;
		s->since_variance = 0;
		s->proof = s->entries;
	}
}

/* Moves op `next` and what is behind it back, each only as far as the one before it asks for. */
static void move_back(struct timeline *t, const struct tl_stream *s, struct tl_op *next,
                      uint64_t from)
{
	for (; next && tl_start_on(s, next) < from; next = tl_op(t, next->next)) {
		next->end = from + (next->end - next->start);
		next->start = from;
		next->shift = s->shift;
		from = next->end + t->gap;
	}
}

/* What is behind op `op` on its stream and was to start before it has ended moves back. What of it
 * was taken for done is still to come. */
static void push_back(struct timeline *t, struct tl_stream *s, const struct tl_op *op)
{
	struct tl_op *next = tl_op(t, op->next);
	uint64_t from = op->end + t->gap;

	if (!next || tl_start_on(s, next) >= from)
		return;
	for (struct tl_op *done = tl_op(t, op->next); done && done->id != s->head;
	     done = tl_op(t, done->next)) {
		done->flags &= (uint8_t)~TL_OP_SETTLED;
		done->shift = s->shift;
		s->outstanding++;
	}
	s->head = op->next;
	if (s->loose > next->id)
		move_back(t, s, next, from);
	else /* they follow each other closely: all of them at once */
		s->shift += (int64_t)(from - tl_start_on(s, next));
}

void tl_extend(struct timeline *t, struct tl_op *op, uint64_t end)
{
	struct tl_stream *s = tl_op_stream(t, op);

	/* It and all before it. */
	for (struct tl_op *first = s ? tl_op(t, s->head) : NULL; first && first->id <= op->id;
	     first = tl_op(t, s->head)) {
		settle(s, first);
		s->head = first->next;
		s->outstanding--;
	}
	if (s && !(op->flags & TL_OP_SETTLED))
		settle(s, op);
	if (op->end >= end)
		return;
	if (s && (!s->book || s->book > op->id)) {
		s->book = op->id;
		op->booked = tl_max(op->booked, op->end);
		tl_activate(t, s);
	}
	op->end = end;
	op->flags |= TL_OP_CUT;
	if (s) {
		s->settled = tl_max(s->settled, end);
		push_back(t, s, op);
	}
}
