/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_ops.h"

#include "shim/core/cuda/communication.h"
#include "shim/core/format/histogram.h"
#include "shim/core/work/work_class.h"

#define KERNEL_HISTS 4096u /* kernels with a histogram of queue times: bounds what they cost */

/* ---- devices ---- */

/* Upto where a device's figures reach: what they sum to. 0 = they cannot be. */
static uint64_t reach(const struct tf_device_time *time)
{
	uint64_t sum = time->from;

	if (sum >= TL_TICKS_MOST || time->total.busy >= TL_TICKS_MOST)
		return 0;
	sum += time->total.busy;
	for (int i = 0; i < TF_IDLES; i++) {
		if (time->total.idle[i] >= TL_TICKS_MOST)
			return 0;
		sum += time->total.idle[i];
	}
	return sum < TL_TICKS_MOST ? sum : 0;
}

void tl_find_device(struct timeline *t, unsigned index)
{
	struct tl_device *d = &t->device[index];
	uint64_t *offset = &tf_header(t->map)->devices_time[index];

	d->tried = true;
	bool found = *offset != 0;
	if (!found)
		*offset = t->map->alloc(t->map, sizeof(*d->time));
	d->time = tf_at(t->map, *offset, sizeof(*d->time));
	if (!d->time)
		return;
	if (!found)
		d->time->from = d->time->until = t->window;
	uint64_t until = reach(d->time);
	if (!until)
		d->time = NULL;
	for (int i = 0; i < TL_UNIONS; i++)
		d->until[i] = d->begun = until;
}

static void deactivate(struct timeline *t, struct tl_stream *s)
{
	struct tl_device *d = &t->device[s->device];
	uint32_t place = s->active - 1;

	d->active[place] = d->active[--d->actives];
	t->streams[d->active[place] - 1].active = place + 1;
	s->active = 0;
}

void tl_find_kernel(struct timeline *t, uint32_t kernel)
{
	const struct tf_kernel *k =
	        tf_entry(t->map, &tf_header(t->map)->kernels, kernel, sizeof(*k));
	const char *name = k ? tf_text(t->map, k->name, NULL) : NULL;

	t->kernels[kernel].named = true;
	t->kernels[kernel].comm = name && cuda_communicates(name);
}

/* ---- busy and idle ---- */

/* Adds [start, end) to a counter of a device: in its total and its slices. `offset`: in struct
 * tf_busy. */
static inline void add(struct timeline *t, struct tl_device *d, size_t offset, uint64_t start,
                       uint64_t end)
{
	*(uint64_t *)((uint8_t *)&d->time->total + offset) += end - start;
	if (d->slice)
		*(uint64_t *)((uint8_t *)d->slice + offset) += end - start;
	else
		slices_add(t->map, t->slices, &t->device_slice, d->time->slices.busy,
		           sizeof(d->time->slices.busy[0]), offset, start, end);
}

/* What is added until the next call lies in [start, end]: in one slice, most of the time. */
static inline void add_within(struct timeline *t, struct tl_device *d, uint64_t start, uint64_t end)
{
	const struct slice_cursor *at = &t->device_slice;
	bool one = t->slices && slice_holds(t->slices, at, start, end);

	d->slice = one ? &d->time->slices.busy[at->index] : NULL;
}

static void idle(struct timeline *t, void *context, unsigned state, uint64_t start, uint64_t end)
{
	static const uint8_t causes[16] = {
	        [TF_HOST_LAUNCH] = TF_IDLE_LAUNCH,     [TF_HOST_BACK_PRESSURE] = TF_IDLE_LAUNCH,
	        [TF_HOST_CONTENTION] = TF_IDLE_LAUNCH, [TL_HOST_ISSUE] = TF_IDLE_LAUNCH,
	        [TF_HOST_SYNC_USEFUL] = TF_IDLE_SYNC,  [TF_HOST_SYNC_WASTED] = TF_IDLE_SYNC,
	        [TF_HOST_COPY] = TF_IDLE_COPY,         [TF_HOST_ALLOC] = TF_IDLE_ALLOC,
	        [TF_HOST_MODULE] = TF_IDLE_MODULE,     [TF_HOST_OTHER] = TF_IDLE_OUTSIDE,
	        [TF_HOST_OUTSIDE] = TF_IDLE_OUTSIDE,   [TL_HOST_UNKNOWN] = TF_IDLE_UNKNOWN,
	        [TF_HOST_OWN] = TF_IDLE_OWN,
	};

	add(t, context, offsetof(struct tf_busy, idle) + causes[state & 15] * sizeof(uint64_t),
	    start, end);
}

static inline void idle_for(struct timeline *t, struct tl_device *d, enum tf_idle cause,
                            uint64_t start, uint64_t end)
{
	if (start < end)
		add(t, d, offsetof(struct tf_busy, idle) + cause * sizeof(uint64_t), start, end);
}

