/*
 * GPU time without CUPTI: a launch now and then stands between two events of ours, behind a stall
 * that holds its stream until all three are queued, so that what the events show is the work's time
 * on the GPU and not the host's. Which launches: at random, stratified by class, under a budget.
 *
 * For the generated wrappers (gpu_wanted(), gpu_before(), gpu_after()), the life cycle and the
 * notes of contexts and captures. What the wrappers do in line is one comparison for each launch;
 * the rest is in sampler.c (which launch, what it may cost) and sampler_context.c (events, kernels
 * of ours).
 *
 * Never while a capture is under way; never a thread's first launch of a class, which may load
 * code; nothing that waits. Any refusal of the driver ends sampling in that context, counted.
 */
#ifndef SPY_SAMPLER_H
#define SPY_SAMPLER_H

#include "shim/cuda_types.h"
#include "shim/span.h"

enum spy_gpu { SPY_GPU_NONE, SPY_GPU_SAMPLE, SPY_GPU_CUPTI }; /* spy_gate.gpu */

/* How a thread stands with one class of work. The key is a hash of what makes the class, never 0.
 */
struct sampler_class {
	uint64_t key;
	uint32_t until;   /* launches to go until one is timed */
	uint16_t context; /* number of the context it was last met in */
	uint8_t samples;  /* taken, saturating */
	uint8_t stall_us; /* the stall that this class needs */
};
#define SAMPLER_CLASSES 512u /* of a thread; a power of two */

/* ---- keys ---- */

static inline __attribute__((always_inline)) uint64_t gpu_key_kernel(const void *f, unsigned gx,
                                                                     unsigned gy, unsigned gz,
                                                                     unsigned bx, unsigned by,
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
uint64_t gpu_key_config(const CUlaunchConfig *config, const void *f);

static inline uint64_t gpu_key_handle(const void *handle)
{
	return ((uintptr_t)handle * 0xff51afd7ed558ccdu) | 1;
}

/* A copy or set of so many bytes, by this call; sizes of one octave are one class here. */
static inline uint64_t gpu_key_bytes(unsigned call, uint64_t bytes)
{
	uint64_t octave = bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;

	return ((call * 64ull + octave + 1) * 0xff51afd7ed558ccdu) | 1;
}

static inline uint64_t gpu_bytes_2d(const CUDA_MEMCPY2D *p)
{
	return p ? (uint64_t)p->WidthInBytes * p->Height : 0;
}

static inline uint64_t gpu_bytes_3d(const CUDA_MEMCPY3D *p)
{
	return p ? (uint64_t)p->WidthInBytes * p->Height * p->Depth : 0;
}

static inline uint64_t gpu_bytes_3d_peer(const CUDA_MEMCPY3D_PEER *p)
{
	return p ? (uint64_t)p->WidthInBytes * p->Height * p->Depth : 0;
}

/* ---- around the real call ---- */

/* Relaxed: switched on before the first launch; a late look costs one sample. */
static inline bool gpu_wanted(struct spy_span *s)
{
	s->gpu = 0;
	return unlikely(__atomic_load_n(&spy_gate_page.gate.gpu, __ATOMIC_RELAXED));
}

void sampler_before(struct spy_span *s, uint64_t key, CUstream stream, const void *function);
void sampler_after(struct spy_span *s, CUresult rc, CUstream stream);

/* `function`: of a kernel launch, else NULL; cooperative launches pass NULL too: no stall, no
 * questions about them. */
static inline __attribute__((always_inline)) void gpu_before(struct spy_span *s, uint64_t key,
                                                             CUstream stream, const void *function)
{
	struct sampler_class *c = spy_tls.sampled;

	if (likely(c)) {
		c += key >> 55; /* of SAMPLER_CLASSES */
		if (likely(c->key == key && --c->until))
			return;
	}
	sampler_before(s, key, stream, function);
}

/* After the note, which fills the record. */
static inline __attribute__((always_inline)) void gpu_after(struct spy_span *s, CUresult rc,
                                                            CUstream stream)
{
	if (unlikely(s->gpu))
		sampler_after(s, rc, stream);
}

/* ---- life cycle ---- */

/* Switches sampling on, if it is asked for and the process allows it; the mode in force. Called
 * once a recording, before any launch is recorded. */
enum tf_gpu_mode sampler_start(enum tf_gpu_mode asked);

/* Takes what samples are done, waits for none. In the exit handler, the last moment at which CUDA
 * may be called. */
void sampler_finish(void);

void sampler_after_fork(void);

/* The calling thread's current context changed, or may have. */
void sampler_context_changed(void);

/* A context is about to be destroyed, with all that is ours in it. */
void sampler_context_died(uint64_t context);

/* A capture begins, `captures` is raised: waits until no thread is giving work of ours to a stream,
 * at most a millisecond. */
void sampler_capture_begins(void);

#endif
