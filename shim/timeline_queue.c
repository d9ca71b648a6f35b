#include "shim/timeline_ops.h"

/*
 * The launch queue: the driver takes TL_QUEUE entries a stream, then the next call waits until the
 * oldest has ended. Not only launches are entries, and not only launches wait: copies, sets, events
 * recorded and waited for, and what the sampler gives to the stream around a launch.
 */
/* Entries outstanding, by estimate, where a call that takes longer waits; where it takes clearly
 * longer, or one after the other does: estimates may be too short. */
#define QUEUE_FULL     900u
#define QUEUE_LIKELY   512u
#define GRAPHS_FULL    8u  /* graph launches outstanding where one that takes longer waits */
#define LASTING        16u /* calls that take longer, less those between that do not */
#define SAMPLE_ENTRIES 3u  /* around a sampled launch: a kernel of ours, two events */

/* Entries from op `op` on. */
static uint32_t entries_from(const struct tl_stream *s, const struct tl_op *op)
{
	return s->entries + 1 - op->entry;
}

void tl_enqueued(struct timeline *t, struct tl_stream *s, uint32_t entries)
{
	const struct tl_op *back = tl_op(t, s->back), *next = back ? tl_op(t, back->next) : NULL;

	s->entries += entries;
	for (; next && entries_from(s, next) >= TL_QUEUE; next = tl_op(t, next->next))
		s->back = next->id;
}

/* A call waited until tick `at` for the queue: the op TL_QUEUE entries before it ended just then.
 */
static void queue_moved(struct timeline *t, struct tl_stream *s, uint64_t at)
{
	struct tl_op *moved_on = tl_op(t, s->back);

	if (!moved_on || entries_from(s, moved_on) < TL_QUEUE)
		return;
	if (s->head <= moved_on->id && s->head) { /* the estimate was too long */
		tl_finished(t, s, moved_on->id, at);
		return;
	}
	if (moved_on->end >= at)
		return;
	/* Too short. A copy's bytes bound its time: what lasted are kernels behind it, of places
	 * not known. */
	const struct tl_op *behind = tl_op(t, moved_on->next);
	if (behind && behind->kind == TF_WORK_KERNEL && moved_on->kind != TF_WORK_KERNEL)
		moved_on->kind = TF_WORK_GRAPH; /* several kernels as one */
	tl_extend(t, moved_on, at);
}

/* Notes whether one call after the other takes longer than it typically does. */
static bool lasts(struct tl_stream *s, bool longer)
{
	if (longer)
		s->lasting = (uint8_t)tl_min(s->lasting + 2u, 2 * LASTING);
	else if (s->lasting)
		s->lasting--;
	return s->lasting >= LASTING;
}

/*
 * Whether a call that took `ticks` waited for a place in the queue of its stream. Where it shows
 * that the estimate is wrong by it, the timeline is put right.
 */
static bool waited(struct timeline *t, struct tl_stream *s, uint64_t end, uint64_t ticks,
                   uint64_t typical)
{
	const struct tl_op *head = tl_op(t, s->head);
	uint32_t queued = head ? entries_from(s, head) : 0, since = s->entries - s->proof;
	bool clearly = tl_is_long(t, typical, ticks), longer = ticks > typical + typical / 4;

	if (!typical)
		return false;
	bool unknown = clearly && s->unknown > s->since_proof / 8; /* which may be long */
	if (queued < QUEUE_FULL && (since < QUEUE_FULL || (queued < QUEUE_LIKELY && !unknown))) {
		s->lasting = 0;
		return false;
	}
	bool lasting = lasts(s, longer);
	if (queued < QUEUE_FULL && !clearly && !lasting)
		return false;
	/* Work of other streams may have held it up as well: whose was too long is not known. */
	bool alone = t->device[s->device].actives <= 1;
	if (t->mode == TF_GPU_SAMPLE && alone && (clearly || (longer && lasting)))
		queue_moved(t, s, end);
	return ticks > typical + typical / 8;
}

static uint64_t ticks_of(const struct timeline *t, uint32_t thread, const struct tf_record *r)
{
	uint64_t nested = tl_nested_ticks(t, thread, r->start), ticks = r->end - r->start;

	return ticks - tl_min(nested, ticks);
}

/* Up to date for a call from `start` to `end`: no more is queued than there can be. */
static void catch_up(struct timeline *t, struct tl_stream *s, uint64_t start, uint64_t end)
{
	tl_retire(t, s, start);
	const struct tl_op *head = tl_op(t, s->head);
	if (t->mode == TF_GPU_SAMPLE && head && entries_from(s, head) > TL_QUEUE + TL_QUEUE / 16)
		queue_moved(t, s, end);
}

struct tl_split tl_launch(struct timeline *t, uint32_t thread, const struct tf_record *r,
                          unsigned class)
{
	struct tl_split split = {r->start, TF_HOST_LAUNCH, TF_HOST_LAUNCH};
	uint32_t *typical = &t->call_typical[r->call];
	uint64_t ticks = ticks_of(t, thread, r);

	if (r->flags & TF_FIRST) { /* what it takes longer is loading */
		split.before = TF_HOST_MODULE;
		split.at = *typical && ticks > *typical ? r->end - *typical : r->start;
		return split;
	}
	if (r->result || t->mode == TF_GPU_OFF || r->flags & (TF_CAPTURED | TF_NO_ARGS))
		return split;
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	bool graph = class == SPY_CLASS_GRAPH_LAUNCH, clearly = tl_is_long(t, *typical, ticks),
	     full;
	if (graph) {
		tl_retire(t, s, r->start);
		full = clearly && s->outstanding >= GRAPHS_FULL;
	} else {
		catch_up(t, s, r->start, r->end);
		full = waited(t, s, r->end, ticks, *typical);
	}
	if (full || clearly) {
		split.before = full ? TF_HOST_BACK_PRESSURE : TF_HOST_CONTENTION;
		split.at = r->end - *typical;
	}
	tl_learn(typical, ticks, full || s->since_proof >= QUEUE_FULL);
	if (r->flags & TF_SAMPLED)
		tl_enqueued(t, s, SAMPLE_ENTRIES);
	return split;
}

struct tl_split tl_submit(struct timeline *t, uint32_t thread, const struct tf_record *r,
                          unsigned state, uint32_t *typical)
{
	struct tl_split split = {r->start, (uint8_t)state, (uint8_t)state};
	uint64_t ticks = ticks_of(t, thread, r);

	if (r->result || t->mode == TF_GPU_OFF || r->flags & (TF_CAPTURED | TF_NO_ARGS))
		return split;
	struct tl_stream *s = tl_stream(t, thread, r->stream, r->flags);
	catch_up(t, s, r->start, r->end);
	bool full = waited(t, s, r->end, ticks, *typical);
	if (full) {
		split.before = TF_HOST_SYNC_USEFUL;
		split.at = r->end - *typical;
	}
	tl_learn(typical, ticks, full || s->since_proof >= QUEUE_FULL);
	return split;
}
