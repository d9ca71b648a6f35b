/*
 * The hot path: one span for each intercepted call, from its entry to its return. For the wrappers
 * and the notes.
 *
 * Cost of a recorded call: two readings of the clock, one 64-byte record, and stores into three
 * cache lines that this thread alone writes. No lock, no allocation, no system call, no stdio;
 * errno is not touched. What happens once a thread or less often (attach, growth of the ring) is
 * cold and out of line.
 */
#ifndef SPY_SPAN_H
#define SPY_SPAN_H

#include <stdbool.h>
#include "shim/calls.h"
#include "shim/clock.h"
#include "shim/trace_format.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum spy_span_mode {
	SPAN_PASSIVE,  /* outermost, not recorded: CUDA is not initialised, or out of range */
	SPAN_RECORDED, /* outermost, recorded */
	SPAN_NESTED,   /* inside another call: only gives arguments to it */
	SPAN_TIMED,    /* nested, and timed for the host split */
};

enum spy_span_unusual {
	SPAN_FIRST_LAUNCH = 1, /* this thread's first launch of a kernel */
	SPAN_STARTED_HERE = 2, /* cuInit first succeeded inside this span */
	SPAN_NO_ROOM = 4,      /* the ring is full: its record is lost */
};

struct spy_span {
	struct tf_record *rec;         /* of an outermost or timed span; see spy_tls */
	struct tf_kernel_stat *kernel; /* of a launch: where its time belongs; NULL = nowhere */
	struct tf_copy_stat *copy;     /* the same for a copy */
	uint64_t kept[4];              /* what before_X() keeps for note_X() */
	uint32_t depth;                /* spans outside this one */
	uint16_t call;
	uint16_t flags; /* of the record: TF_PTDS */
	uint8_t mode;   /* enum spy_span_mode */
	uint8_t class;
	uint8_t unusual; /* enum spy_span_unusual */
	uint8_t gpu;     /* events of ours stand around it; set by gpu_wanted() */
};

/*
 * What a thread keeps outside the recording. Initial-exec TLS comes out of a small static block:
 * keep it small.
 *
 * An outermost call's record is put together in the ring, in the slot that comes next, which the
 * drain does not see before `head` covers it; where the ring is full, or nothing is recorded, in
 * `spare`.
 */
#define SPY_KNOWN 8 /* functions launched last that a thread finds without the registry */
struct spy_known {
	const void *function;
	struct tf_kernel_stat *kernel;
};

struct spy_tls {
	struct tf_thread *thread; /* in the recording; NULL = not attached */
	struct tf_record *slots;  /* of the present ring */
	struct tf_ring *ring;
	uint64_t head, capacity;
	uint64_t tail_seen; /* or half a ring less, so that a half full one is noticed: ring_room()
	                     */
	struct spy_span *outer; /* the outermost span under way; valid where depth > 0 */
	uint32_t depth;
	uint16_t index; /* in table `threads` */
	bool in_lookup; /* inside our dlsym hook */
	bool timing_nested;
	uint32_t generation; /* of the process (fork) in which `thread` is valid */
	struct tf_thread
	        *last_thread; /* the slot to go on with after the thread's destructor ran */
	struct sampler_class
	        *sampled; /* see sampler.h; NULL = not, or its context is to be looked at */
	struct sampler *sampler;
	uint32_t known_version; /* of the registry in which `known` holds */
	struct spy_known known[SPY_KNOWN];
	struct tf_record spare;
	struct tf_record nested; /* of the timed span inside the outermost one */
};

extern __thread struct spy_tls spy_tls __attribute__((tls_model("initial-exec")));

/*
 * One page of its own, wiped by the kernel in a forked child (MADV_WIPEONFORK), so that even a
 * child made by a raw clone() finds the gate shut and cannot write into its parent's recording.
 */
/* What is done about GPU time at each piece of work given to the GPU. */
enum spy_gpu {
	SPY_GPU_NONE,
	SPY_GPU_SAMPLE, /* sampler.h */
	SPY_GPU_CUPTI,  /* CUPTI tells its own, of every call: cupti.h */
};

struct spy_gate {
	uint32_t open;    /* 1: recorded calls take the fast path; only where the clock is the CPU's
	                     counter */
	uint32_t counter; /* 1: it is */
	uint32_t alive;   /* 1 since the start; 0 in a forked child */
	/* beside them what the hot path reads as well, for the sake of one cache line */
	uint32_t captures; /* captures under way in the process, at least; 0 = certainly none */
	uint32_t gpu;      /* enum spy_gpu: what is done about GPU time at each launch */
	uint32_t registry_version; /* changes whenever a handle comes to mean something else, or
	                              nothing */
};
extern union spy_gate_page {
	struct spy_gate gate;
	char page[4096];
} spy_gate_page;

void spy_enter_outermost(struct spy_span *s) __attribute__((cold));
void spy_enter_timed(struct spy_span *s);
void spy_leave_timed(struct spy_span *s, int result);

