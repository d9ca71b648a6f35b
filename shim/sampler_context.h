/*
 * What the sampler has in each CUDA context: its kernels, a bounded pool of event pairs, the
 * samples that the GPU has not finished yet. For sampler.c.
 */
#ifndef SPY_SAMPLER_CONTEXT_H
#define SPY_SAMPLER_CONTEXT_H

#include <stdbool.h>
#include "shim/cuda_types.h"
#include "shim/lock.h"
#include "shim/trace_format.h"

#define SAMPLER_PAIRS 64u

/* The driver's functions that the sampler calls; [1] is the flavour of per-thread default streams.
 */
struct sampler_driver {
	CUresult (*launch[2])(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
	                      unsigned, unsigned, CUstream, void **, void **);
	CUresult (*record[2])(CUevent, CUstream);
	CUresult (*stream_query[2])(CUstream);
	CUresult (*is_capturing[2])(CUstream, CUstreamCaptureStatus *);
	CUresult (*exchange_mode)(CUstreamCaptureMode *);
	CUresult (*get_current)(CUcontext *);
	CUresult (*get_device)(CUdevice *);
	CUresult (*device_attribute)(int *, CUdevice_attribute, CUdevice);
	CUresult (*stream_context)(CUstream, CUcontext *);
	CUresult (*module_load)(CUmodule *, const void *, unsigned, CUjit_option *, void **);
	CUresult (*module_function)(CUfunction *, CUmodule, const char *);
	CUresult (*event_create)(CUevent *, unsigned);
	CUresult (*event_query)(CUevent);
	CUresult (*elapsed)(float *, CUevent, CUevent);
	CUresult (*occupancy)(int *, CUfunction, int, size_t);
	CUresult (*function_attribute)(int *, CUfunction_attribute, CUfunction);
};
extern struct sampler_driver sampler_cu;

/* False: this driver lacks one of them. */
bool sampler_driver_find(void);

struct sampler_pair {
	CUevent a, b;
	struct tf_record record; /* TF_CALL_SAMPLE, but for its `end` */
};

struct sampler_context {
	uint64_t handle; /* CUcontext; 0 = a free place. Release, after the rest is filled */
	uint32_t number; /* never used twice in a process */
	uint32_t device;
	uint32_t warps_per_sm;
	uint32_t on; /* 0: nothing of ours is done in it any more */
	CUfunction stall, null;
	struct spy_spin lock;
	uint64_t free;                  /* pairs, a bit each; under the lock */
	uint8_t waiting[SAMPLER_PAIRS]; /* pairs the GPU has to finish, oldest first */
	uint32_t first, count;          /* of `waiting` */
	struct sampler_pair pairs[SAMPLER_PAIRS];
};

/* The context, or NULL: unknown, or given up. Lock-free. */
struct sampler_context *sampler_context_find(uint64_t handle);

/*
 * Makes the context ready ahead of its first launch, which the calling thread is about to make in
 * it: loads our kernels, launches the stall once, makes the events, measures what a pair costs, on
 * `stream`. NULL: it cannot be; it is not tried again. The context must be current.
 */
struct sampler_context *sampler_context_make(uint64_t handle, CUstream stream, int ptds);

/* A context whose first launch goes ahead while we may not work in it: never sampled. */
void sampler_context_refuse(uint64_t handle);

/* Gives up a context after a refusal of the driver. */
void sampler_context_give_up(struct sampler_context *c);

void sampler_context_forget(uint64_t handle);
void sampler_contexts_after_fork(void);

/* A pair of events, NULL where all wait for the GPU (or another thread is at the pool just now). */
struct sampler_pair *sampler_pair_take(struct sampler_context *c);
void sampler_pair_return(struct sampler_context *c, struct sampler_pair *p);
/* Both events are recorded: its sample is harvested when the GPU is done. */
void sampler_pair_commit(struct sampler_context *c, struct sampler_pair *p);

/* Gives finished samples, at most `most`, to the calling thread's ring. Stops at the first that is
 * not done. */
void sampler_harvest(struct sampler_context *c, unsigned most);

/* Calls `f` on every context in use. */
void sampler_contexts_each(void (*f)(struct sampler_context *c));

/*
 * Gives our events around nothing (TF_WORK_EMPTY) or around our empty kernel (TF_WORK_NULL) to a
 * stream, behind the stall unless the stream is `busy`. False: the driver refused.
 */
bool sampler_calibrate(struct sampler_context *c, CUstream stream, int ptds, enum tf_work_kind kind,
                       bool busy);

/*
 * Launches what stands ahead of the first event, so that every pair is measured behind the same
 * kind of work: a stall of `us` microseconds, or with 0, on a busy stream, our empty kernel. False:
 * the driver refused.
 */
bool sampler_ahead(struct sampler_context *c, CUstream stream, int ptds, unsigned us);

#endif
