/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot path: one span for each intercepted call, from its entry to its return. For the wrappers
 * and what records arguments (shim/args).
 *
 * Cost of a recorded call: two readings of the clock, one 64-byte record, and stores into three
 * cache lines that this thread alone writes. No lock, no allocation, no system call, no stdio;
 * errno is not touched. What happens once a thread or less often (attach, growth of the ring) is
 * cold and out of line.
 */
#ifndef SPY_SPAN_H
#define SPY_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "shim/core/format/calls.h"
#include "shim/base/clock.h"
#include "shim/base/gate.h"
#include "shim/core/format/trace_format.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum spy_span_mode {
	SPAN_BEGINS,  /* outermost, being entered */
	SPAN_PASSIVE, /* outermost, not recorded: CUDA is not initialised, or out of range */
	SPAN_NESTED,  /* a driver call of the runtime's: only gives arguments to its caller */
	SPAN_TIMED,   /* nested, and timed for the host split */
	SPAN_OURS,    /* no call of the program's but work of the shim: CUDA calls inside it are its
	                 own */
	SPAN_UNSEEN,  /* the same while nothing is recorded */
	/* All that follow are recorded. */
	SPAN_RECORDED, /* outermost */
	SPAN_SLOWLY,   /* the same where the clock is a function's, not the CPU's counter */
	SPAN_INSIDE, /* a call of the program's own, made inside another: by a signal's handler or a
	                callback */
};

enum spy_span_unusual {
	SPAN_FIRST_LAUNCH = 1, /* this thread's first launch of a kernel */
	SPAN_STARTED_HERE = 2, /* cuInit first succeeded inside this span */
	SPAN_NO_ROOM = 4,      /* the ring is full: its record is lost */
	SPAN_SETTLED = 8, /* passive, and nothing will change that before it returns: out of range,
	                     refused, of a parent process */
	SPAN_STEADY = 16, /* SPAN_INSIDE: none of the spans around it is in code of the shim's, so
	                     that it may write to the ring */
	SPAN_SITE = 32,   /* its call site is to be recorded */
};

struct spy_span {
	struct tf_record *rec;         /* of all but a nested span; see spy_tls */
	struct tf_kernel_stat *kernel; /* of a launch: where its time belongs; NULL = nowhere */
	struct tf_copy_stat *copy;     /* the same for a copy */
	uint64_t kept[4];              /* what before_X() keeps for args_X() */
	uint32_t mark;                 /* SPAN_MARK, as long as nothing was written over it */
	uint16_t call;
	uint16_t flags; /* of the record: TF_PTDS */
	uint8_t mode;   /* enum spy_span_mode */
	uint8_t cls;
	uint8_t unusual; /* enum spy_span_unusual */
	uint8_t given;   /* the driver's call that it is made of has come */
	uint8_t gpu;     /* events of ours stand around it; set by sampler_wanted() */
	uint8_t real;    /* the real function runs, none of our code */
	/* SPAN_TIMED, SPAN_INSIDE, SPAN_UNSEEN and SPAN_OURS alone */
	struct spy_span *below; /* the span around it; NULL: work of the shim outside of any call */
	struct tf_record own;   /* not of SPAN_TIMED */
};
#define SPAN_MARK 0x6b72616du

/*
 * What a thread keeps outside the recording. Initial-exec TLS comes out of a small static block:
 * keep it small.
 *
 * An outermost call's record is put together in the ring, in the slot that comes next, which the
 * drain does not see before `head` covers it; where the ring is full, or nothing is recorded, in
 * `spare`.
 *
 * A signal's handler may call CUDA wherever it interrupts us. One store to `outer` begins a span,
 * one ends it: in between the handler finds that it is inside. And only while its `real` is set,
 * which is when none of our own code is under way on the thread, it may touch the ring.
 */
#define SPY_KNOWN 8 /* functions launched last that a thread finds without the registry */
struct spy_known {
	const void *function;
	struct tf_kernel_stat *kernel;
};

#define SPY_NO_GENERATION UINT32_MAX
struct spy_tls {
	struct tf_thread *thread; /* in the recording `generation` */
	struct tf_record *slots;  /* of the present ring */
	uint64_t mask;            /* its capacity - 1 */
	uint64_t head;
	uint64_t limit; /* of `head`, at which the ring's tail is looked at: ring_room() */
	struct tf_ring *ring;
	struct spy_span
	        *outer; /* the innermost call of the program's that is under way; NULL = none */
	uint32_t
	        generation; /* of the process in which `thread` is valid; SPY_NO_GENERATION: none */
	uint16_t index;     /* in table `threads` */
	bool in_lookup;     /* inside our dlsym hook */
	bool timing_nested;
	bool ring_stays; /* a larger one was refused: not asked for again at each call */
	/* The slot to go on with after the thread's destructor ran, in this generation. */
	struct tf_thread *last_thread;
	uint32_t last_generation;
	struct sampler_class
	        *sampled; /* see sampler.h; NULL = not, or its context is to be looked at */
	struct sampler *sampler;
	uint32_t known_version; /* of the registry in which `known` holds */
	struct spy_known known[SPY_KNOWN];
	struct tf_record spare;
	struct tf_record nested; /* of the timed span inside the outermost one */
};