/*
 * Puts a record of the shim's own into the calling thread's ring, between those of calls; lost, and
 * counted so, when there is no room. Inside a recorded call or outside of any.
 */
void span_push_aside(const struct tf_record *r);
void spy_first_call(struct spy_span *s) __attribute__((cold));
void spy_record(struct spy_span *s, int result);

static inline bool spy_class_timed_when_nested(unsigned class)
{
	return class == SPY_CLASS_MODULE || class == SPY_CLASS_ALLOC || class == SPY_CLASS_SYNC ||
	       class == SPY_CLASS_CONTEXT;
}

/* A counter of this thread's own. Relaxed, whole: nobody else writes it, a reporter may read it any
 * time. */
static inline void spy_count(uint64_t *counter, uint64_t by)
{
	__atomic_store_n(counter, *counter + by, __ATOMIC_RELAXED);
}

#include "shim/span_record.h"

/* Of spy_enter(): this call's note fills the arguments whatever happens. Never stands in a record.
 */
#define SPY_FILLS 0x8000u

/* Begins a record: nothing known of it but the call and its entry. */
static inline __attribute__((always_inline)) void spy_record_begin(struct tf_record *r,
                                                                   unsigned call, unsigned thread,
                                                                   unsigned flags, uint64_t start)
{
	r->start = start;
	r->call = (uint16_t)call;
	r->thread = (uint16_t)thread;
	r->flags = (uint16_t)((flags & ~SPY_FILLS) | TF_NO_ARGS);
	r->result = 0;
	if (flags & SPY_FILLS)
		return;
	r->stream = 0;
	r->arg[0] = r->arg[1] = r->arg[2] = r->arg[3] = 0;
}

static inline __attribute__((always_inline)) void spy_enter(struct spy_span *s, unsigned call,
                                                            unsigned class, unsigned flags)
{
	struct spy_tls *t = &spy_tls;
	uint32_t depth = t->depth;

	s->call = (uint16_t)call;
	s->flags = (uint16_t)(flags & ~SPY_FILLS);
	s->class = (uint8_t) class;
	s->unusual = 0;
	if (class == SPY_CLASS_LAUNCH)
		s->kernel = NULL;
	else if (class == SPY_CLASS_COPY)
		s->copy = NULL;
	/*
	 * A span is nested if it lies deeper on the stack than the outermost one. If it does not,
	 * that one never returned (a longjmp out of CUDA): forget it.
	 */
	if (likely(depth == 0) || unlikely((uintptr_t)s >= (uintptr_t)t->outer)) {
		struct tf_thread *th = t->thread;
		s->depth = 0;
		t->depth = 1;
		t->outer = s;
		/* Acquire: an open gate means a recording. Pairs with open_gate(). */
		if (likely(th && __atomic_load_n(&spy_gate_page.gate.open, __ATOMIC_ACQUIRE) &&
		           ring_has_room(t))) {
			struct tf_record *r = ring_next(t);
			uint64_t now = spy_counter();
			s->mode = SPAN_RECORDED;
			s->rec = r;
			/* Relaxed: read only after a kill, or as a snapshot. */
			__atomic_store_n(&th->in_start, now, __ATOMIC_RELAXED);
			__atomic_store_n(&th->in_call, call + 1, __ATOMIC_RELAXED);
			spy_record_begin(r, call, t->index, flags, now);
		} else {
			spy_enter_outermost(s);
		}
	} else {
		s->depth = depth;
		t->depth = depth + 1;
		s->mode = SPAN_NESTED;
		if (spy_class_timed_when_nested(class))
			spy_enter_timed(s);
	}
}

/* Classes of the calls that programs make by the thousand: their wrappers have the whole path in
 * line. */
static inline bool spy_class_hot(unsigned class)
{
	return class == SPY_CLASS_LAUNCH || class == SPY_CLASS_GRAPH_LAUNCH ||
	       class == SPY_CLASS_COPY || class == SPY_CLASS_SYNC;
}

static inline __attribute__((always_inline)) void spy_leave(struct spy_span *s, unsigned call,
                                                            unsigned class, int result)
{
	spy_tls.depth = s->depth;
	if (unlikely(s->mode != SPAN_RECORDED)) {
		if (s->mode == SPAN_TIMED)
			spy_leave_timed(s, result);
	} else if (!spy_class_hot(class) || unlikely(!spy_gate_page.gate.counter)) {
		spy_record(s, result);
	} else {
		spy_record_at(s, call, class, result, spy_counter());
	}
}

/* The span that a note writes its arguments to: the outermost call under way on this thread. */
static inline struct spy_span *spy_outer(void)
{
	return spy_tls.outer;
}

/* Whether what this span's thread does now is counted. */
static inline bool spy_recording(const struct spy_span *outer)
{
	return outer->mode == SPAN_RECORDED;
}

#endif
