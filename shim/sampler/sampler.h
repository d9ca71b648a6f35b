/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU time without CUPTI: a launch now and then stands between two events of ours, behind a stall
 * that holds its stream until all three are queued, so that what the events show is the work's time
 * on the GPU and not the host's. Which launches: at random, stratified by class, under a budget.
 *
 * For the generated wrappers (sampler_wanted(), sampler_before(), sampler_after()), the life cycle
 * and the notes of contexts, modules and captures. What the wrappers do in line is one comparison
 * for each launch. The rest: sampler.c (one launch), sampler_class.c (when a class is due),
 * sampler_rate.c (the budget), sampler_section.c (captures), sampler_context.c and sampler_pair.c
 * (what is ours in a context), sampler_place.c (where a launch goes), sampler_kernel.c (what is
 * asked about a kernel), sampler_beside.c (other threads on the same stream), sampler_life.c (start
 * and end).
 *
 * Never while a capture is under way; never a thread's first launch of a class, which may load
 * code; nothing that waits. Any refusal of the driver ends sampling in that context, counted.
 */
#ifndef SPY_SAMPLER_H
#define SPY_SAMPLER_H

#include "shim/base/cuda_types.h"
#include "shim/cupti/cupti.h"
#include "shim/handles/registry.h"
#include "shim/record/span.h"
#include "shim/core/work/work_class.h"

/* How a thread stands with one class of work. The key is a hash of what makes the class, never 0.
 * Half a cache line. */
struct sampler_class {
	uint64_t key;
	uint32_t until;       /* launches to go until one is timed */
	uint32_t armed;       /* ... when that was set */
	uint64_t met;         /* launches by then */
	uint32_t series;      /* its number in samples; 0 = none yet */
	uint16_t seen : 14;   /* the context and the code that it was last met in */
	uint16_t drained : 2; /* samples to take behind a stall, on a busy stream too */
	uint8_t samples;      /* taken, saturating */
	uint8_t stall : 3;    /* which of the stalls this class needs */
	uint8_t late : 3;     /* samples lost to the longest one, in a row */
	uint8_t refused : 2;  /* how often it could not be afforded, in a row */
};
_Static_assert(sizeof(struct sampler_class) == 32, "two in a cache line");
#define SAMPLER_SEEN    0x3fffu /* the bits of `seen` */
#define SAMPLER_CLASSES 512u    /* of a thread; a power of two */

/* A class stands in one of two neighbouring places, of one cache line. */
static inline struct sampler_class *sampler_home(struct sampler_class *all, uint64_t key)
{
	return all + (key >> 55); /* of SAMPLER_CLASSES */
}

static inline struct sampler_class *sampler_neighbour(struct sampler_class *all, uint64_t key)
{
	return all + ((key >> 55) ^ 1);
}

/* ---- keys ---- */

static inline __attribute__((always_inline)) uint64_t
sampler_key_kernel(const void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared)
{
	uint64_t shape = ((uint64_t)gx << 32 | bx) * 0x9e3779b97f4a7c15u +
	                 ((uint64_t)gy << 40 ^ (uint64_t)gz << 20 ^ (uint64_t)by << 10 ^ bz) *
	                         0xc2b2ae3d27d4eb4fu +
	                 shared;

	return (((uintptr_t)f ^ shape) * 0xff51afd7ed558ccdu) | 1;
}

/* 0: not to be timed. Where launches may overlap or signal on their own, events around one of them
 * do not show its time, and would take the overlap away. */
uint64_t sampler_key_config(const CUlaunchConfig *config, const void *f);

/* By what the graph does, or by its number where that is not known: an executable that is made anew
 * for every launch is no class of its own. 0: its making was not seen. */
static inline uint64_t sampler_key_graph(const void *exec)
{
	uint32_t value;

	if (!registry_get(HANDLE_GRAPH_EXEC, (uintptr_t)exec, &value))
		return 0;
	uint32_t cls = work_graph(registry_graph_number(value), registry_graph_content(value));
	return cls != UINT32_MAX ? (cls * 0x9e3779b97f4a7c15u) | 1 : 0;
}

/* A copy or set of so many bytes, by this call; sizes of one octave are one class here. */
static inline uint64_t sampler_key_bytes(unsigned call, uint64_t bytes)
{
	uint64_t octave = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;

	return ((call * 64ull + octave + 1) * 0xff51afd7ed558ccdu) | 1;
}

static inline uint64_t sampler_bytes_2d(const CUDA_MEMCPY2D *p)
{
	return p ? (uint64_t)p->WidthInBytes * p->Height : 0;
}

static inline uint64_t sampler_bytes_3d(const CUDA_MEMCPY3D *p)
{
	return p ? (uint64_t)p->WidthInBytes * p->Height * p->Depth : 0;
}

static inline uint64_t sampler_bytes_3d_peer(const CUDA_MEMCPY3D_PEER *p)
{
	return p ? (uint64_t)p->WidthInBytes * p->Height * p->Depth : 0;
}

#if CUDA_VERSION >= 12080
static inline uint64_t sampler_bytes_3d_op(const CUDA_MEMCPY3D_BATCH_OP *p)
{
	return p ? (uint64_t)p->extent.width * p->extent.height * p->extent.depth : 0;
}
#endif

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

/* After the note, which fills the record. */
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
 * lives on, unsampled).
 */
void sampler_contexts_end(void);
void sampler_context_died(uint64_t context);
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
