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
	SPAN_BEGINS,  /* outermost, its entry is under way */
	SPAN_PASSIVE, /* outermost, not recorded: CUDA is not initialised, or CUDASPY_RANGE excludes
	                 it */
	SPAN_NESTED,  /* a driver call by which the runtime carries out its caller: gives that its
	                 arguments, and has no record */
	SPAN_TIMED,   /* nested, with a record of its time (spy_class_timed_when_nested()) */
	SPAN_OURS,    /* not a call of the program: work of the shim, which makes CUDA calls */
	SPAN_UNSEEN,  /* a call inside another one, while nothing is recorded */
	/* All that follow are recorded. */
	SPAN_RECORDED, /* outermost */
	SPAN_SLOWLY,   /* outermost, the long way: the clock is clock_gettime(), not the CPU's
	                  counter, or the site of every call is wanted */
	SPAN_INSIDE,   /* made by the program inside another call: in a signal handler or a callback
	                */
};

enum spy_span_unusual {
	SPAN_FIRST_LAUNCH = 1, /* this thread's first launch of a kernel */
	SPAN_STARTED_HERE = 2, /* cuInit first succeeded inside this span */
	SPAN_NO_ROOM = 4,      /* the ring is full: its record is lost */
	SPAN_SETTLED = 8,      /* passive, and stays so until it returns: excluded by CUDASPY_RANGE,
	                          refused, or begun in the parent of a forked child */
	SPAN_STEADY = 16, /* SPAN_INSIDE: it did not interrupt code of the shim, so it may write to
	                     the ring */
	SPAN_SITE = 32,   /* its call site is to be recorded */
};

struct spy_span {
	struct tf_record *rec; /* of all but a nested span; see spy_tls */
	struct tf_kernel_stat
	        *kernel;           /* of a launch: the figures that its time is added to; or NULL */
	struct tf_copy_stat *copy; /* of a copy: the same */
	uint64_t kept[4];          /* what before_X() keeps for args_X() */
	uint32_t mark;             /* SPAN_MARK; else a longjmp left it, and the stack was used
	                              again */
	uint16_t call;
	uint16_t flags; /* of the record: TF_PTDS */
	uint8_t mode;   /* enum spy_span_mode */
	uint8_t cls;
	uint8_t unusual; /* enum spy_span_unusual */
	uint8_t given;   /* a runtime call: the driver's launch or wait that it makes was seen */
	uint8_t gpu;     /* its work is being timed; set by the sampler */
	uint8_t real;    /* the real function is running, none of our code */
	/* SPAN_TIMED, SPAN_INSIDE, SPAN_UNSEEN and SPAN_OURS alone */
	struct spy_span *below; /* the span around it; NULL: work of the shim outside of any call */
	struct tf_record own;   /* its record; of SPAN_TIMED it is in spy_tls.nested */
};
#define SPAN_MARK 0x6b72616du

/*
 * What a thread keeps outside the recording. It is initial-exec TLS, for which the loader has
 * little room: keep it small.
 *
 * The record of an outermost call is written in place, in the ring's next slot; the drain does not
 * see it before `head` covers it. Where the ring is full, or nothing is recorded, it is written to
 * `spare`.
 *
 * A signal handler that calls CUDA may interrupt us anywhere. A span begins and ends with one store
 * to `outer`: a handler's call that finds `outer` set is inside that call. It may write to the ring
 * only if the interrupted span's `real` is set: then none of our code was interrupted.
 */
#define SPY_KNOWN 8 /* kernels launched last, which a thread finds without the registry */
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
	uint64_t limit; /* `head` may come so far; then ring_look() reads the ring's tail again */
	struct tf_ring *ring;
	struct spy_span
	        *outer; /* the innermost call of the program's that is under way; NULL = none */
	uint32_t
	        generation; /* of the process in which `thread` is valid; SPY_NO_GENERATION: none */
	uint16_t index;     /* in table `threads` */
	bool in_lookup;     /* inside our dlsym hook */
	bool timing_nested;
	bool ring_stays; /* a larger ring was refused: do not ask again at each call */
	/* CUDA calls may come after our thread destructor ran: the slot that it had, and in which
	 * generation. */
	struct tf_thread *last_thread;
	uint32_t last_generation;
	struct sampler_class
	        *sampled; /* sampler.h; NULL = not sampled, or the current context may be another */
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
 * Puts a record that is not a call's into the calling thread's ring; where there is no room it is
 * counted as lost. To be called inside a recorded call or outside of any, not on the way of a call
 * made in a signal handler.
 */
