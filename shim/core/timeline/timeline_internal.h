/*
 * The inside of the timeline, for its own files: timeline.c (the way of a record through it),
 * timeline_threads.c (what threads did), timeline_streams.c (streams and events),
 * timeline_work.c (pieces of work and their places), timeline_durations.c (how long work takes),
 * timeline_ends.c (that it has ended, or has not yet), timeline_ops.h (what is inline of these),
 * timeline_waits.c (what calls that waited tell), timeline_queue.c (the launch queue),
 * timeline_device.c (busy and idle), timeline_exact.c (CUPTI).
 *
 * Times are ticks below TL_TICKS_MOST; records with later ones are not taken. Everything starts as
 * zeros: an id, a place or a number in a list that is 0 is none, so places are kept plus one.
 */
#ifndef SPY_TIMELINE_PARTS_H
#define SPY_TIMELINE_PARTS_H

#include "shim/core/cuda/engines.h"
#include "shim/core/cuda/roles.h"
#include "shim/core/gpu_time/estimate.h"
#include "shim/core/work/slices.h"
#include "shim/core/timeline/timeline.h"
#include "shim/core/work/work_class.h"

#define TL_TICKS_MOST (1ull << 60) /* leaves room for a state beside it, and for sums */

/* ---- threads: timeline_threads.c ---- */

#define TL_CHUNK   254u  /* segments of a chunk: 4 KiB */
#define TL_CHUNKS  1536u /* of all threads: 6 MiB */
#define TL_THREADS 65536u
#define TL_NESTED  8u /* nested calls kept apart until their caller returns */

/* States of a thread beside enum tf_host. */
enum {
	TL_HOST_ISSUE = TF_HOSTS, /* event, stream, graph and query calls: OTHER of the host, but a
	                             cost of launching to the GPU */
	TL_HOST_STATES,
	TL_HOST_UNKNOWN = 15, /* not known any more */
};

/* One call, or a part of it; the time between segments was spent outside CUDA. */
struct tl_segment {
	uint64_t start_state; /* start | state << 60 */
	uint64_t end;
};

/* Chunks are handed out round and round: the oldest of all is always its thread's oldest. */
struct tl_chunk {
	uint32_t owner; /* thread + 1; 0 = free */
	uint32_t older, newer, count;
	uint64_t reserved[2];
	struct tl_segment segments[TL_CHUNK];
};

struct tl_thread {
	struct tf_thread *figures; /* in the recording; NULL = not looked for, or not there */
	uint32_t newest, oldest;   /* chunks */
	uint32_t found, found_at;  /* the chunk and segment that a time was found in last */
	uint16_t device;           /* current to the thread */
	uint16_t nested_count;
	/* What it did before its oldest chunk, in sum: of chunks that were taken from it. */
	uint64_t past_from, past_upto;
	uint64_t past[TL_HOST_STATES];
	struct tl_segment nested[TL_NESTED];
};

/* ---- work: timeline_streams.c, timeline_work.c ---- */

#define TL_OPS     65536u /* pieces of work known at most; 5.5 MiB */
#define TL_OPS_FEW 4096u  /* at the start: what the queue holds, and a round of the collector's */
#define TL_STREAMS 4096u
#define TL_EVENTS  16384u
#define TL_KERNELS 4096u /* kernels whose mean over all shapes is kept */

/* One piece of work; ids count submissions from 1, `id & ops_mask` is its place. */
struct tl_op {
	uint64_t id;
	uint64_t start, end; /* plus (its stream's shift - `shift`) until TL_OP_SETTLED */
	int64_t shift;
	uint64_t returned; /* return of its call */
	uint64_t entered;  /* entry of its call: it cannot have started before */
	uint64_t ready;    /* when it would have started with nothing before it */
	uint64_t booked;   /* up to where it stands in the device's figures */
	uint64_t next;     /* id of the next one on its stream */
	uint32_t stream;   /* place + 1 */
	uint32_t generation;
	uint32_t kernel;
	uint32_t entry; /* its number in its queue */
	uint16_t thread;
	uint8_t kind; /* enum tf_work_kind */
	uint8_t flags;
	uint8_t engine; /* enum cuda_engine */
};
#define TL_OP_COMM    1u   /* a kernel of a communication library */
#define TL_OP_COUNTED 2u   /* stands in the figures of its kernel */
#define TL_OP_UNKNOWN 4u   /* of a class without a known duration */
#define TL_OP_CHAINED 8u   /* held back by its launch, or the ops before it on its stream, alone */
#define TL_OP_SETTLED 16u  /* ended; its stream's shift counts no more */
#define TL_OP_CUT     32u  /* its end comes from a wait, not from its class */
#define TL_OP_NODE    64u  /* of a graph, and the piece before it on its device was too */
#define TL_OP_EVENT   128u /* an event was recorded behind it */

