/* SPDX-License-Identifier: Apache-2.0 */
/* What every call does first and last: count itself, publish that it runs, refuse when it must.
 * Included by the generated exports and by driver.h. */
#pragma once
#include <stdbool.h>
#include "sim/driver_api.h"
#include "tests/sim/truth.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define SIM_EXPORT  __attribute__((visibility("default")))

/* How an export is called. */
#define SIM_PER_THREAD 1 /* _ptsz or _ptds: stream 0 is the thread's own default stream */
#define SIM_ALWAYS     2 /* allowed before cuInit, after fork and after exit */

enum sim_phase { SIM_NOT_READY, SIM_READY, SIM_ENDED };

struct sim_ctx;

#define SIM_CTX_STACK 32

/* The calling thread as the driver knows it. */
struct sim_thread {
	struct truth_thread *truth;
	bool per_thread;     /* of the call in progress */
	unsigned generation; /* changes in a forked child */
	unsigned depth;
	struct sim_ctx *stack[SIM_CTX_STACK];
	CUstreamCaptureMode capture_mode;
	unsigned own_captures;          /* begun by this thread, not relaxed */
	struct own_stream *own_streams; /* per-thread default streams, one a context */
};

/* In a page that the kernel wipes on fork, however the process was forked. */
struct sim_life {
	_Atomic int phase;
};

extern struct sim_life *sim_life;
extern _Atomic unsigned char sim_watch[SIM_APIS]; /* calls that SIM_FAIL names */
extern const char *const sim_api_name[SIM_APIS];
extern __thread struct sim_thread *sim_self __attribute__((tls_model("initial-exec")));

CUresult sim_enter_slow(struct sim_thread **out, unsigned api, unsigned how);

static inline CUresult sim_enter(struct sim_thread **out, unsigned api, unsigned how)
{
	struct sim_thread *t = sim_self;

	if (unlikely(!t ||
	             atomic_load_explicit(&sim_life->phase, memory_order_relaxed) != SIM_READY ||
	             sim_watch[api]))
		return sim_enter_slow(out, api, how);
	*out = t;
	t->per_thread = how & SIM_PER_THREAD;
	atomic_store_explicit(&t->truth->in_call, api + 1, memory_order_relaxed);
	return CUDA_SUCCESS;
}

static inline CUresult sim_leave(struct sim_thread *t, unsigned api, CUresult rc)
{
	struct truth_thread *truth = t->truth;

	truth->api_calls[api]++;
	truth->total.calls++;
	if (unlikely(rc != CUDA_SUCCESS && rc != CUDA_ERROR_NOT_READY)) {
		truth->api_failed[api]++;
		truth->total.failed++;
	}
	/* Release: who sees no call in progress sees it counted. */
	atomic_store_explicit(&truth->in_call, 0, memory_order_release);
	return rc;
}
