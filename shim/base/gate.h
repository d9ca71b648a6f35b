/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether calls are recorded now, and where: the gate that every wrapper looks at, the recording of
 * this process, and the one lock of the shim. What opens and shuts the gate (start, fork, exit)
 * stands above, in the life cycle, which registers itself here. For every room of the shim.
 */
#ifndef SPY_GATE_H
#define SPY_GATE_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/core/format/trace_map.h"

/* What is done about GPU time at each piece of work given to the GPU. */
enum spy_gpu {
	SPY_GPU_NONE,
	SPY_GPU_SAMPLE, /* sampler.h */
	SPY_GPU_CUPTI,  /* CUPTI tells its own, of every call: cupti.h */
};

/*
 * One page of its own, wiped by the kernel in a forked child (MADV_WIPEONFORK): a child that no
 * handler of ours saw, made by _Fork() or a raw clone(), finds every door shut. Those that are open
 * hold the generation of the process: a thread that came from the parent has another one, also when
 * the child has opened them again.
 */
struct spy_gate {
	uint32_t open;    /* the generation: recorded calls take the fast path; only where the clock
	                     is the CPU's counter */
	uint32_t counter; /* the generation: the clock is the CPU's counter, and the recording open
	                   */
	uint32_t live;    /* the generation: there is a recording, and it is open */
	uint32_t mine;    /* the generation, once this process has looked about; 0 in a child that
	                     has not */
	/* beside them what the hot path reads as well, for the sake of one cache line */
	uint32_t captures; /* captures under way in the process, at least; 0 = certainly none */
	uint32_t gpu;      /* enum spy_gpu: what is done about GPU time at each launch */
	uint32_t registry_version; /* changes whenever a handle comes to mean something else, or
	                              nothing */
	uint32_t site_all;         /* every call's site is wanted: none takes the fast path */
	uint64_t site_from;        /* ticks: so long a call's site is wanted; 0 = none is */
};
extern union spy_gate_page {
	struct spy_gate gate;
	char page[4096];
} spy_gate_page;

/* The recording of this process; base is NULL until it exists. */
extern struct tf_map spy_map;

/* Raised in every forked child: what was learned under another number belongs to the parent. */
extern uint32_t spy_generation;

enum spy_phase {
	SPY_PHASE_WAITING, /* cuInit has not succeeded */
	SPY_PHASE_STARTING,
	SPY_PHASE_ON,
	SPY_PHASE_FORKED, /* in a forked child: starts at its first call */
	SPY_PHASE_OFF,    /* no recording to be had */
};

/* Of a wrapper. */
struct spy_caller {
	const void *at; /* where it returns to */
	/* The frame pointer: of its own frame, which holds its caller's and `at`, or its caller's,
	 * which may be none; NULL = not known. */
	const void *const *frame;
};

/*
 * What rooms above do when the gate is asked. Registered when the library is linked, as calls may
 * come before any constructor of ours has run: GATE_REGISTER(), once.
 */
struct gate_life {
	void (*first_look)(void);       /* nothing is known of this process yet */
	void (*after_bare_clone)(void); /* the gate's page was wiped, and no fork handler ran */
	bool (*start)(enum spy_phase expected); /* true: this very call started the recording */
	void (*wait_for_start)(void);           /* another thread is starting it */
	void (*thread_died)(void);              /* the calling one ends */
	void (*slot_taken)(uint16_t index);     /* the calling thread takes this slot */
	/* where the call was made whose record this is; the ticks that it took to find out */
	uint64_t (*call_site)(struct tf_record *r, struct spy_caller caller);
};
#define GATE_REGISTER(life)                                                                        \
	static const struct gate_life *const gate_registered                                       \
	        __attribute__((section("spy_life"), used)) = &(life)

/* The phase: acquire; and its word, a futex, for the life cycle alone. */
enum spy_phase gate_phase(void);
extern uint32_t gate_phase_word;

/* By the life cycle: the recording that was just mapped is this process's own. */
void gate_take_map(void);

/* A thread takes a slot of the recording, or ends: told to the rooms above. */
void gate_slot_taken(uint16_t index);
void gate_thread_died(void);
/* The site of a call that has returned is wanted: the same. */
uint64_t gate_call_site(struct tf_record *r, struct spy_caller caller);

/* Whether the recording is this process's own, and not its parent's. */
bool gate_is_mine(void);

/* Opens the gate of a recording that is complete; shuts it. By the life cycle alone. */
void gate_open(void);
void gate_shut(void);
/* In a forked child: nothing of the parent's may be written any more. */
void gate_after_fork(void);
/* Calls that returned while a recording was being made, and waited too long: into the recording. */
void gate_add_missed(void);

/*
 * The one lock of the shim. Cold paths only (a thread's birth, growth, handles made and dropped,
 * ranges of memory); never held across a call of CUDA or of the program. Its holder is in a quiet
 * section. A forked child starts with it free.
 */
void spy_lock(void);
void spy_unlock(void);
/* The same lock, of a recording whose seal is just being made. */
void gate_lock_bare(void);
void gate_unlock_bare(void);

enum spy_answer {
	SPY_ON,           /* calls are recorded */
	SPY_NOT_YET,      /* CUDA is not initialised, or another thread is starting the recording */
	SPY_OUT_OF_RANGE, /* CUDASPY_RANGE */
	SPY_NEVER,        /* there is no recording, and there will be none */
};

/*
 * Whether calls are recorded now; starts the recording of a forked child at its first call. While
 * another thread is starting one: waits for it if the caller `may_wait`, which it may only outside
 * of any other call; all threads together for at most 100 ms a start.
 */
enum spy_answer spy_ask(bool may_wait);

/* Whether this process has had a recording; whether one is being made just now. */
bool spy_started(void);
bool spy_starting(void);

/* cuInit succeeded. Starts the recording, once: true where this very call did. Keeps errno. */
bool spy_start(void);

/* Whether the recording may be written: one that was closed is open again from here on, its seal
 * broken. False in a process that is not the recording's, and where the recording was cut short. */
bool gate_reopens(void);

/* A call returned that is recorded, and stands in no table. */
void spy_lose_call(void);

/* The file was cut short under us: what is in memory goes nowhere any more. Safe in a signal's
 * handler. */
void spy_cut_short(void);
bool spy_was_cut(void);

/* CUDASPY_RANGE: opens and shuts the gate; whether calls made now are in the range asked for. */
void spy_range_open(bool open);
bool spy_in_range(void);

/* Whether a result only says that the process is ending: runtimes tidy up after the driver is gone.
 * No failure. */
bool spy_too_late(int result);

/* Something of ours failed: counted in the recording, shown in every report. */
void spy_count_anomaly(enum spy_anomaly what);

#endif
