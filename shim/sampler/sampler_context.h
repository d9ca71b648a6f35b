/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sampler has in each CUDA context: its kernels, a bounded pool of event pairs, the
 * samples that the GPU has not finished yet. For the sampler's files.
 *
 * Unless said otherwise the context is the calling thread's current one, and the thread is in a
 * section (sampler_section.h).
 */
#ifndef SPY_SAMPLER_CONTEXT_H
#define SPY_SAMPLER_CONTEXT_H

#include "shim/sampler/sampler_driver.h"
#include "shim/core/format/trace_format.h"

#define SAMPLER_PAIRS 64u

enum sampler_state {
	SAMPLER_OFF,    /* nothing of ours is done in it any more */
	SAMPLER_MAKING, /* a thread is making it ready: launches in it wait for that */
	SAMPLER_ON,
};

/* A kernel of ours as a graph, made when it is first needed; see sampler_ahead.h. */
struct sampler_graph {
	CUgraph graph; /* NULL: none yet */
	CUgraphExec exec;
	CUgraphNode node;
	unsigned us; /* that it lasts */
};

struct sampler_pair {
	CUevent a, b;
	struct sampler_graph ahead, null;
	bool open;               /* they were launched for this sample */
	uint64_t number;         /* in the order in which they were committed */
	struct tf_record record; /* TF_CALL_SAMPLE, but for its `end` */
};

struct sampler_context {
	uint64_t handle; /* CUcontext; 0 = a free place */
	uint32_t number; /* never used twice in a process; 0 = none */
	uint32_t state;  /* enum sampler_state. Release, after the rest is filled */
	uint32_t device;
	uint32_t warps_per_sm;
	uint32_t graphs;  /* the program has launched one; relaxed */
	uint64_t kernels; /* tick at which a kernel was sampled last; relaxed */
	CUfunction stall, null;
	uint64_t free;      /* pairs, a bit each */
	uint64_t waiting;   /* those that the GPU has to finish */
	uint64_t given_up;  /* the same, of samples without a result */
	uint64_t committed; /* so far */
	uint32_t turn;      /* of those that were given up */
	struct sampler_pair pairs[SAMPLER_PAIRS];
};

/* ---- contexts ---- */

/* The context, whatever its state; NULL: not seen before. Lock-free. */
struct sampler_context *sampler_context_find(uint64_t handle);

/* Warps that a multiprocessor of the device holds; 0 = not known. */
uint32_t sampler_warps_per_sm(CUdevice device);

/* Where a sample is taken, and how kernels of ours are launched there: as graphs (sampler_ahead.h),
 * or by themselves. */
struct sampler_spot {
	CUstream stream;
	int ptds;
	bool graphs;
};

/*
 * A context that was not seen before, made ready ahead of its first launch, which the calling
 * thread is about to make in it: loads our kernels, launches them, makes the events, measures what
 * a pair costs, at `spot`. NULL: no place for it. Where that fails, or a capture is under way, it
 * is off for good. Outside of sections.
 */
struct sampler_context *sampler_context_make(uint64_t handle, const struct sampler_spot *spot);

/* A context whose first launch goes ahead while we may not work in it: never sampled. */
void sampler_context_refuse(uint64_t handle);

/* While another thread makes the context ready: waits for that, at most two seconds. Whatever comes
 * of it, the caller's launch may go ahead then. Outside of sections. */
void sampler_context_await(struct sampler_context *c);

static inline bool sampler_context_on(const struct sampler_context *c)
{
	/* Acquire: pairs with sampler_context_make(). */
	return __atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == SAMPLER_ON;
}

/* What a call of ours returned: true if it succeeded. A refusal of the driver switches the context
 * off. */
bool sampler_accepted(struct sampler_context *c, CUresult rc);

/* From now on no thread finds it ready; what the threads that did are doing ends within a
 * millisecond. */
void sampler_context_shut(struct sampler_context *c);

/* Its place is free. */
void sampler_context_forget(struct sampler_context *c);

/* Calls `f` on every context that is on. */
void sampler_contexts_each(void (*f)(struct sampler_context *c));

void sampler_contexts_after_fork(void);

/* ---- pairs: sampler_pair.c ---- */

/* False: the driver refused. */
bool sampler_pairs_make(struct sampler_context *c);

/*
 * A pair of events, NULL where all wait for the GPU. Its graphs are not under way: launches of one
 * exec wait for one another, on whatever streams they are, and the program's streams must not wait
 * for each other because of us.
 */
struct sampler_pair *sampler_pair_take(struct sampler_context *c);
void sampler_pair_return(struct sampler_context *c, struct sampler_pair *p);
/* Both events are recorded: its sample is harvested when the GPU is done. */
void sampler_pair_commit(struct sampler_context *c, struct sampler_pair *p);

/*
 * No result is wanted. Where its graphs were launched it is free again when they are done, if the
 * second event was recorded behind them (`marked`), else it gets new ones.
 */
void sampler_pair_give_up(struct sampler_context *c, struct sampler_pair *p, bool marked);

/* The context is about to be destroyed, and no sample of it is under way: all pairs' graphs are,
 * which are no part of a context for the driver. */
void sampler_pairs_drop(struct sampler_context *c);

/* Is there a sample that was not harvested? */
static inline bool sampler_pairs_wait(const struct sampler_context *c)
{
	return __atomic_load_n(&c->waiting, __ATOMIC_RELAXED) != 0;
}

/* Gives finished samples, at most `most`, to the calling thread's ring; waits for none. The context
 * need not be current. The result that ended it. */
CUresult sampler_harvest(struct sampler_context *c, unsigned most);

/* Records one of our events. False: it was not to be; see sampler_accepted(). */
bool sampler_put_event(struct sampler_context *c, CUevent e, CUstream stream, int ptds);

/*
 * Whether the first event was still to come when the second one was queued. If not, the host's time
 * stands between them.
 */
bool sampler_pair_holds(struct sampler_context *c, const struct sampler_pair *p);

/*
 * Gives our events around nothing (TF_WORK_EMPTY) or around our empty kernel (TF_WORK_NULL) to the
 * stream, behind a stall of so many microseconds, or behind our empty kernel (0: the stream is
 * busy). False: it was not to be.
 */
bool sampler_calibrate(struct sampler_context *c, const struct sampler_spot *spot,
                       enum tf_work_kind kind, unsigned stall_us);

#endif
