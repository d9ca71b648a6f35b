/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of the simulated driver and what its files share.
 * Included by the driver's own sources, by nothing else. */
#pragma once
#include <pthread.h>
#include <stddef.h>
#include "shim/core/cuda/host_functions.h"
#include "tests/sim/driver_enter.h"
#include "tests/sim/driver_config.h"
#include "tests/sim/driver_handle.h"
#include "tests/sim/timeline.h"

#define SIM_MAX_DEVICES TRUTH_DEVICES

struct sim_capture;

struct sim_device {
	struct sim_tl_device timeline;
	int ordinal;
	pthread_mutex_t lock; /* primary context, pools */
	struct sim_ctx *primary;
	unsigned primary_uses;
	unsigned primary_flags;
	struct sim_pool *default_pool, *pool;
};

/* The queue of a stream for an engine. Launches, copies and sets take a place there, events and
 * waits for them none: shim/core/cuda/engines.h, as the driver's other limits. */
struct sim_queue {
	uint64_t *done; /* completion times of the last entries */
	unsigned at;    /* the oldest of them, which the next one replaces */
};

/* A stream is a line of completion times; `tail_ns` is when all of it so far is done. */
struct sim_stream {
	struct sim_handle handle;
	struct sim_ctx *ctx;
	struct sim_stream *next, **link; /* the context's streams */
	pthread_mutex_t lock;
	_Atomic uint64_t tail_ns;
	struct sim_queue queue[TL_ENGINES + 1];
	enum sim_tl_engine engine; /* of what was submitted last */
	_Atomic(struct sim_capture *) capture;
	_Atomic uint64_t host_sent; /* last host function submitted, process-wide number */
	_Atomic bool after_host;    /* no work has been submitted behind it */
	_Atomic bool graphs;        /* one was launched */
	_Atomic bool mixed;         /* and behind it a kernel by itself */
	struct sim_node **deps;     /* while captured: what the next node depends on */
	unsigned dep_count;
	unsigned flags;
	int priority;
	bool legacy, per_thread;
	unsigned long long id;
};

struct sim_ctx {
	struct sim_handle handle;
	struct sim_device *device;
	bool primary;
	unsigned flags;
	unsigned long long id;
	pthread_mutex_t lock; /* the list of streams, the peers */
	struct sim_stream *streams;
	struct sim_stream *legacy;
	_Atomic uint64_t gone_tail_ns; /* of destroyed streams */
	_Atomic unsigned capturing;    /* blocking streams being captured */
	pthread_mutex_t load_lock;     /* held while code is loaded */
	_Atomic bool loading;
	uint64_t staged_ns[2]; /* when the buffers for copies to the device are free, the later
	                          first */
	struct sim_ctx *peer[SIM_MAX_DEVICES];
	size_t limit[16];
	CUfunc_cache cache_config;
};

struct sim_event {
	struct sim_handle handle;
	struct sim_ctx *ctx;
	pthread_mutex_t lock;
	unsigned flags;
	_Atomic bool recorded;
	uint64_t time_ns;                       /* when it is reached */
	uint64_t host_seq;                      /* host functions that must be done as well */
	_Atomic(unsigned long long) capture_id; /* last recorded in this capture, or 0 */
	struct sim_node **captured;             /* the nodes it stands for */
	unsigned captured_count;
};

/* What a launch needs to know of a kernel, whether it came as CUfunction or CUkernel. */
struct sim_func {
	struct sim_handle handle;
	struct sim_image *image;
	struct sim_ctx *ctx;       /* of a module's function; NULL for a kernel */
	struct sim_func *kernel;   /* of a function made from a kernel */
	struct sim_func *function; /* of a kernel: its function, made on demand */
	const char *name;
	int cost_arg; /* index of the argument that scales the cost, or -1 */
	uint64_t cost_ns;
	unsigned truth_index;
	_Atomic bool loaded;
	bool own; /* of the shim: on the streams, in no figure of the truth */
	int max_dynamic_shared;
};

struct sim_launch {
	struct sim_func *func;
	unsigned grid[3], block[3], shared_bytes;
	void **params, **extra;
};

/* Work for the timeline. */
struct sim_work {
	enum sim_tl_engine engine;
	enum sim_tl_kind kind;
	uint64_t gpu_ns;
	uint64_t not_before_ns;    /* besides stream order; 0 if at once */
	struct sim_device *device; /* whose engine; NULL: the stream's */
	const char *kernel;        /* for an observer: the name, the size */
	uint64_t bytes;
	uint64_t start_ns, end_ns; /* answers */
};

extern struct sim_device sim_device[SIM_MAX_DEVICES];

/* truth.c */
void truth_open(void);
struct truth_thread *truth_thread_take(void);
void truth_thread_end(struct truth_thread *t);
struct truth_device *truth_device(int ordinal);
unsigned truth_kernel(const char *name);
void truth_count_launch(struct truth_thread *t, unsigned kernel, uint64_t gpu_ns);
void truth_count_graph_kernel(unsigned kernel, uint64_t gpu_ns);
void truth_init_done(void);
void truth_finish(void);