struct tl_queue {             /* of a stream, for an engine */
	uint32_t entries;     /* ops given to it so far */
	uint32_t proof;       /* of these: before the stream was last known to be empty */
	uint32_t outstanding; /* ops from the stream's `head` on */
	uint8_t lasting;      /* whether calls take longer, one after the other */
	uint64_t back; /* id of the last op CUDA_QUEUE_ENTRIES entries before the next, or the first
	                */
};

struct tl_stream {
	uint64_t handle, owner; /* owner: device or thread of a default stream; else 0 */
	uint32_t generation;    /* 0 = a free place */
	struct tf_stream *row;  /* in table `streams`; NULL = none yet, or no room */
	uint32_t flags;         /* of the row */
	uint16_t device;
	bool has_device, row_sought;
	bool blocking;         /* it and the legacy default stream wait for each other */
	uint32_t since_proof;  /* ops since it was last known to be empty */
	uint32_t unknown;      /* of these: of unknown duration */
	uint64_t since_ticks;  /* what the ops since then take, by estimate */
	double since_variance; /* of the class among them that varies most, ns squared */
	uint32_t active;       /* place in its device's list + 1 */
	uint64_t head;         /* ids of ops: the first not ended, by estimate */
	uint64_t book;         /* the first not wholly booked */
	uint64_t tail;
	uint64_t loose; /* no later one starts later than a gap after the one before it */
	int64_t shift;
	uint64_t settled; /* end of the last op that ended */
	uint64_t wait;    /* id of the op that one that comes now waits for besides: of the event
	                     waited for that ends last; 0 = none */
	struct tl_queue queues[CUDA_ENGINES];
};

struct tl_event {
	uint64_t handle;
	uint64_t op;   /* id of the last op before it on its stream */
	uint64_t wait; /* and of one elsewhere that it is not done before */
	uint64_t used;
};

/* ---- devices: timeline_device.c ---- */

enum tl_union { TL_ANY, TL_OWN, TL_KERNEL, TL_COPY, TL_UNIONS }; /* OWN: all but communication */

struct tl_turn {
	uint64_t start;
	uint32_t stream; /* place + 1 */
};

struct tl_device {
	struct tf_device_time *time; /* NULL: not yet, no room, or damaged */
	struct tf_busy *slice;       /* all that is booked just now lies in it; NULL = not sure */
	bool tried;
	uint64_t until[TL_UNIONS]; /* end of each union so far */
	uint64_t begun;            /* since when it was busy without a break, until up to[TL_ANY] */
	struct tf_stream *copy_row;    /* of the stream whose copy ends last */
	uint32_t legacy;               /* its legacy default stream, place + 1 */
	uint64_t engine[CUDA_ENGINES]; /* ids of the copies that engines make last */
	/* Ids of the ops that have the driver's buffers: the last one's first. */
	uint64_t staged[CUDA_STAGING_BUFFERS];
	uint64_t last; /* id of the op that ends last, by estimate */
	uint32_t actives;
	uint32_t active[TL_STREAMS]; /* streams with work outstanding or not wholly booked, + 1 */
};

/* A stretch of work to be booked: of an op, or an activity. */
struct tl_piece {
	uint64_t start, end;
	uint64_t returned;     /* of its call; 0 = its call is unknown */
	struct tf_stream *row; /* of its stream */
	uint16_t thread, device;
	uint8_t kind, flags;
};

/* ---- exact times: timeline_exact.c ---- */

#define TL_DELAYED 131072u /* calls that wait for activities: 12 MiB */
#define TL_PIECES  65536u
#define TL_ORPHANS 64u
#define TL_MUTE    16u /* calls without an activity, in a row, after which none is waited for */

struct tl_delayed {
	struct tf_record r;
	uint64_t gpu_start, gpu_end;
	uint32_t work;         /* place in the recording's `works` + 1 */
	uint32_t round;        /* of its last activity */
	struct tf_stream *row; /* of its stream, once taken */
	uint16_t thread;
	uint8_t cls;
	uint8_t waits;  /* for an activity */
	uint8_t device; /* of its activities */
};

struct tl_activity {
	uint64_t start, end, cause;
	uint32_t kernel;
	uint8_t device, kind;
	bool graph_node, guessed;
};

