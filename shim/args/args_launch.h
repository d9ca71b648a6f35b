/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a kernel launch, the call that programs make most: inline in its wrapper.
 * Included by args.h; what other launches record is built on it.
 */
#ifndef SPY_ARGS_LAUNCH_H
#define SPY_ARGS_LAUNCH_H

#include "shim/handles/registry.h"
#include "shim/record/thread.h"

struct args_launch_shape {
	unsigned gx, gy, gz, bx, by, bz, shared_bytes;
	unsigned cluster_x, cluster_y, cluster_z;
};

/*
 * Every other launch: of a function not among the thread's last ones, refused, captured, a kernel's
 * first, one without room for its figures.
 */
void launch_noted_slow(struct spy_span *s, CUresult rc, CUfunction f, CUstream stream);

/* Where a thread keeps a function it launched. */
static inline struct spy_known *launch_known(struct spy_tls *t, CUfunction f)
{
	return &t->known[((uintptr_t)f >> 5 ^ (uintptr_t)f >> 10) % SPY_KNOWN];
}

static inline __attribute__((always_inline)) void launch_fill(struct tf_record *r,
                                                              const struct args_launch_shape *p)
{
	r->launch.shared_bytes = p->shared_bytes;
	r->launch.grid_x = p->gx;
	r->launch.grid_y = (uint16_t)p->gy;
	r->launch.grid_z = (uint16_t)p->gz;
	r->launch.block_x = (uint16_t)p->bx;
	r->launch.block_y = (uint16_t)p->by;
	r->launch.block_z = (uint8_t)p->bz;
	r->launch.cluster_x = (uint8_t)p->cluster_x;
	r->launch.cluster_y = (uint8_t)p->cluster_y;
	r->launch.cluster_z = (uint8_t)p->cluster_z;
	r->arg[3] = 1; /* items */
}

/* One kernel given to a stream, or refused. */
static inline __attribute__((always_inline)) void launch_noted(struct spy_span *s, CUresult rc,
                                                               CUfunction f, CUstream stream,
                                                               const struct args_launch_shape *p)
{
	struct spy_tls *t = &spy_tls;
	struct spy_span *o = spy_outer();
	const struct spy_known *known = launch_known(t, f);
	struct tf_kernel_stat *k = known->kernel;

	if (unlikely(!spy_recording(o)))
		return;
	if (unlikely(o->cls != SPY_CLASS_LAUNCH)) { /* it has arguments of its own */
		launch_noted_slow(s, rc, f, stream);
		return;
	}
	struct tf_record *r = o->rec;
	r->flags = (uint16_t)((r->flags | s->flags) & ~TF_NO_ARGS);
	r->stream = (uintptr_t)stream;
	launch_fill(r, p);
	/* Acquire: pairs with the registry's changed(). */
	if (unlikely(known->function != f || rc != CUDA_SUCCESS ||
	             t->known_version != __atomic_load_n(&spy_gate_page.gate.registry_version,
	                                                 __ATOMIC_ACQUIRE) ||
	             __atomic_load_n(&spy_gate_page.gate.captures, __ATOMIC_ACQUIRE))) {
		launch_noted_slow(s, rc, f, stream);
		return;
	}
	r->launch.kernel = (uint32_t)k->kernel;
	spy_count(&t->thread->launches, 1);
	spy_count(&k->launches, 1);
	o->kernel = k;
}

static inline __attribute__((always_inline)) void
args_launch(struct spy_span *s, CUresult rc, CUfunction f, unsigned gx, unsigned gy, unsigned gz,
            unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
            void **params, void **extra)
{
	const struct args_launch_shape p = {gx, gy, gz, bx, by, bz, shared_bytes, 0, 0, 0};

	launch_noted(s, rc, f, stream, &p);
}

#endif
