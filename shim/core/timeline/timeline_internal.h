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
 * timeline_busy.h (what is inline of these two), timeline_exact.c (CUPTI), timeline_exact_untrue.c
 * (times of CUPTI's that cannot be), timeline_watch.c (who draws it).
 *
 * Times are ticks below TL_TICKS_MOST; records with later ones are not taken. Everything starts as
 * zeros: an id, a place or a number in a list that is 0 is none, so places are kept plus one.
 */
#ifndef SPY_TIMELINE_INTERNAL_H
#define SPY_TIMELINE_INTERNAL_H

#include "shim/core/cuda/roles.h"
#include "shim/core/gpu_time/estimate.h"
#include "shim/core/work/slices.h"
#include "shim/core/timeline/timeline.h"
#include "shim/core/timeline/timeline_activities.h"
#include "shim/core/timeline/timeline_streams.h"
#include "shim/core/timeline/timeline_threads.h"
#include "shim/core/work/work_class.h"

#define TL_TICKS_MOST (1ull << 60) /* leaves room for a state beside it, and for sums */

struct tl_mean { /* of a kernel, over its shapes */
	uint32_t kernel, count;
	double sum_ns;
};

struct tl_known { /* a class's duration as last asked for */
	uint64_t stamp;
	double ns;
	double rate;     /* ticks a ns that `ticks` were made with */
	uint64_t ticks;  /* TL_TICKS_MOST = unknown */
	double variance; /* between its pieces, ns squared */
	/* Of a class of kernels, as long as `version` is the timeline's. */
	uint64_t version, kernel_ticks;
	bool is_known;
};

struct tl_kernel {                 /* what was found of a kernel */
	struct tf_kernel *figures; /* NULL = not looked for, or not there */
	struct tf_hist *queue;     /* of queue times; NULL as well */
	bool named, comm;          /* `comm`: of a communication library */
};

struct timeline {
	struct tf_map *map;
	const struct timeline_watch *watch; /* NULL = nobody */
	unsigned mode;                      /* enum tf_gpu_mode */
	bool resumed;                       /* what was before is not known */
	uint64_t began;
	double ticks_per_ns;
	uint64_t window; /* its start; 0 = it has not begun */
	uint64_t seen;   /* the latest end of a call */

	/* merged host */
	uint64_t host_upto;
	uint32_t host_thread; /* that issued last, or called last */
	bool host_issued;

	/* ticks */
	uint64_t start_latency; /* at most: return of a launch to its start */
	uint64_t latency;       /* launch's return to start, and end to a wait's return, together */
	/* Between pieces of work of a stream, by their engines. */
	uint64_t space[CUDA_ENGINES][CUDA_ENGINES];
	uint64_t noise, stall, short_work;
	uint64_t function;  /* of the host's that does nothing, between pieces of work */
	uint32_t latencies; /* learned from */
	bool costs_due;
	/* As estimate_costs_among() asks. */
	uint64_t calibrated;
	bool copies_timed;
	bool host_functions; /* some were given to streams or graphs that are not known */
	uint64_t costs_version;
	uint64_t version; /* of all that durations of kernels come from; from 1 on */
	struct estimate_costs costs;

	struct tf_slices *slices; /* of the recording */
	struct tf_work *works;    /* NULL = not looked for, or not there */
	struct slice_cursor host_slice, device_slice;

	/* calls so far: the thread of the last one, its end, and that of the others' last one */
	uint32_t last_thread;
	uint64_t last_end, others_end;

	/* the stream asked for last */
	struct {
		uint64_t handle;
		uint32_t thread, generation, place;
		uint16_t flags, device;
	} recent;

	uint64_t last_op;
	uint64_t ops_mask; /* places in use, less one: doubled while old ops are in use */
	uint32_t generation;
	uint64_t event_uses;
	struct tl_device device[TF_DEVICES_TIMED];
	struct tl_turn turns[TL_STREAMS];
	uint32_t line[TL_OPS]; /* places of ops that are moved together */
	struct tl_op ops[TL_OPS];
	struct tl_stream streams[TL_STREAMS];
	struct tl_event events[TL_EVENTS];
	struct tl_mean means[TL_KERNELS];
	struct tl_known known[TF_WORKS];
	uint32_t work_typical[TF_WORKS];   /* of calls that give work of a class; ticks */
	uint32_t call_typical[TL_THREADS]; /* of a call id; ticks */
	uint8_t roles[TL_THREADS];         /* enum cuda_role + 1, by call id; 0 = not looked for */
	struct tl_kernel kernels[TF_KERNELS_MAX];

	uint32_t chunk_last;
	struct tl_chunk chunks[TL_CHUNKS];
	struct tl_thread threads[TL_THREADS];
	struct tl_exact exact;
};

/* ---- timeline_begin.c ---- */

uint64_t tl_ticks(const struct timeline *t, double ns);
/* Ticks a ns, as the recording's readings of the clocks have it by now, and what follows. */
void tl_set_rate(struct timeline *t);
/* The window's start, once it has begun; and up to where an earlier timeline came. */
void tl_find_window(struct timeline *t);

/* ---- timeline.c ---- */

/* One call whose turn has come; `exact`: what CUPTI says of its work, NULL = nothing. */
void tl_take(struct timeline *t, uint32_t thread, const struct tf_record *r, unsigned cls,
             struct tf_work *work, struct tl_delayed *exact);
/* The kind of the work that a call gave to the GPU; TF_WORK_NONE where it gave none. */
enum tf_work_kind tl_work_of(const struct tf_record *r, unsigned cls);
/* NVML may tell the link late, by its own thread. */
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

/* The two parts of `latency`. */
static inline uint64_t tl_start_latency(const struct timeline *t)
{
	return t->latency / 2 < t->start_latency ? t->latency / 2 : t->start_latency;
}

static inline uint64_t tl_return_latency(const struct timeline *t)
{
	return t->latency - tl_start_latency(t);
}

/* A call ended, after all that were told of. */
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

/* A call of the program: into the thread's history and its split. */
void tl_spent(struct timeline *t, uint32_t thread, uint64_t start, uint64_t end,
              struct tl_split split);
/* Time of the thread that was ours. */
void tl_own(struct timeline *t, uint32_t thread, uint64_t start, uint64_t end);

/* Told of each stretch of a thread's time, in order. */
typedef void tl_stretch(struct timeline *t, void *context, unsigned state, uint64_t start,
                        uint64_t end);
/* Tells what thread `thread` did in [from, to), all of it: what was in no call too. */
void tl_divide(struct timeline *t, uint32_t thread, uint64_t from, uint64_t to, tl_stretch *tell,
               void *context);

/* The merged host up to `up to`: what the thread did that issues work now. */
void tl_host(struct timeline *t, uint32_t thread, uint64_t until);

/* A stretch of the merged host: tl_stretch. */
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
/* A function of the host's goes on a stream: shim/core/cuda/host_functions.h. */
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

/* Work goes on the stream: its place on the timeline. `from`: where the call waited for work ahead,
 * until when. Returns it. */
struct tl_op *tl_issue(struct timeline *t, uint32_t thread, const struct tf_record *r,
                       enum tf_work_kind kind, struct tf_work *work, struct tl_delayed *exact,
                       uint64_t from);

/* ---- timeline_ends.c ---- */

/* A call showed that op `last` of a stream, and all before it, had ended by tick `by`. Those whose
 * estimated end is later move to an earlier time; where there is no room for all of them they are
 * made shorter. */
void tl_finished(struct timeline *t, struct tl_stream *s, uint64_t last, uint64_t by);
/* A call showed that the op ended only at tick `end`: it is made longer, and what is behind it on
 * its stream moves back. */
void tl_extend(struct timeline *t, struct tl_op *op, uint64_t end);

/* ---- timeline_waits.c ---- */

/* A sync: until when it was useful. */
uint64_t tl_sync(struct timeline *t, uint32_t thread, const struct tf_record *r,
                 enum cuda_role role);
void tl_query(struct timeline *t, uint32_t thread, const struct tf_record *r, enum cuda_role role);
/* All that a wait for this stream waits for ended by tick `by`. */
void tl_awaited_by(struct timeline *t, const struct tl_stream *stream, uint64_t by);
/* A blocking copy or set, an allocation, a module load: how long it waited for earlier work. */
struct tl_split tl_implicit(struct timeline *t, uint32_t thread, const struct tf_record *r,
                            unsigned cls, unsigned state, struct tf_work *work,
                            enum cuda_role role);

/* ---- timeline_queue.c ---- */

/* The op that the next call waits for. `op` is the queue's last, NULL: there are so many entries
 * that it cannot be. */
uint64_t tl_find_back(struct timeline *t, const struct tl_queue *q, const struct tl_op *op);
/* Whether it is the op that the next call waits for when the queue is full. */
bool tl_is_back(const struct tl_stream *s, const struct tl_op *op);
/* The op, its stream's first, is forgotten. */
void tl_unqueued(struct timeline *t, struct tl_stream *s, const struct tl_op *op);
/* A launch, of a kernel or a graph: launch, back-pressure, contention or loading. */
struct tl_split tl_launch(struct timeline *t, uint32_t thread, const struct tf_record *r);
/* Whether a call that took `ticks` waited for a place in queue `q` of its stream, which may be full
 * or not empty for long. Where it shows that the estimate is wrong by it, the timeline is put
 * right. */
bool tl_waited_for_place(struct timeline *t, struct tl_stream *s, struct tl_queue *q, uint64_t end,
                         uint64_t ticks, uint64_t typical);
/* A call waited until tick `at` for the queue: the op CUDA_QUEUE_ENTRIES entries before it ended
 * just then. */
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
/* The launch-to-start time of a piece of work, and that there is one. */
void tl_count_work(struct timeline *t, const struct tl_piece *p, uint32_t kernel, bool known);
/* The idle time at the end. */
void tl_book_rest(struct timeline *t, unsigned device, uint64_t until);

/* ---- timeline_book.c ---- */

/* Books the work of all streams of a device that started before `up to`, up to there. */
void tl_book_streams(struct timeline *t, unsigned device, uint64_t until);

/* ---- timeline_watch.c ---- */

/* A stretch of an op is booked; `last`: no more of it follows. */
void tl_tell_op(struct timeline *t, const struct tl_op *op, const struct tl_piece *p, bool last)
        __attribute__((noinline));
/* Work that is placed behind the end. */
void tl_tell_rest(struct timeline *t);

/* ---- timeline_exact.c ---- */

/* The same of CUPTI's. */
void tl_tell_exact_rest(struct timeline *t);

void tl_exact_call(struct timeline *t, uint32_t thread, const struct tf_record *r, unsigned cls,
                   struct tf_work *work);
/*
 * Takes the calls whose turn has come and books the activities before tick `now`, before which no
 * record will come any more; `all`: even where something is still waited for. Returns `now`, or the
 * entry of the first call that waits: up to where streams may be settled.
 */
uint64_t tl_exact_advance(struct timeline *t, uint64_t now, bool all);
/* Work without an activity: where the estimate says. */
void tl_exact_guess(struct timeline *t, const struct tl_op *op, const struct tl_delayed *d);

/* ---- timeline_exact_untrue.c ---- */

/* The call gave several pieces of work. */
bool tl_exact_is_several(const struct tl_delayed *d);
/* It took so long that its times are looked at before they count. */
bool tl_exact_is_long_copy(const struct timeline *t, const struct tl_delayed *d);
/* CUPTI's times of the oldest call's work cannot be true. */
bool tl_exact_is_untrue(const struct timeline *t, const struct tl_delayed *d);

#endif
