/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the timeline, for its own files: timeline_begin.c (making it), timeline.c (the way
 * of a record through it),
 * timeline_threads.c (what threads did), timeline_streams.c (streams and events),
 * timeline_work.c (pieces of work and their places), timeline_issue.h (what is inline of it),
 * timeline_launch.c (the short way of launches), timeline_durations.c (how long work takes),
 * timeline_ends.c (that it has ended, or has not yet), timeline_ops.h (what is inline of these),
 * timeline_waits.c (what calls that waited tell), timeline_queue.c (the launch queue),
 * timeline_device.c (busy and idle), timeline_book.c (work in the order of its start),
 * timeline_busy.h (what is inline of these two), timeline_exact.c (CUPTI),
 * timeline_exact_implausible.c (times of CUPTI's that cannot be), timeline_exact_late.c (what CUPTI
 * tells too late), timeline_watch.c (who draws it).
 *
 * Times are ticks below TL_TICKS_MOST; records with later ones are not taken. The memory comes
 * zeroed, so 0 means none: ids count from 1, and an index into an array is kept plus one ("place +
 * 1").
 */
#ifndef SPY_TIMELINE_INTERNAL_H
#define SPY_TIMELINE_INTERNAL_H

#include "shim/core/cuda/roles.h"
#include "shim/core/timeline/timeline.h"
#include "shim/core/timeline/timeline_state.h"
#include "shim/core/work/work_class.h"

/* ---- timeline_begin.c ---- */

uint64_t tl_ticks(const struct timeline *t, double ns);
/* Sets ticks a ns by the recording's newest readings of the clocks, and what is computed from it.
 */
void tl_set_rate(struct timeline *t);
/* Looks whether the window has begun; where an earlier timeline wrote figures, starts behind them.
 */
void tl_find_window(struct timeline *t);

/* ---- timeline.c ---- */

/* One call whose turn has come; `exact`: what CUPTI says of its work, NULL = nothing. */
void tl_take(struct timeline *t, uint32_t thread, const struct tf_record *r, unsigned cls,
             struct tf_work *work, struct tl_delayed *exact);
/* The kind of the work that a call gave to the GPU; TF_WORK_NONE where it gave none. */
enum tf_work_kind tl_work_of(const struct tf_record *r, unsigned cls);
/* Computes the costs of copies once NVML's thread has told the width of the PCIe link. */
void tl_look_at_bus(struct timeline *t);

static inline struct tl_chunk *tl_chunk_at(struct timeline *t, uint32_t chunk)
{
	return chunk ? &t->chunks[chunk - 1] : NULL;
}

static inline uint64_t tl_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t tl_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The two parts of `latency`: before work starts, and after it ended. */
static inline uint64_t tl_start_latency(const struct timeline *t)
{
	return t->latency / 2 < t->start_latency ? t->latency / 2 : t->start_latency;
}

static inline uint64_t tl_return_latency(const struct timeline *t)
{
	return t->latency - tl_start_latency(t);
}

/* Notes the end of a call; calls come in the order of their ends. */
static inline void tl_called(struct timeline *t, uint32_t thread, uint64_t end)
{
	if (thread != t->last_thread)
		t->others_end = t->last_end;
	t->last_thread = thread;
	t->last_end = end;
}

/* ---- timeline_threads.c ---- */

/* How a call's time divides: `before` until `split`, then `after`. */
struct tl_split {
	uint64_t at;
	uint8_t before, after;
};

/* A nested call: its time is taken out of its caller's, which is still to come. */
void tl_nested(struct timeline *t, uint32_t thread, uint64_t start, uint64_t end, unsigned state);
/* Time of the nested calls inside the one that starts at `start`. */
uint64_t tl_sum_nested(const struct timeline *t, uint32_t thread, uint64_t start);

static inline uint64_t tl_nested_ticks(const struct timeline *t, uint32_t thread, uint64_t start)
{
	return t->threads[thread].nested_count ? tl_sum_nested(t, thread, start) : 0;
}

/* Adds a call of the program to its thread's segments and totals. */
void tl_spent(struct timeline *t, uint32_t thread, uint64_t start, uint64_t end,
              struct tl_split split);
/* Adds time that the shim itself took of the thread. */
void tl_own(struct timeline *t, uint32_t thread, uint64_t start, uint64_t end);

/* Called for each stretch of a thread's time, in order. */
typedef void tl_stretch(struct timeline *t, void *context, unsigned state, uint64_t start,
                        uint64_t end);
/* Calls `tell` for all of what the thread did in [from, to), outside of calls too. */
void tl_divide(struct timeline *t, uint32_t thread, uint64_t from, uint64_t to, tl_stretch *tell,
               void *context);

/* Continues the merged host up to `until` with what this thread did: it issues work now. */
void tl_host(struct timeline *t, uint32_t thread, uint64_t until);

/* Adds a stretch to the merged host; a tl_stretch. */
void tl_to_host(struct timeline *t, void *context, unsigned state, uint64_t start, uint64_t end);

/* The thread in the recording; NULL where it is not there. */
struct tf_thread *tl_find_thread(struct timeline *t, uint32_t thread);

static inline struct tf_thread *tl_thread_of(struct timeline *t, uint32_t thread)
{
	struct tf_thread *figures = t->threads[thread].figures;

	return figures ? figures : tl_find_thread(t, thread);
}

/* ---- timeline_streams.c ---- */

void tl_stream_made(struct timeline *t, const struct tf_record *r);
void tl_stream_gone(struct timeline *t, uint32_t thread, const struct tf_record *r);

void tl_event_record(struct timeline *t, uint32_t thread, const struct tf_record *r);
void tl_event_wait(struct timeline *t, uint32_t thread, const struct tf_record *r);
void tl_event_gone(struct timeline *t, uint64_t handle);
/* cuLaunchHostFunc() and its like: shim/core/cuda/host_functions.h. */
void tl_host_function(struct timeline *t, uint32_t thread, const struct tf_record *r);
/* NULL when it was never recorded, as far as is known. */
struct tl_event *tl_event(struct timeline *t, uint64_t handle);

/* Of two ops (ids; 0 = none) the one that ends later, by estimate. */
uint64_t tl_later_op(struct timeline *t, uint64_t a, uint64_t b);
/* The op of another stream of its device that ends last of those that work on `s` waits for because
 * of the legacy default stream; 0 = none. */
uint64_t tl_legacy_wait(struct timeline *t, const struct tl_stream *s);

static inline uint32_t tl_place(const struct timeline *t, const struct tl_stream *s)
{
	return (uint32_t)(s - t->streams) + 1;
}

/* ---- timeline_work.c ---- */

/* Puts a call's work behind what is on its stream, and returns it. `from`: until when the call
 * waited for earlier work; its start where it did not. */
struct tl_op *tl_issue(struct timeline *t, uint32_t thread, const struct tf_record *r,
                       enum tf_work_kind kind, struct tf_work *work, struct tl_delayed *exact,
                       uint64_t from);

/* ---- timeline_ends.c ---- */

/* A call showed that op `last` of a stream, and all before it, had ended by tick `by`. Ops whose
 * estimated end is later are moved to an earlier time, and made shorter where they do not fit. */
void tl_finished(struct timeline *t, struct tl_stream *s, uint64_t last, uint64_t by);
/* A call showed that the op ended only at tick `end`: it is made longer, and ops behind it on its
 * stream move to a later time. */
void tl_extend(struct timeline *t, struct tl_op *op, uint64_t end);

/* ---- timeline_waits.c ---- */

/* A sync: until when it was useful. */
uint64_t tl_sync(struct timeline *t, uint32_t thread, const struct tf_record *r,
                 enum cuda_role role);
void tl_query(struct timeline *t, uint32_t thread, const struct tf_record *r, enum cuda_role role);
/* All that a wait for this stream would wait for had ended by tick `by`. */
void tl_awaited_by(struct timeline *t, const struct tl_stream *stream, uint64_t by);
/* A blocking copy or set, an allocation, a module load: how long it waited for earlier work. */
struct tl_split tl_implicit(struct timeline *t, uint32_t thread, const struct tf_record *r,
                            unsigned cls, unsigned state, struct tf_work *work,
                            enum cuda_role role);

/* ---- timeline_queue.c ---- */

/* Id of the op that the next call waits for when the queue is full (tl_queue.back). `op`: the
 * queue's last; NULL where the queue has too many entries to end the search there. */
uint64_t tl_find_back(struct timeline *t, const struct tl_queue *q, const struct tl_op *op);
/* Whether it is the op that the next call waits for when the queue is full. */
bool tl_is_back(const struct tl_stream *s, const struct tl_op *op);
/* The op is about to be forgotten: the queue no longer refers to it. */
void tl_unqueued(struct timeline *t, struct tl_stream *s, const struct tl_op *op);
/* A launch, of a kernel or a graph: launch, back-pressure, contention or loading. */
struct tl_split tl_launch(struct timeline *t, uint32_t thread, const struct tf_record *r);
/* Whether a call that took `ticks` waited for room in queue `q` of its stream. Where it did, the
 * queue was full until its return: estimates that say otherwise are corrected. */
bool tl_waited_for_place(struct timeline *t, struct tl_stream *s, struct tl_queue *q, uint64_t end,
                         uint64_t ticks, uint64_t typical);
/* A call waited for room in the queue until tick `at`: the op CUDA_QUEUE_ENTRIES entries before
 * ended at that moment. */
void tl_queue_moved(struct timeline *t, struct tl_stream *s, struct tl_queue *q, uint64_t at);
/* A copy or set that only gives work to its stream: whether it waited for a place there. `typical`:
 * what such calls typically take, ticks. */
struct tl_split tl_submit(struct timeline *t, uint32_t thread, const struct tf_record *r,
                          enum tf_work_kind kind, uint32_t *typical);

/* ---- timeline_device.c ---- */

/* Finds a device's figures in the recording, or makes room for them. */
void tl_find_device(struct timeline *t, unsigned index);

static inline struct tl_device *tl_device(struct timeline *t, unsigned index)
{
	if (!t->device[index].tried)
		tl_find_device(t, index);
	return &t->device[index];
}

void tl_book(struct timeline *t, const struct tl_piece *p);
/* Counts a piece of work, and the time from its launch's return to its start. */
void tl_count_work(struct timeline *t, const struct tl_piece *p, uint32_t kernel, bool known);
/* Books the device as idle up to `until`, the end of the window. */
void tl_book_rest(struct timeline *t, unsigned device, uint64_t until);

/* ---- timeline_book.c ---- */

/* Books the work of all streams of a device up to tick `until`. */
void tl_book_streams(struct timeline *t, unsigned device, uint64_t until);

/* ---- timeline_watch.c ---- */

/* A stretch of an op is booked; `last`: no more of it follows. */
void tl_tell_op(struct timeline *t, const struct tl_op *op, const struct tl_piece *p, bool last)
        __attribute__((noinline));
/* Tells the watcher of work that is placed behind the window's end. */
void tl_tell_rest(struct timeline *t);

/* ---- timeline_exact.c ---- */

/* The same of activities of CUPTI's. */
void tl_tell_exact_rest(struct timeline *t);

void tl_exact_call(struct timeline *t, uint32_t thread, const struct tf_record *r, unsigned cls,
                   struct tf_work *work);
/*
 * Takes the calls whose activities are known and books activities before tick `now`, before which
 * no record will come any more. `all`: waits for no further activity. Returns the tick up to which
 * streams may be settled: `now`, or the start of the first call that still waits for its activity.
 */
uint64_t tl_exact_advance(struct timeline *t, uint64_t now, bool all);
/* Work that CUPTI told nothing of: an activity is made of its estimated times. */
void tl_exact_guess(struct timeline *t, const struct tl_op *op, const struct tl_delayed *d);

/* What CUPTI tells of a call's work is found by. */
static inline uint64_t tl_cause_of(const struct tl_delayed *d)
{
	return TF_CAUSE(d->thread, d->r.start);
}

static inline uint32_t tl_cause_hash(uint64_t cause)
{
	return (uint32_t)((cause * 0x9e3779b97f4a7c15u) >> 32);
}

/* ---- timeline_exact_implausible.c ---- */

/* The call gave several pieces of work. */
bool tl_exact_is_several(const struct tl_delayed *d);
/* A copy that took so long by CUPTI that its times are checked before they count. */
bool tl_exact_is_long_copy(const struct timeline *t, const struct tl_delayed *d);
/* CUPTI's times of this copy, the oldest call's, cannot be true: implausible.h. */
bool tl_exact_is_implausible(const struct timeline *t, const struct tl_delayed *d);

/* ---- timeline_exact_late.c ---- */

/* This call is waited for no more. */
void tl_exact_give_up(struct tl_exact *x, const struct tl_delayed *d);
/* Whether this activity is of such a call: its guess stands in its place. Its time counts for the
 * class of its work, where it is the whole time of it: of a batch no one copy has the time of all,
 * of a graph's nodes no one node. */
bool tl_exact_tell_late(struct timeline *t, const struct tl_activity *a);

#endif