#ifndef SPY_TLS_MODEL /* programs for tests have another */
#define SPY_TLS_MODEL "initial-exec"
#endif
extern __thread struct spy_tls spy_tls __attribute__((tls_model(SPY_TLS_MODEL), aligned(64)));

void spy_enter_outermost(struct spy_span *s) __attribute__((cold));
void spy_enter_inside(struct spy_span *s) __attribute__((cold));
void spy_enter_timed(struct spy_span *s);
/* `caller`: where the wrapper returns to. */
void spy_leave_unusual(struct spy_span *s, int result, struct spy_caller caller);
void spy_look_again(void) __attribute__((cold));
void span_comes_back(struct spy_span *s) __attribute__((cold));
bool ring_look(struct spy_tls *t);

/*
 * Puts a record of the shim's own into the calling thread's ring, between those of calls; lost, and
 * counted so, when there is no room. Inside a recorded call or outside of any; not in what a
 * signal's handler calls.
 */
void span_push_aside(const struct tf_record *r);
void spy_first_call(struct spy_span *s) __attribute__((cold));
void spy_record(struct spy_span *s, int result, struct spy_caller caller);

/* Does work of ours that may need more stack than the program's has left, and in which calls of
 * CUDA are none of the program's. */
void spy_do_own(void (*f)(void *argument), void *argument) __attribute__((cold));

/* In such work: whether it is done inside a call of CUDA, whose locks the thread may hold. */
bool spy_own_inside_call(void);

/* In a forked child, by the thread that it began with: what was under way belongs to the parent. */
void spans_after_fork(void);

static inline bool spy_class_timed_when_nested(unsigned cls)
{
	return cls == SPY_CLASS_MODULE || cls == SPY_CLASS_ALLOC || cls == SPY_CLASS_SYNC ||
	       cls == SPY_CLASS_CONTEXT;
}

/*
 * A counter of this thread's own. Relaxed, whole: nobody else writes it, a reporter may read it any
 * time. On x86-64 in one instruction, so that a signal's handler that counts loses nothing;
 * elsewhere it may lose what is counted in between.
 */
static inline void spy_count(uint64_t *counter, uint64_t by)
{
#if defined(__x86_64__)
	__asm__ volatile("addq %1, %0" : "+m"(*counter) : "er"(by) : "cc");
#else
	__atomic_store_n(counter, *counter + by, __ATOMIC_RELAXED);
#endif
}

/* The compiler keeps stores in order here, for a signal's handler on this thread. */
static inline void spy_in_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * Where the wrapper returns to that this is inlined into: read only where it is asked for. Where
 * the compiler leaves the frame pointer's register alone in wrappers (SPY_KEEPS_RBP, shim.mk), the
 * register still holds what the caller had in it. Elsewhere the wrapper needs a frame of its own,
 * three instructions, and those of launches go without.
 */
static inline __attribute__((always_inline)) struct spy_caller spy_caller(unsigned cls)
{
	struct spy_caller c = {__builtin_extract_return_addr(__builtin_return_address(0)), NULL};

#ifdef SPY_KEEPS_RBP
	__asm__ volatile("mov %%rbp, %0" : "=r"(c.frame));
#else
	if (cls != SPY_CLASS_LAUNCH && cls != SPY_CLASS_GRAPH_LAUNCH)
		c.frame = __builtin_frame_address(0);
#endif
	return c;
}

#include "shim/record/span_record.h"

/* Of spy_enter(): this call's note fills the arguments whatever happens. Never stands in a record.
 */
#define SPY_FILLS 0x8000u

/* Begins a record: nothing known of it but the call and its entry. */
static inline __attribute__((always_inline)) void spy_record_begin(struct tf_record *r,
                                                                   unsigned call, unsigned thread,
                                                                   unsigned flags, uint64_t start)
{
	/* `call`, `thread`, `flags` and `result` (0) in one store. */
	const uint64_t word = (call & UINT16_MAX) | (uint64_t)(thread & UINT16_MAX) << 16 |
	                      (uint64_t)((flags & ~SPY_FILLS) | TF_NO_ARGS) << 32;

	r->start = start;
	memcpy(&r->call, &word, sizeof(word));
	if (flags & SPY_FILLS)
		return;
	memset(&r->stream, 0, sizeof(*r) - offsetof(struct tf_record, stream));
}

/*
 * Whether a call of the driver is part of the runtime's call that is under way, and not one that
 * the program makes inside it (a signal's handler, a callback, or after a longjmp out of it): it
 * comes out of the runtime's real function, and a launch or a wait of the runtime is made of one
 * alone.
 */