void span_push_aside(const struct tf_record *r);
void spy_first_call(struct spy_span *s) __attribute__((cold));
void spy_record(struct spy_span *s, int result, struct spy_caller caller);

/* Runs `f`, work of the shim, on a stack of its own where the program's may be too short. CUDA
 * calls that it makes are not counted as the program's. */
void spy_do_own(void (*f)(void *argument), void *argument) __attribute__((cold));

/* In such work: whether the thread is inside a CUDA call, and may hold the driver's locks. */
bool spy_own_inside_call(void);

/* In a forked child: spans of the thread that forked belong to the parent. */
void spans_after_fork(void);

static inline bool spy_class_timed_when_nested(unsigned cls)
{
	return cls == SPY_CLASS_MODULE || cls == SPY_CLASS_ALLOC || cls == SPY_CLASS_SYNC ||
	       cls == SPY_CLASS_CONTEXT;
}

/*
 * Adds to a counter that this thread alone writes. Relaxed: the reporter may read it any time, and
 * sees a whole value. On x86-64 it is one instruction, so that nothing is lost when a signal
 * handler counts too; elsewhere what the handler counts in between may be lost.
 */
static inline void spy_count(uint64_t *counter, uint64_t by)
{
#if defined(__x86_64__)
	__asm__ volatile("addq %1, %0" : "+m"(*counter) : "er"(by) : "cc");
#else
	__atomic_store_n(counter, *counter + by, __ATOMIC_RELAXED);
#endif
}

/* The compiler must not move stores across this: a signal handler on this thread relies on it. */
static inline void spy_in_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * The return address of the wrapper that this is inlined into, and its caller's frame pointer.
 * Where wrappers are compiled so that they leave rbp alone (SPY_KEEPS_RBP, shim.mk), it still has
 * the caller's value. Elsewhere a frame pointer costs the wrapper three instructions, which those
 * of launches do not pay: they tell the return address alone.
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

/* A flag for spy_enter(), in no record: this call's args_X() writes all of the union, so it need
 * not be cleared. */
#define SPY_FILLS 0x8000u

/* Begins a record: the call and its entry; no arguments yet. */
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
 * Whether a driver call is made by the runtime to carry out the runtime call under way, and not by
 * the program inside it (in a signal handler or callback, or after a longjmp out of it). It must
 * come while the runtime's real function runs, from deeper in the stack; and a runtime launch or
 * wait makes just one driver call of that class.
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

/* Right before the real function is called. */
static inline void spy_real_begins(void)
{
	spy_in_order();
	spy_tls.outer->real = 1;
}

/* A nested call returns: the runtime's real function runs on. */
static inline void spy_real_goes_on(void)
{
	if (likely(spy_tls.outer)) /* else it was taken for left by a longjmp */
		spy_real_begins();
}

/* Right after the real function of `s` returned. Meanwhile the recording may have begun or ended,
 * or this may be a forked child: then spy_look_again() decides anew whether the call is recorded.
 */
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

/* Classes of calls that programs make by the thousand: in their wrappers the whole path is inline.
 */
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

/* The span that args_X() writes to: the innermost call of the program under way on this thread.
 * Where that was taken for left by a longjmp (spy_enter_inside()), one that is not recorded. */
extern struct spy_span spy_nobody;
static inline struct spy_span *spy_outer(void)
{
	struct spy_span *o = spy_tls.outer;

	return likely(o != NULL) ? o : &spy_nobody;
}

/* Whether a call of the program is inside no other. */
static inline bool spy_is_outermost(const struct spy_span *outer)
{
	return outer->mode != SPAN_INSIDE && outer->mode != SPAN_UNSEEN;
}

/* Whether the call is recorded and counted. */
static inline bool spy_recording(const struct spy_span *outer)
{
	return outer->mode >= SPAN_RECORDED;
}

#endif