struct tl_exact {
	uint64_t head, tail; /* of `delayed`; free-running */
	uint32_t round, activities, orphans;
	struct tl_delayed delayed[TL_DELAYED];
	uint32_t by_cause[TL_DELAYED * 2]; /* place + 1 */
	struct tl_activity heap[TL_PIECES];
	struct tl_activity orphan[TL_ORPHANS]; /* of calls that have not returned */
	uint16_t mute[TL_THREADS];             /* by call id */
	uint64_t graph[TF_DEVICES_TIMED]; /* cause of the piece booked last, if a graph's node */
};

/* ---- the whole ---- */

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
};

struct tl_kernel {                 /* what was found of a kernel */
	struct tf_kernel *figures; /* NULL = not looked for, or not there */
	struct tf_hist *queue;     /* of queue times; NULL as well */
	bool named, comm;          /* `comm`: of a communication library */
};

struct timeline {
	struct tf_map *map;
	unsigned mode; /* enum tf_gpu_mode */
	bool resumed;  /* what was before is not known */
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
	uint32_t latencies; /* learned from */
	bool costs_due;
	bool host_functions; /* streams were given some */
	uint64_t costs_version;
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

/* ---- timeline.c ---- */

/* One call whose turn has come; `exact`: what CUPTI says of its work, NULL = nothing. */
void tl_take(struct timeline *t, uint32_t thread, const struct tf_record *r, unsigned cls,
             struct tf_work *work, struct tl_delayed *exact);
/* The kind of the work that a call gave to the GPU; TF_WORK_NONE where it gave none. */
enum tf_work_kind tl_work_of(const struct tf_record *r, unsigned cls);
uint64_t tl_ticks(const struct timeline *t, double ns);

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
/* What thread `thread` did in [from, to), without rest. */
void tl_divide(struct timeline *t, uint32_t thread, uint64_t from, uint64_t to, tl_stretch *tell,
               void *context);

/* The merged host up to `up to`: what the thread did that issues work now. */
void tl_host(struct timeline *t, uint32_t thread, uint64_t until);

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

/* Ops of a stream that ended by `up to`, by estimate, are outstanding no more. */
void tl_retire(struct timeline *t, struct tl_stream *s, uint64_t until);
/* Op `last` of a stream, and all before it, ended by tick `by`: what was placed later moves ahead,
 * and is cut only where there is no room. */
void tl_finished(struct timeline *t, struct tl_stream *s, uint64_t last, uint64_t by);
/* Op ended only at tick `end`. */
void tl_extend(struct timeline *t, struct tl_op *op, uint64_t end);

/* ---- timeline_waits.c ---- */

/* A sync: until when it was useful. */
uint64_t tl_sync(struct timeline *t, uint32_t thread, const struct tf_record *r,
                 enum cuda_role role);
void tl_query(struct timeline *t, uint32_t thread, const struct tf_record *r, enum cuda_role role);
/* All that a wait for this stream waits for ended by tick `by`. */
void tl_awaited_by(struct timeline *t, const struct tl_stream *stream, uint64_t by);
/* A blocking copy, an allocation, a module load: how long it waited for earlier work. */
struct tl_split tl_implicit(struct timeline *t, uint32_t thread, const struct tf_record *r,
                            unsigned state, struct tf_work *work, enum cuda_role role);

/* ---- timeline_queue.c ---- */

/* The stream's last op goes into the queue of its engine. */
void tl_enqueued(struct timeline *t, struct tl_stream *s, struct tl_op *op);
/* Whether it is the op that the next call waits for when the queue is full. */
bool tl_is_back(const struct tl_stream *s, const struct tl_op *op);
/* The op, its stream's first, is forgotten. */
void tl_unqueued(struct timeline *t, struct tl_stream *s, const struct tl_op *op);
/* A launch: launch, back-pressure, contention or loading. */
struct tl_split tl_launch(struct timeline *t, uint32_t thread, const struct tf_record *r,
                          unsigned cls);
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

/* Books the work of all streams of a device that started before `up to`, up to there. */
void tl_book_streams(struct timeline *t, unsigned device, uint64_t until);
void tl_book(struct timeline *t, const struct tl_piece *p);
/* The launch-to-start time of a piece of work, and that there is one. */
void tl_count_work(struct timeline *t, const struct tl_piece *p, uint32_t kernel, bool known);
/* The idle time at the end. */
void tl_book_rest(struct timeline *t, unsigned device, uint64_t until);

/* ---- timeline_exact.c ---- */

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

#endif
