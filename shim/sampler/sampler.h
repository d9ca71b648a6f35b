/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU time without CUPTI: a launch now and then stands between two events of ours, behind a stall
 * that holds its stream until all three are queued, so that what the events show is the work's time
 * on the GPU and not the host's. Which launches: at random, stratified by class, under a budget.
 *
 * For the generated wrappers (sampler_wanted(), sampler_before(), sampler_after()), the life cycle
 * and shim/args: contexts, modules, captures. What the wrappers do in line is one comparison
 * for each launch. The rest: sampler.c (one launch), sampler_class.c (when a class is due),
 * sampler_rate.c (the budget), sampler_section.c (captures), sampler_context.c and sampler_pair.c
 * (what is ours in a context), sampler_place.c (where a launch goes), sampler_kernel.c (what is
 * asked about a kernel), sampler_cupti.c (where CUPTI times the work), sampler_beside.c (other
 * threads on the same stream), sampler_life.c (start and end).
 *
 * Never while a capture is under way; never a thread's first launch of a class, which may load
 * code; nothing that waits. Any refusal of the driver ends sampling in that context, counted.
 */
#ifndef SPY_SAMPLER_H
#define SPY_SAMPLER_H

#include "shim/base/cuda_types.h"
#include "shim/cupti/cupti.h"
#include "shim/record/span.h"
#include "shim/sampler/sampler_class.h"
#include "shim/sampler/sampler_keys.h"

/* ---- around the real call ---- */

/* Relaxed: switched on before the first launch; a late look costs one sample. */
static inline bool sampler_wanted(struct spy_span *s)
{
	return unlikely(__atomic_load_n(&spy_gate_page.gate.gpu, __ATOMIC_RELAXED));
}

void sampler_before_slow(struct spy_span *s, uint64_t key, CUstream stream, const void *what);
void sampler_after_slow(struct spy_span *s, CUresult rc, CUstream stream);
/* A graph was launched, by its key: another thread's first launch of it may be timed. */
void sampler_graph_launched(uint64_t key);

/*
 * `key` 0: not timed, but the context's first launch is to be seen. `what`: the function of a
 * kernel launch (NULL for a cooperative one: no stall, no questions about it), else NULL.
 */
static inline __attribute__((always_inline)) void sampler_before(struct spy_span *s, uint64_t key,
                                                                 CUstream stream, const void *what)
{
	struct sampler_class *all = spy_tls.sampled;

	if (likely(all)) {
		struct sampler_class *c = sampler_home(all, key);
		if (likely(c->key == key && --c->until))
			return;
	}
	sampler_before_slow(s, key, stream, what);
}

/* After args_X(), which fills the record. */
static inline __attribute__((always_inline)) void sampler_after(struct spy_span *s, CUresult rc,
                                                                CUstream stream)
{
	if (unlikely(s->gpu))
		sampler_after_slow(s, rc, stream);
}

/* ---- life cycle ---- */

/* Switches sampling on, if it is asked for and the process allows it; the mode in force. Called
 * once a recording, before any launch is recorded. */
enum tf_gpu_mode sampler_start(enum tf_gpu_mode asked);

/* Takes what samples are done, waits for none. In the exit handler, the last moment at which CUDA
 * may be called. */
void sampler_finish(void);

void sampler_after_fork(void);

/* The calling thread ends: what it had goes to the next one. */
void sampler_thread_died(void);
/* A thread takes a slot of the recording: so does what the one before it had there. */
void sampler_slot_taken(uint16_t slot);

/* The calling thread's current context changed, or may have. */
void sampler_context_changed(void);

/*
 * Contexts are about to be destroyed, or may be: takes what samples are done in any. Then, for each
 * that is, sampler_context_died(), by the call that destroys it (`refused`: it did not, the context
 * lives on, unsampled). `gone`: it is destroyed already, so that nothing of it is touched.
 */
void sampler_contexts_end(void);
void sampler_context_died(uint64_t context, bool gone);
void sampler_context_survived(uint64_t context);

/* Work was given to streams by a call that is not followed: contexts that were not seen yet may
 * have had their first launch. None of them is sampled. */
void sampler_no_new_contexts(void);

/* Our time, `ticks`, is no time of the call's that is under way: its beginning moves up by it. It
 * is counted by itself. False: nothing is recorded. */
bool sampler_take_out(uint64_t ticks);

/* A capture begins, `captures` is raised: waits until no thread is giving work of ours to a stream,
 * at most a millisecond. */
void sampler_capture_begins(void);

#endif