/* Idle in [start, end), until this piece of work began. */
static inline void book_idle(struct timeline *t, struct tl_device *d, const struct tl_piece *p,
                             uint64_t start, uint64_t end)
{
	uint64_t launched = p->returned + tl_start_latency(t);

	if (p->flags & TL_OP_NODE || !p->returned) { /* the GPU is on its own within a graph */
		idle_for(t, d, p->flags & TL_OP_NODE ? TF_IDLE_DEPENDENCY : TF_IDLE_UNKNOWN, start,
		         end);
		return;
	}
	if (start < p->returned)
		tl_divide(t, p->thread, start, tl_min(end, p->returned), idle, d);
	idle_for(t, d, TF_IDLE_LAUNCH, tl_max(start, p->returned), tl_min(end, launched));
	idle_for(t, d, TF_IDLE_DEPENDENCY, tl_max(start, launched), end);
}

/* The part of [start, end) that the union did not hold yet; nothing is left: start = end. */
static inline uint64_t grow(struct tl_device *d, enum tl_union u, uint64_t start, uint64_t end)
{
	start = tl_min(tl_max(start, d->until[u]), end);
	if (end > d->until[u])
		d->until[u] = end;
	return start;
}

static inline void overlapped(struct tf_stream *row, uint64_t start, uint64_t end)
{
	if (row && start < end)
		row->overlapped_ticks += end - start;
}

static void take_back(uint64_t *counter, uint64_t by)
{
	*counter -= tl_min(*counter, by);
}

/* Time of work of its own is taken out of what communication had alone. */
static void not_alone(struct timeline *t, struct tf_device_time *time, uint64_t start, uint64_t end)
{
	const struct tf_slices *s = slices_until(t->map, end);

	take_back(&time->total.comm, end - start);
	const uint64_t width = s ? slices_width(s) : 0, origin = s ? s->origin : 0;
	for (uint64_t at = start; width && at < end;) {
		uint64_t i = slice_of(at > origin ? at - origin : 0, width);
		uint64_t until = tl_min(end, origin + (i + 1) * width);
		if (i >= TF_SLICES || until <= at)
			break;
		take_back(&time->slices.busy[i].comm, until - at);
		at = until;
	}
}

/* Kernels' and copies' own unions, and where they lay over each other. */
static inline void book_kind(struct timeline *t, struct tl_device *d, const struct tl_piece *p,
                             uint64_t from, bool copy)
{
	enum tl_union mine = copy ? TL_COPY : TL_KERNEL;
	bool longest = p->end > d->until[mine];
	uint64_t start = grow(d, mine, from, p->end);

	if (copy && longest)
		d->copy_row = p->row;
	if (start == p->end)
		return;
	add(t, d, copy ? offsetof(struct tf_busy, copies) : offsetof(struct tf_busy, kernels),
	    start, p->end);
	if (copy)
		overlapped(p->row, start, tl_min(p->end, d->until[TL_KERNEL]));
	else
		overlapped(d->copy_row, start, tl_min(p->end, d->until[TL_COPY]));
}

/* What comes late, ahead of what is booked, counts from where the device was busy anyway. */
static inline __attribute__((always_inline)) void
book(struct timeline *t, struct tl_device *d, const struct tl_piece *p, bool copy, bool comm)
{
	struct tf_device_time *time = d->time;

	if (!time || p->end < p->start)
		return;
	time->work_ticks += p->end - p->start;
	if (p->flags & TL_OP_UNKNOWN)
		time->guessed_ticks += p->end - p->start;
	if (p->row)
		*(copy ? &p->row->copy_ticks : &p->row->kernel_ticks) += p->end - p->start;
	/* Nothing but work of its own runs: what one union grows by the other does too. */
	bool simple =
	        !comm && (d->until[TL_OWN] == d->until[TL_ANY] || p->start >= d->until[TL_ANY]);
	add_within(t, d, tl_min(p->start, d->until[TL_ANY]), p->end);
	if (p->start > d->until[TL_ANY]) {
		book_idle(t, d, p, d->until[TL_ANY], p->start);
		d->until[TL_ANY] = d->begun = p->start;
	}
	uint64_t from = tl_min(tl_max(p->start, d->begun), p->end);
	uint64_t start = grow(d, TL_ANY, from, p->end);
	if (start < p->end) {
		add(t, d, offsetof(struct tf_busy, busy), start, p->end);
		if (!simple)
			add(t, d, offsetof(struct tf_busy, comm), start, p->end);
	}
	time->until = d->until[TL_ANY];
	if (simple) {
		d->until[TL_OWN] = d->until[TL_ANY];
	} else if (!comm) {
		start = grow(d, TL_OWN, from, p->end);
		if (start < p->end)
			not_alone(t, time, start, p->end);
	}
	book_kind(t, d, p, from, copy);
}

void tl_book(struct timeline *t, const struct tl_piece *p)
{
	book(t, tl_device(t, p->device), p, p->kind == TF_WORK_COPY || p->kind == TF_WORK_SET,
	     p->flags & TL_OP_COMM);
}

void tl_book_rest(struct timeline *t, unsigned device, uint64_t until)
{
	struct tl_device *d = &t->device[device];

	if (!d->time || until <= d->until[TL_ANY])
		return;
	add_within(t, d, d->until[TL_ANY], until);
	tl_divide(t, t->host_thread, d->until[TL_ANY], until, idle, d);
	d->until[TL_ANY] = d->time->until = until;
}