/* driver_enter.c */
struct sim_thread *sim_thread_get(void);
static inline struct truth_totals *sim_total(void)
{
	return &sim_self->truth->total;
}
void sim_set_ready(void);
/* Spins for the rest of `cost_ns` since `since_ns`, unless costs are off. */
static inline void sim_cost_since(uint64_t since_ns, uint64_t cost_ns)
{
	if (cost_ns)
		sim_tl_spin_until(since_ns + cost_ns);
}
static inline void sim_cost(uint64_t cost_ns)
{
	if (cost_ns)
		sim_tl_spin_until(sim_tl_now() + cost_ns);
}
/* Waits until `when_ns` and the host functions up to `host_seq`; books it as an explicit or an
 * implicit synchronisation of the calling thread. */
void sim_wait(uint64_t when_ns, uint64_t host_seq, bool explicit_sync);

/* driver_ctx.c */
struct sim_ctx *ctx_current(void);
/* The given context, or the current one for NULL; an error if there is none. */
CUresult ctx_resolve(CUcontext h, struct sim_ctx **out);
/* When all work of the context so far is done. */
uint64_t ctx_tail(struct sim_ctx *ctx, uint64_t *host_seq);
uint64_t device_tail(struct sim_device *d, uint64_t *host_seq);
bool device_valid(CUdevice dev);
void ctx_free_objects(struct sim_ctx *ctx);

/* driver_stream.c */
/* The stream behind a handle, 0 and the two special values included. */
CUresult stream_get(CUstream h, struct sim_stream **out);
/* The same for adding work: refuses what would break a capture in progress. */
CUresult stream_use(CUstream h, struct sim_stream **out);
struct sim_stream *stream_new(struct sim_ctx *ctx, unsigned flags, int priority);
void stream_free(struct sim_stream *s);
/* Adds work to the stream; waits while the queue of its engine is full. */
void stream_submit(struct sim_stream *s, struct sim_work *w);
/* The same in two steps, for work with a shape of its own: locks the stream and tells when its
 * next work could start but for the stream's own tail; then ends the work and unlocks. `q`: the
 * queue that it takes a place in, or NULL. */
uint64_t stream_begin(struct sim_stream *s, struct sim_queue *q);
void stream_end(struct sim_stream *s, struct sim_queue *q, uint64_t end_ns);
/* Holds later work of the stream back until `when_ns`. */
void stream_hold(struct sim_stream *s, uint64_t when_ns);
/* When work submitted so far is done, what a legacy stream waits for included. */
uint64_t stream_tail(struct sim_stream *s);
void thread_streams_free(struct sim_thread *t);
void thread_streams_drop(struct sim_ctx *ctx);

/* driver_event.c */
uint64_t event_mark(struct sim_event *e, struct sim_stream *s);
void event_drop_capture(struct sim_event *e);

/* driver_launch.c */
CUresult launch_check(struct sim_ctx *ctx, CUfunction f, struct sim_launch *l);
uint64_t launch_gpu_ns(const struct sim_launch *l);
/* Loads the kernel's code at its first launch, under the context's lock. */
void launch_load(struct sim_ctx *ctx, struct sim_func *f);

/* driver_capture.c */
extern _Atomic unsigned captures_active;
CUresult capture_unsafe_slow(void);
CUresult capture_legacy(struct sim_ctx *ctx);
CUresult capture_breaks(struct sim_stream *s, CUresult rc);
CUresult capture_context(struct sim_ctx *ctx);
void capture_stream_gone(struct sim_stream *s);
void capture_thread_gone(struct sim_thread *t);
/* For calls that a capture in progress may forbid to this thread. */
static inline CUresult capture_unsafe(void)
{
	if (likely(!atomic_load_explicit(&captures_active, memory_order_relaxed)))
		return CUDA_SUCCESS;
	return capture_unsafe_slow();
}

/* driver_hostfn.c */
/* A function's place on the timeline; waits see when it really ended. */
#define SIM_HOST_FUNCTION_NS ((uint64_t)CUDA_HOST_FUNCTION_NS)
/* What the next function on this stream takes: shim/core/cuda/host_functions.h. */
static inline uint64_t host_function_ns(struct sim_stream *s)
{
	return atomic_exchange(&s->after_host, true) ? 0 : SIM_HOST_FUNCTION_NS;
}
/* Runs `fn` on the driver's own thread at `when_ns`; returns its place in the order. */
uint64_t hostfn_send(uint64_t when_ns, CUhostFn fn, void *data);
uint64_t hostfn_send_callback(uint64_t when_ns, CUstreamCallback fn, CUstream s, void *data);
bool hostfn_done(uint64_t seq);
void hostfn_wait(uint64_t seq);

/* driver_data.c: contents move when somebody could see them, in the order of submission. */
struct data_move {
	char *dst;
	const char *src; /* NULL: a set of `value` */
	size_t dst_pitch, src_pitch, width, height;
	unsigned value, value_bytes;
};
void data_submit(const struct data_move *m);
void data_settle(void);
uint64_t data_sent(void); /* how many moves were submitted so far */
void data_settle_to(uint64_t to);

/* driver_module.c */
CUresult func_get(CUfunction h, struct sim_func **out);
CUresult func_attribute(int *pi, CUfunction_attribute attrib, CUfunction f);
void modules_free(struct sim_ctx *ctx);