static inline bool spy_is_nested(const struct spy_tls *t, const struct spy_span *s, unsigned cls)
{
	struct spy_span *o = t->outer;

	if (!o->real || o->call < SPY_DRIVER_CALLS || (uintptr_t)s >= (uintptr_t)o ||
	    o->mark != SPAN_MARK)
		return false;
	if (cls != SPY_CLASS_LAUNCH && cls != SPY_CLASS_GRAPH_LAUNCH && cls != SPY_CLASS_SYNC)
		return true;
	if (o->cls != cls)
		return cls == SPY_CLASS_SYNC && o->cls != SPY_CLASS_LAUNCH &&
		       o->cls != SPY_CLASS_GRAPH_LAUNCH;
	if (o->given)
		return false;
	o->given = 1;
	return true;
}

static inline __attribute__((always_inline)) void spy_enter(struct spy_span *s, unsigned call,
                                                            unsigned cls, unsigned flags)
{
	struct spy_tls *t = &spy_tls;

	s->mark = SPAN_MARK;
	s->call = (uint16_t)call;
	s->flags = (uint16_t)(flags & ~SPY_FILLS);
	s->mode = SPAN_BEGINS;
	s->cls = (uint8_t)cls;
	s->unusual = 0;
	s->given = 0;
	s->gpu = 0;
	s->real = 0;
	if (cls == SPY_CLASS_LAUNCH)
		s->kernel = NULL;
	else if (cls == SPY_CLASS_COPY)
		s->copy = NULL;
	spy_in_order();
	if (likely(!t->outer)) {
		t->outer = s;
		spy_in_order();
		/* Acquire: an open gate means a recording. Pairs with open_gate(). */
		if (likely(__atomic_load_n(&spy_gate_page.gate.open, __ATOMIC_ACQUIRE) ==
		                   t->generation &&
		           ring_has_room(t))) {
			struct tf_thread *th = t->thread;
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
	} else if (likely(call < SPY_DRIVER_CALLS && spy_is_nested(t, s, cls))) {
		t->outer->real = 0;
		s->mode = SPAN_NESTED;
		if (spy_class_timed_when_nested(cls))
			spy_enter_timed(s);
	} else {
		spy_enter_inside(s);
	}
}

/* Around the real function, of a call or of a part of it. */
static inline void spy_real_begins(void)
{
	spy_in_order();
	spy_tls.outer->real = 1;
}

/* The real function goes on, of the call that a nested one was part of. */
static inline void spy_real_goes_on(void)
{
	if (likely(spy_tls.outer)) /* else it was taken for dead */
		spy_real_begins();
}

/* Of the call `s`; and whether what was recorded still is, or what was not is now: the process may
 * be another one, a child that was forked meanwhile; the recording may have begun, or ended. */
static inline void spy_real_ended(struct spy_span *s)
{
	struct spy_tls *t = &spy_tls;

	if (likely(t->outer))
		t->outer->real = 0;
	else
		span_comes_back(s);
	spy_in_order();
	if (unlikely(spy_gate_page.gate.counter != t->generation))
		spy_look_again();
}

/* Classes of the calls that programs make by the thousand: their wrappers have the whole path in
 * line. */
static inline bool spy_class_hot(unsigned cls)
{
	return cls == SPY_CLASS_LAUNCH || cls == SPY_CLASS_GRAPH_LAUNCH || cls == SPY_CLASS_COPY ||
	       cls == SPY_CLASS_SYNC;
}

static inline __attribute__((always_inline)) void spy_leave(struct spy_span *s, unsigned call,
                                                            unsigned cls, int result)
{
	struct spy_tls *t = &spy_tls;

	if (likely(s->mode == SPAN_RECORDED && t->outer == s)) {
		uint64_t end = 0;
		if (!spy_class_hot(cls))
			spy_record(s, result, spy_caller(cls));
		else if (unlikely(!spy_record_at(s, call, cls, result, end = spy_counter())))
			spy_record_rest(s, result, end, spy_caller(cls));
		spy_in_order();
		t->outer = NULL;
	} else if (s->mode == SPAN_NESTED) {
		spy_real_goes_on();
	} else {
		spy_leave_unusual(s, result, spy_caller(cls));
	}
}

/* The span that a note writes its arguments to: the innermost call of the program's under way on
 * this thread. Where it was taken for dead (spy_enter_inside()) one of which nothing is recorded.
 */
extern struct spy_span spy_nobody;
static inline struct spy_span *spy_outer(void)
{
	struct spy_span *o = spy_tls.outer;

	return likely(o != NULL) ? o : &spy_nobody;
}

/* Whether a call of the program's lies in no other. */
static inline bool spy_is_outermost(const struct spy_span *outer)
{
	return outer->mode != SPAN_INSIDE && outer->mode != SPAN_UNSEEN;
}

/* Whether what this span's thread does now is counted. */
static inline bool spy_recording(const struct spy_span *outer)
{
	return outer->mode >= SPAN_RECORDED;
}

#endif