/* A kernel's figures, found once; NULL where it has none. */
static inline struct tl_kernel *kernel_of(struct timeline *t, uint32_t kernel)
{
	struct tl_kernel *k = kernel < TF_KERNELS_MAX ? &t->kernels[kernel] : NULL;

	if (k && !k->figures)
		k->figures =
		        tf_entry(t->map, &tf_header(t->map)->kernels, kernel, sizeof(*k->figures));
	return k && k->figures ? k : NULL;
}

static void find_queue(struct timeline *t, struct tl_kernel *k, uint32_t kernel)
{
	if (!k->figures->queue_hist && kernel < KERNEL_HISTS)
		k->figures->queue_hist = t->map->alloc(t->map, sizeof(*k->queue));
	k->queue = tf_at(t->map, k->figures->queue_hist, sizeof(*k->queue));
}

static inline __attribute__((always_inline)) void count_work(struct timeline *t,
                                                             struct tf_device_time *time,
                                                             const struct tl_piece *p,
                                                             uint32_t kernel, bool known)
{
	struct tl_kernel *k;

	if (time) {
		time->work++;
		time->work_unknown += !known;
	}
	if (p->kind != TF_WORK_KERNEL || !p->returned || p->start <= p->returned)
		return;
	k = kernel_of(t, kernel);
	if (!k)
		return;
	k->figures->queue_count++;
	k->figures->queue_ticks += p->start - p->returned;
	if (!k->queue)
		find_queue(t, k, kernel);
	if (k->queue)
		hist_add(k->queue, p->start - p->returned);
}

void tl_count_work(struct timeline *t, const struct tl_piece *p, uint32_t kernel, bool known)
{
	count_work(t, tl_device(t, p->device)->time, p, kernel, known);
}

/* ---- the streams' work, in the order of its start ---- */

static inline uint64_t next_start(struct timeline *t, const struct tl_stream *s)
{
	const struct tl_op *op = tl_op(t, s->book);

	return op ? tl_max(tl_start_on(s, op), op->booked) : UINT64_MAX;
}

static void sift_down(struct tl_turn *turns, uint32_t n, uint32_t at)
{
	struct tl_turn turn = turns[at];

	for (uint32_t child = 2 * at + 1; child < n; at = child, child = 2 * at + 1) {
		if (child + 1 < n && turns[child + 1].start < turns[child].start)
			child++;
		if (turns[child].start >= turn.start)
			break;
		turns[at] = turns[child];
	}
	turns[at] = turn;
}

/* Books the next work of a stream as far as `up to`; when the one after it starts, or UINT64_MAX
 * where there is none yet. */
static inline uint64_t book_next(struct timeline *t, struct tl_device *d, struct tl_stream *s,
                                 uint64_t until)
{
	struct tl_op *op = tl_op(t, s->book);
	uint64_t from = tl_start_on(s, op), end = from + (op->end - op->start);
	uint64_t start = tl_max(from, op->booked);
	const struct tl_piece piece = {.start = start,
	                               .end = tl_max(start, tl_min(end, until)),
	                               .returned = op->returned,
	                               .row = s->row,
	                               .thread = op->thread,
	                               .device = s->device,
	                               .kind = op->kind,
	                               .flags = op->flags};

	if (!(op->flags & TL_OP_COUNTED))
		count_work(t, d->time, &piece, op->kernel, !(op->flags & TL_OP_UNKNOWN));
	op->flags |= TL_OP_COUNTED;
	if (op->kind == TF_WORK_KERNEL && !(op->flags & TL_OP_COMM))
		book(t, d, &piece, false, false);
	else
		tl_book(t, &piece);
	if (t->watch)
		tl_tell_op(t, op, &piece, end <= until);
	op->booked = piece.end;
	if (end > until)
		return UINT64_MAX;
	s->book = op->next;
	return next_start(t, s);
}

void tl_book_streams(struct timeline *t, unsigned device, uint64_t until)
{
	struct tl_device *d = tl_device(t, device);
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->actives; i++) {
		uint64_t start = next_start(t, &t->streams[d->active[i] - 1]);
		if (start < until)
			t->turns[n++] = (struct tl_turn){start, d->active[i]};
	}
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(t->turns, n, i);
	while (n) {
		struct tl_stream *s = &t->streams[t->turns[0].stream - 1];
		uint64_t start, limit = until;
		for (uint32_t next = 1; next < n && next <= 2; next++)
			limit = tl_min(limit, t->turns[next].start + 1);
		do /* as long as it is its turn */
			start = book_next(t, d, s, until);
		while (start < limit);
		if (start < until)
			t->turns[0].start = start;
		else
			t->turns[0] = t->turns[--n];
		sift_down(t->turns, n, 0);
	}
	for (uint32_t i = d->actives; i-- > 0;) {
		struct tl_stream *s = &t->streams[d->active[i] - 1];
		tl_retire(t, s, until);
		if (!s->head && !s->book)
			deactivate(t, s);
	}
}
