/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_ops.h"

#include "shim/core/cuda/host_functions.h"
#include "shim/core/cuda/streams.h"

#define PROBES 16u

static uint32_t hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

	return (uint32_t)(h >> 32);
}

/* ---- streams ---- */

/* The stream's place is wanted for another: its ops that are not booked are lost, and counted. */
static void give_up(struct timeline *t, const struct tl_stream *s)
{
	struct tl_device *d = &t->device[s->device];
	uint32_t place = s->active - 1;

	for (const struct tl_op *op = tl_op(t, s->book); op; op = tl_op(t, op->next))
		tf_header(t->map)->anomaly[SPY_ANOMALY_TIMELINE]++;
	d->active[place] = d->active[--d->actives];
	t->streams[d->active[place] - 1].active = place + 1;
}

/* The place for a stream not seen yet: a free one, or that of the stream used longest ago. */
static struct tl_stream *find(struct timeline *t, uint64_t handle, uint64_t owner, bool *fresh)
{
	uint32_t at = hash(handle, owner);
	struct tl_stream *oldest = NULL;

	*fresh = false;
	for (uint32_t i = 0; i < PROBES; i++) {
		struct tl_stream *s = &t->streams[(at + i) % TL_STREAMS];
		if (s->generation && s->handle == handle && s->owner == owner)
			return s;
		if (!s->generation) {
			oldest = s;
			break;
		}
		if (!oldest || (!s->active && oldest->active) ||
		    (s->active == oldest->active && s->tail < oldest->tail))
			oldest = s;
	}
	if (oldest->active)
		give_up(t, oldest);
	*oldest = (struct tl_stream){.handle = handle, .owner = owner};
	oldest->generation = ++t->generation ? t->generation : ++t->generation;
	*fresh = true;
	return oldest;
}

static struct tl_stream *look_up(struct timeline *t, uint32_t thread, uint64_t handle,
                                 unsigned flags, unsigned device)
{
	uint64_t stream = cuda_stream(handle, flags), owner = 0;
	bool fresh;

	if (stream == CUDA_STREAM_PER_THREAD)
		owner = ((uint64_t)thread + 1) << 8 | device;
	else if (stream == CUDA_STREAM_LEGACY)
		owner = device + 1;
	struct tl_stream *s = find(t, stream, owner, &fresh);
	if (!fresh)
		return s;
	s->flags = cuda_stream_flags(stream);
	s->blocking = cuda_stream_is_blocking(s->flags);
	if (!cuda_stream_is_made(stream)) {
		s->device = (uint16_t)device;
		s->has_device = true;
	}
	if (stream == CUDA_STREAM_LEGACY)
		t->device[device].legacy = tl_place(t, s);
	return s;
}

struct tl_stream *tl_find_stream(struct timeline *t, uint32_t thread, uint64_t handle,
                                 unsigned flags)
{
	uint16_t device = t->threads[thread].device;

	flags &= TF_PTDS;
	struct tl_stream *s = look_up(t, thread, handle, flags, device);
	t->recent.handle = handle;
	t->recent.thread = thread;
	t->recent.flags = (uint16_t)flags;
	t->recent.device = device;
	t->recent.place = (uint32_t)(s - t->streams);
	t->recent.generation = s->generation;
	return s;
}

/* Its row may be there already: the stream's place had been given away, or it is the per-thread
 * default stream of one of many threads, which share a row. */
static struct tf_stream *known_row(const struct timeline *t, const struct tl_stream *s)
{
	const struct tf_table *table = &tf_header(t->map)->streams;
	uint32_t count = tf_count(table);

	for (uint32_t i = 0; i < count; i++) {
		struct tf_stream *row = tf_entry(t->map, table, i, sizeof(*row));
		if (row && row->handle == s->handle && row->device == s->device &&
		    row->flags == s->flags)
			return row;
	}
	return NULL;
}

void tl_find_row(struct timeline *t, struct tl_stream *s, unsigned device)
{
	struct tf_table *table = &tf_header(t->map)->streams;

	if (!s->has_device) {
		/* Ops of an earlier stream of the same handle may be outstanding: they keep their
		 * device. */
		if (!s->active)
			s->device = (uint16_t)device;
		s->has_device = true;
	}
	if (s->row || s->row_sought)
		return;
	s->row_sought = true;
	s->row = known_row(t, s);
	if (s->row || table->entry_bytes != sizeof(struct tf_stream))
		return;
	s->row = tf_append(t->map, table);
	if (!s->row) {
		tf_header(t->map)->anomaly[SPY_ANOMALY_STREAMS_FULL]++;
		return;
	}
	*s->row = (struct tf_stream){.handle = s->handle, .device = s->device, .flags = s->flags};
	tf_publish(table);
}

/* A stream was made; its handle may have been an earlier stream's. */
void tl_stream_made(struct timeline *t, const struct tf_record *r)
{
	bool fresh;

	if (r->result || !cuda_stream_is_made(r->stream))
		return;
	struct tl_stream *s = find(t, r->stream, 0, &fresh);
	s->flags = r->arg[0] & 0xffff;
	s->blocking = cuda_stream_is_blocking(s->flags);
	s->row = NULL;
	s->row_sought = false;
	s->wait = 0;
	if (!s->active)
		s->has_device = false;
}

/* The stream was destroyed: what it had been given still runs, a later stream of the same handle
 * waits for nothing. */
void tl_stream_gone(struct timeline *t, uint32_t thread, const struct tf_record *r)
{
	if (!r->result && cuda_stream_is_made(r->stream))
		tl_stream(t, thread, r->stream, r->flags)->wait = 0;
}

/* ---- events ---- */

struct tl_event *tl_event(struct timeline *t, uint64_t handle)
{
	uint32_t at = hash(handle, 0);

	for (uint32_t i = 0; handle && i < PROBES; i++) {
		struct tl_event *e = &t->events[(at + i) % TL_EVENTS];
		if (e->handle == handle)
			return e;
	}
	return NULL;
}

static struct tl_event *event_place(struct timeline *t, uint64_t handle)
{
	struct tl_event *e = tl_event(t, handle);
	uint32_t at = hash(handle, 0);

	for (uint32_t i = 0; !e && i < PROBES; i++) {
		struct tl_event *place = &t->events[(at + i) % TL_EVENTS];
		if (!place->handle)
			return place;
	}
	if (e)
		return e;
	e = &t->events[at % TL_EVENTS];
	for (uint32_t i = 1; i < PROBES; i++)
		if (t->events[(at + i) % TL_EVENTS].used < e->used)
			e = &t->events[(at + i) % TL_EVENTS];
	return e;
}

uint64_t tl_later_op(struct timeline *t, uint64_t a, uint64_t b)
{
	const struct tl_op *x = tl_op(t, a), *y = tl_op(t, b);

	if (!x || !y)
		return x ? a : y ? b : 0;
	return tl_op_end(t, x) < tl_op_end(t, y) ? b : a;
}

static uint64_t last_blocking(struct timeline *t, const struct tl_device *d)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < d->actives; i++) {
		const struct tl_stream *s = &t->streams[d->active[i] - 1];
		if (s->blocking)
			last = tl_later_op(t, last, tl_later_op(t, s->tail, s->wait));
	}
	return last;
}

uint64_t tl_legacy_wait(struct timeline *t, const struct tl_stream *s)
{
	const struct tl_device *d = &t->device[s->device];
	const struct tl_stream *legacy = d->legacy ? &t->streams[d->legacy - 1] : NULL;

	if (!s->has_device)
		return 0;
	if (cuda_stream_is_legacy(s->flags))
		return last_blocking(t, d);
	if (!legacy || !cuda_stream_waits(s->flags, legacy->flags))
		return 0;
	return tl_later_op(t, legacy->tail, legacy->wait);
}

/* Event records and waits are in stream order as work is: on the legacy default stream they come
 * behind what blocking streams have been given, and later work of those comes behind them. */
static void order(struct timeline *t, struct tl_stream *s)
{
	if (cuda_stream_is_legacy(s->flags))
		s->wait = tl_later_op(t, s->wait, tl_legacy_wait(t, s));
}

void tl_event_record(struct timeline *t, uint32_t thread, const struct tf_record *r)
{
	if (r->result || !r->event.event || r->flags & (TF_CAPTURED | TF_NO_ARGS))
		return;
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	order(t, s);
	const struct tl_op *last = tl_op(t, s->tail);
	const struct tl_event e = {
	        .handle = r->event.event,
	        .op = s->tail,
	        .wait = tl_later_op(t, s->wait, tl_legacy_wait(t, s)),
	        .used = ++t->event_uses,
	        .functions = last ? last->functions : 0,
	};
	const uint64_t ops[] = {e.op, e.wait};
	for (int i = 0; i < 2; i++) {
		struct tl_op *op = tl_op(t, ops[i]);
		if (op)
			op->flags |= TL_OP_EVENT;
	}
	*event_place(t, e.handle) = e;
}

void tl_event_wait(struct timeline *t, uint32_t thread, const struct tf_record *r)
{
	struct tl_event *e = r->result || r->flags & (TF_CAPTURED | TF_NO_ARGS)
	                             ? NULL
	                             : tl_event(t, r->event.event);

	if (!e)
		return;
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	s->wait = tl_later_op(t, s->wait, tl_later_op(t, e->op, e->wait));
	order(t, s);
}

/* Its entry stays in the hash table: a search for another event may have to pass it. */
void tl_event_gone(struct timeline *t, uint64_t handle)
{
	struct tl_event *e = tl_event(t, handle);

	if (e)
		e->op = e->wait = e->used = 0;
}

/* A host function holds up the op behind it; less where the op before it had ended long before. */
void tl_host_function(struct timeline *t, uint32_t thread, const struct tf_record *r)
{
	if (!cuda_gives_function(CUDA_ROLE_HOST_FUNCTION, r)) {
		t->host_functions = t->host_functions || !r->result;
		return;
	}
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	order(t, s);
	struct tl_op *last = tl_op(t, s->tail);
	if (last && last->functions < UINT8_MAX)
		last->functions++;
}
